"""Tokenizers by name: built in, or installed under an entry point."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from shaping.response import did_you_mean, nearest
from shaping.tokens.bpe import BpeCounter, CharCounter, CountingError, TokenCount, TokenCounter, by_characters
from shaping.tokens.vocabulary import NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.metadata import EntryPoints

GROUP = "shaping.tokenizers"
DEFAULT = NAMES[0]

# Made here and loaded at first use: whoever counts by a name shares one vocabulary.
_OWN: Mapping[str, TokenCounter] = {**{name: BpeCounter(name) for name in NAMES}, "chars": CharCounter()}


@dataclass(frozen=True, slots=True)
class Guarded:
    """Somebody else's counter, held to the protocol: its counts are labelled, and fail no call."""

    name: str
    inner: TokenCounter

    def count(self, text: str) -> TokenCount:
        """Count a text by the inner counter, or by its length where that fails."""
        try:
            found: int = self.inner.count(text)  # what others write is taken for no more than a number
            return found if isinstance(found, TokenCount) else TokenCount(found)
        except Exception:  # noqa: BLE001 - what a call costs must never be what it fails by
            return by_characters(text)

    def exact(self, text: str) -> int:
        """Count a text exactly by the inner counter."""
        try:
            return self.inner.exact(text)
        except Exception as failure:
            raise CountingError(f"tokenizer {self.name!r} cannot count this text: {failure}") from failure


class UnknownTokenizerError(ValueError):
    """A tokenizer that is neither built in nor installed; knows its name and the names that would do."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        hint = did_you_mean(nearest(name, known))
        super().__init__(f"tokenizer {name!r} is not known; expected {', '.join(known)}.{hint}")
        self.name = name
        self.known = known


def counter(name: str = DEFAULT) -> TokenCounter:
    """Return the counter of a tokenizer: built in, installed under `shaping.tokenizers`, or a name tiktoken knows."""
    return _OWN.get(name) or _installed(name)


def tokenizers() -> tuple[str, ...]:
    """Return the names that `counter` takes: the built-in ones first."""
    others = sorted({entry.name for entry in _entry_points()} - _OWN.keys())
    return (*_OWN, *others)


def is_known(name: str) -> bool:
    """Tell whether `counter` has a counter for a name, without loading it."""
    return name in _OWN or name in tokenizers() or _tiktoken_encoding(name) is not None


def warm(name: str = DEFAULT) -> threading.Thread:
    """Load a tokenizer in the background, so that the first call does not wait for it."""
    thread = threading.Thread(target=_warm, args=(name,), name=f"shaping-warm-{name}", daemon=True)
    thread.start()
    return thread


def _warm(name: str) -> None:
    counter(name).count("warm")


def _entry_points() -> EntryPoints:
    from importlib.metadata import entry_points  # noqa: PLC0415 - `import shaping` stays light

    return entry_points(group=GROUP)


@cache
def _installed(name: str) -> TokenCounter:
    found = next((entry for entry in _entry_points() if entry.name == name), None)
    if found is None:
        return _by_tiktoken(name)
    try:
        made = found.load()
        made = made() if isinstance(made, type) or not isinstance(made, TokenCounter) else made
    except Exception as failure:
        raise CountingError(f"tokenizer {name!r} ({found.value}) cannot be loaded: {failure}") from failure
    if not isinstance(made, TokenCounter):
        raise CountingError(f"tokenizer {name!r} ({found.value}) is no TokenCounter: it needs name, count and exact")
    return Guarded(name, made)


def _tiktoken_encoding(name: str) -> str | None:
    """Return which of tiktoken's encodings a name means: that of a model (`gpt-4`), or the encoding itself."""
    import tiktoken  # noqa: PLC0415 (only for a name that is not ours: takes 25 ms)

    if name in tiktoken.list_encoding_names():
        return name
    try:
        return tiktoken.encoding_name_for_model(name)
    except KeyError:
        return None


def _by_tiktoken(name: str) -> TokenCounter:
    encoding = _tiktoken_encoding(name)
    if encoding is None:
        raise UnknownTokenizerError(name, tokenizers())
    return _OWN.get(encoding) or BpeCounter(encoding, FetchedEncoding)


class FetchedEncoding:
    """An encoding that this package does not carry; tiktoken fetches its vocabulary at the first count."""

    def __init__(self, name: str) -> None:
        import tiktoken  # noqa: PLC0415 (only for an encoding that is not ours)

        self._encoding = tiktoken.get_encoding(name)

    def count(self, text: str) -> int:
        """Count the tokens of a text."""
        return len(self._encoding.encode_ordinary(text))

    def lengths(self, text: str) -> list[int]:
        """Return how many bytes of a text each of its tokens stands for, in order."""
        return list(map(len, self._encoding.decode_tokens_bytes(self._encoding.encode_ordinary(text))))
