"""Counts with the method that found them; exact ones for a byte-pair vocabulary."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Literal, Protocol, Self, TypeAlias, runtime_checkable

from shaping.tokens.encoding import Encoding
from shaping.tokens.sampling import EXACT_UP_TO, chunks, estimate

if TYPE_CHECKING:
    from collections.abc import Callable


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


@runtime_checkable
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


class TokenSplitter(Protocol):
    """Splits texts into the tokens of one vocabulary."""

    def count(self, text: str) -> int:
        """Count the tokens of a text."""

    def lengths(self, text: str) -> list[int]:
        """Return how many bytes of a text each of its tokens stands for, in order."""


class BpeCounter:
    """Counts for a byte-pair vocabulary; loads it at the first count, once, whichever thread asks."""

    def __init__(self, name: str, load: Callable[[str], TokenSplitter] = Encoding) -> None:
        self.name = name
        self._load = load
        self._encoding: TokenSplitter | None = None
        self._failure: Exception | None = None
        self._loading = threading.Lock()
        if hasattr(os, "register_at_fork"):  # a child forked during the load would wait for a thread it does not have
            os.register_at_fork(
                before=self._loading.acquire,
                after_in_parent=self._loading.release,
                after_in_child=self._loading.release,
            )

    def count(self, text: str) -> TokenCount:
        """Count a text: exactly to 8,000 characters, by samples above, by its length where both fail."""
        try:
            if len(text) <= EXACT_UP_TO:
                return TokenCount(self.exact(text))
            return self._sampled(text)
        except CountingError:
            return by_characters(text)

    def exact(self, text: str) -> int:
        """Count a text exactly, in parts where it is long."""
        encoding = self.load()
        return sum(map(encoding.count, chunks(_without_surrogates(text))))

    def lengths(self, text: str) -> list[int]:
        """Return how many bytes of a text each of its tokens stands for, in order."""
        encoding = self.load()
        return [length for part in chunks(_without_surrogates(text)) for length in encoding.lengths(part)]

    def load(self) -> TokenSplitter:
        """Load the vocabulary, or wait for the thread that is loading it."""
        if self._encoding is None:
            with self._loading:
                self._load_once()
        if self._encoding is None:
            raise CountingError(f"the vocabulary of {self.name} cannot be loaded: {self._failure}")
        return self._encoding

    def _load_once(self) -> None:
        if self._encoding is None and self._failure is None:
            try:
                self._encoding = self._load(self.name)
            except Exception as failure:  # noqa: BLE001 - remembered: a load that fails is not tried at every call
                self._failure = failure

    def _sampled(self, text: str) -> TokenCount:
        tokens, error_bound = estimate(_without_surrogates(text), self.load().count)
        return TokenCount(tokens, "sampled", error_bound)


def _without_surrogates(text: str) -> str:
    """Write surrogates as tokenizers see them: a pair is its character, a lone one is U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
