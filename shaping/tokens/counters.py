"""Counters of tokens by the names of tokenizers, counts with the method that found them, and what shaping saved."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Final, Literal, Protocol, Self, TypeAlias

from shaping.nearest import did_you_mean, nearest
from shaping.tokens.encoding import NAMES, Encoding
from shaping.tokens.sampling import EXACT_UP_TO, chunks, estimate

_CAREFUL_UP_TO: Final = 1_000_000  # characters: 50 ms
Method: TypeAlias = Literal["exact", "sampled", "chars"]

# Measured over 79 texts of 200 KB: what a count by characters is off by at worst. It says no better of any one text.
CHARS_ERROR = 66.0


class TokenCount(int):
    """A number of tokens that knows how it was found and how far off it may be, in percent."""

    method: Method
    error_bound: float

    def __new__(cls, tokens: int, method: Method = "exact", error_bound: float = 0.0) -> Self:
        """Make a count; an exact one unless said otherwise."""
        count = super().__new__(cls, tokens)
        count.method = method
        count.error_bound = error_bound
        return count

    def __getnewargs__(self) -> tuple[int, Method, float]:  # type: ignore[override]  # copies and pickles keep the label
        return int(self), self.method, self.error_bound

    @property
    def label(self) -> str:
        """The method and, where the number is not exact, its bound: `sampled ±1.4%`."""
        return self.method if self.method == "exact" else f"{self.method} ±{self.error_bound:.1f}%"


class CountingError(Exception):
    """A text could not be counted exactly, or a tokenizer not loaded; the message says why."""


class TokenCounter(Protocol):
    """Counts texts for one tokenizer: quickly and labelled, or exactly."""

    @property
    def name(self) -> str:
        """The name a config chooses it by."""

    def count(self, text: str) -> TokenCount:
        """Count a text, with its label; never raises."""

    def exact(self, text: str) -> int:
        """Count a text exactly, or raise CountingError."""


def by_characters(text: str) -> TokenCount:
    """Guess a text's tokens from its length: the last resort, for when no vocabulary can be loaded."""
    return TokenCount(-(-len(text) // 4), "chars", CHARS_ERROR)


class CharCounter:
    """The last resort as a tokenizer: a quarter of the characters, labelled so."""

    name = "chars"

    def count(self, text: str) -> TokenCount:
        """Guess a text's tokens from its length."""
        return by_characters(text)

    def exact(self, text: str) -> int:  # noqa: ARG002 - the protocol's signature
        """Refuse: a guess is not a count."""
        raise CountingError("tokenizer 'chars' cannot count exactly; choose o200k_base or cl100k_base")


class BpeCounter:
    """Counts for a byte-pair vocabulary; loads it at the first count, once, whichever thread asks."""

    def __init__(self, name: str, load: Callable[[str], Callable[[str], int]] | None = None) -> None:
        self.name = name
        self._load = load or (lambda name: Encoding(name).count)
        self._count: Callable[[str], int] | None = None
        self._failure: Exception | None = None
        self._loading, self._pid = threading.Lock(), os.getpid()

    def count(self, text: str) -> TokenCount:
        """Count a text: exactly to 48,000 characters, by samples above, by its length where both fail."""
        try:
            if len(text) <= EXACT_UP_TO:
                return TokenCount(self.exact(text))
            tokens, error_bound = estimate(_without_surrogates(text), self.load())
            return TokenCount(tokens, "sampled", error_bound)
        except CountingError:
            return by_characters(text)

    def exact(self, text: str) -> int:
        """Count a text exactly, in parts where it is long."""
        return sum(map(self.load(), chunks(_without_surrogates(text))))

    def load(self) -> Callable[[str], int]:
        """Load the vocabulary, or wait for the thread that is loading it; return what counts by it."""
        if self._count is None:
            if self._pid != os.getpid():  # a thread that did not come along with a fork may have held the lock
                self._loading, self._pid = threading.Lock(), os.getpid()
            with self._loading:
                self._load_once()
        if self._count is None:
            raise CountingError(f"the vocabulary of {self.name} cannot be loaded: {self._failure}")
        return self._count

    def _load_once(self) -> None:
        if self._count is None and self._failure is None:
            try:
                self._count = self._load(self.name)
            except Exception as failure:  # noqa: BLE001 - remembered: a load that fails is not tried at every call
                self._failure = failure


def _without_surrogates(text: str) -> str:
    """Write surrogates as tokenizers see them: a pair is its character, a lone one is U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


DEFAULT = NAMES[0]

# Made here and loaded at first use: whoever counts by a name shares one vocabulary.
_OWN: Mapping[str, TokenCounter] = {**{name: BpeCounter(name) for name in NAMES}, "chars": CharCounter()}


class UnknownTokenizerError(ValueError):
    """A tokenizer that is neither built in nor known to tiktoken; knows its name and the names that would do."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        hint = did_you_mean(nearest(name, known))
        super().__init__(f"tokenizer {name!r} is not known; expected {', '.join(known)}.{hint}")
        self.name = name
        self.known = known


def counter(name: str = DEFAULT) -> TokenCounter:
    """Return the counter of a tokenizer: built in, or by a name of an encoding or a model that tiktoken knows."""
    return _OWN.get(name) or _by_tiktoken(name)


def count_closely(text: str, tokenizer: str = DEFAULT) -> TokenCount:
    """Count a text where no caller waits: exactly to a million characters, by samples above."""
    counting = counter(tokenizer)
    try:
        return TokenCount(counting.exact(text)) if len(text) <= _CAREFUL_UP_TO else counting.count(text)
    except CountingError:
        return counting.count(text)


def tokenizers() -> tuple[str, ...]:
    """Return the names of the built-in tokenizers."""
    return tuple(_OWN)


def is_known(name: str) -> bool:
    """Return whether `counter` has a counter for a name, without loading it."""
    return name in _OWN or _tiktoken_encoding(name) is not None


def warm(name: str = DEFAULT) -> threading.Thread:
    """Load a tokenizer in the background, so that the first call does not wait for it."""
    thread = threading.Thread(target=lambda: counter(name).count("warm"), name=f"shaping-warm-{name}", daemon=True)
    thread.start()
    return thread


def _tiktoken_encoding(name: str) -> str | None:
    """Return which of tiktoken's encodings a name means: that of a model (`gpt-4`), or the encoding itself."""
    import tiktoken  # noqa: PLC0415 (only for a name that is not ours: takes 25 ms)

    if name in tiktoken.list_encoding_names():
        return name
    try:
        return tiktoken.encoding_name_for_model(name)
    except KeyError:
        return None


@cache
def _by_tiktoken(name: str) -> TokenCounter:
    encoding = _tiktoken_encoding(name)
    if encoding is None:
        raise UnknownTokenizerError(name, tokenizers())
    return _OWN.get(encoding) or BpeCounter(encoding, _fetched)


def _fetched(name: str) -> Callable[[str], int]:
    """Return what counts by an encoding that this package does not carry; tiktoken fetches its vocabulary."""
    import tiktoken  # noqa: PLC0415 (only for an encoding that is not ours)

    encode = tiktoken.get_encoding(name).encode_ordinary
    return lambda text: len(encode(text))


Countable: TypeAlias = "str | int | Callable[[], str | int]"

_BEST_FIRST: tuple[Method, ...] = ("exact", "sampled", "chars")


class Tokens:
    """What a response would have cost and what it costs; each counted when first asked, once, and never failing."""

    def __init__(self, before: Countable, after: Countable, tokenizer: str | TokenCounter = DEFAULT) -> None:
        self._before = before
        self._after = after
        self._tokenizer = tokenizer

    @cached_property
    def before(self) -> TokenCount:
        """The tokens of what the client would have shown its model."""
        return self._count(self._before)

    @cached_property
    def after(self) -> TokenCount:
        """The tokens of what the client shows its model."""
        return self.before if self._after is self._before else self._count(self._after)

    @property
    def saved(self) -> int:
        """The difference; negative where a small answer grew by its envelope."""
        return self.before - self.after

    @property
    def ratio(self) -> float:
        """The share saved, from 0 for nothing to 1 for everything."""
        return self.saved / self.before if self.before else 0.0

    @property
    def method(self) -> Method:
        """How the weaker of the two numbers was found."""
        return max(self.before.method, self.after.method, key=_BEST_FIRST.index)

    @property
    def error_bound(self) -> float:
        """The percent that either number may be off by, at most."""
        return max(self.before.error_bound, self.after.error_bound)

    def __repr__(self) -> str:
        return f"Tokens(before={self.before}, after={self.after}, saved={self.saved}, method={self.method!r})"

    def _count(self, what: Countable) -> TokenCount:
        text = ""
        try:
            made = what() if callable(what) else what
            if isinstance(made, int):
                return made if isinstance(made, TokenCount) else TokenCount(made)
            text = made
            chosen = counter(self._tokenizer) if isinstance(self._tokenizer, str) else self._tokenizer
            return chosen.count(text)
        except Exception:  # noqa: BLE001 - what a call costs must never be what it fails by
            return by_characters(text)
