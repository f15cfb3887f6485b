from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING

from shaping.tokens.bpe import BpeCounter
from shaping.tokens.counts import CharCounter, CountingError, TokenCounter
from shaping.tokens.vocabulary import NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.metadata import EntryPoints

GROUP = "shaping.tokenizers"
DEFAULT = NAMES[0]

# Made here and loaded at first use: whoever counts by a name shares one vocabulary, of 84 MB.
_OWN: Mapping[str, TokenCounter] = {**{name: BpeCounter(name) for name in NAMES}, "chars": CharCounter()}


class UnknownTokenizerError(ValueError):
    """A tokenizer that is neither built in nor installed; knows its name and the names that would do."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        from difflib import get_close_matches  # noqa: PLC0415 - for mistakes only

        near = get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        super().__init__(f"tokenizer {name!r} is not known; expected {', '.join(known)}.{hint}")
        self.name = name
        self.known = known


def counter(name: str = DEFAULT) -> TokenCounter:
    """Return the counter of a tokenizer: built in, or installed under the entry-point group `shaping.tokenizers`."""
    return _OWN.get(name) or _installed(name)


def tokenizers() -> tuple[str, ...]:
    """Return the names that `counter` takes: the built-in ones first."""
    others = sorted({entry.name for entry in _entry_points()} - _OWN.keys())
    return (*_OWN, *others)


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
        raise UnknownTokenizerError(name, tokenizers())
    try:
        made = found.load()
        made = made() if isinstance(made, type) or not isinstance(made, TokenCounter) else made
    except Exception as failure:
        raise CountingError(f"tokenizer {name!r} ({found.value}) cannot be loaded: {failure}") from failure
    if not isinstance(made, TokenCounter):
        raise CountingError(f"tokenizer {name!r} ({found.value}) is no TokenCounter: it needs name, count and exact")
    return made
