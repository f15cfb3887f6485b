"""Counts with the method that found them; exact ones for a byte-pair vocabulary, by tiktoken or the faster splintr."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, Self, TypeAlias, runtime_checkable

from shaping.tokens import vocabulary
from shaping.tokens.sampling import CHUNK, EXACT_UP_TO, chunks, estimate, gaps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


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


# Whoever encodes these in as many tokens has the right vocabulary, splits contractions, digits and spaces in the right
# places, and does not take a special token's spelling for the token.
_PROBES = (
    ("Don't split 1234567 like THIS: <|endoftext|>\r\n\r\n\t  x  ", {"o200k_base": 19, "cl100k_base": 19}),
    (
        '{"größe":[1.5e-9,null],"名前":"東京タワー🗼","url":"https://a.example/b?c=%20"}',
        {"o200k_base": 33, "cl100k_base": 38},
    ),
)

_LONG, _CACHED = 10_000, 10_000


@dataclass(frozen=True, slots=True)
class Engine:
    """Encodes for one vocabulary: a text, or white space that is known to be one pre-token."""

    name: str
    encode: Callable[[str], Sequence[int]]
    encode_gap: Callable[[str], Sequence[int]]


def load(name: str) -> Engine:
    """Load the fastest engine that counts this vocabulary rightly."""
    return splintr_engine(name) or tiktoken_engine(name)


def tiktoken_engine(name: str) -> Engine:
    """Load tiktoken with the vocabulary in this package."""
    made = vocabulary.encoding(name)
    # The one way past tiktoken's regex, which overflows its stack on a gap.
    gap = made._encode_single_piece  # noqa: SLF001 - there is no public spelling; a test holds it to its word
    return Engine("tiktoken", made.encode_ordinary, gap)


def splintr_engine(name: str) -> Engine | None:
    """Load splintr where it is installed and agrees with tiktoken on the probes."""
    try:
        import splintr  # noqa: PLC0415 - an extra

        tokenizer = splintr.Tokenizer.from_pretrained(name)
        agrees = all(len(tokenizer.encode_ordinary(text)) == counts[name] for text, counts in _PROBES)
    except Exception:  # noqa: BLE001 - whatever is wrong with an extra, tiktoken is there
        return None

    def encode(text: str) -> Sequence[int]:
        found = tokenizer.encode_ordinary(text)
        # It remembers pieces, which is worth it within a text and not for ever; asking how many takes as long as 2 KB.
        if len(text) > _LONG and tokenizer.cache_len > _CACHED:
            tokenizer.clear_cache()
        return found

    return Engine("splintr", encode, encode) if agrees else None


class BpeCounter:
    """Counts for a vocabulary that this package carries; loads it at the first count, once, whichever thread asks."""

    def __init__(self, name: str, load: Callable[[str], Engine] = load) -> None:
        self.name = name
        self._load = load
        self._engine: Engine | None = None
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
        if len(text) <= CHUNK:
            return len(self._encode(text))
        return sum(len(self._encode(part, gap=gap)) for part, gap in _parts(text))

    def lengths(self, text: str) -> list[int]:
        """Return how many bytes of a text each of its tokens stands for, in order."""
        sizes = list(map(len, vocabulary.tokens(self.name)))
        return [sizes[token] for part, gap in _parts(text) for token in self._encode(part, gap=gap)]

    def load(self) -> Engine:
        """Load the vocabulary, or wait for the thread that is loading it."""
        if self._engine is None:
            with self._loading:
                self._load_once()
        if self._engine is None:
            raise CountingError(f"the vocabulary of {self.name} cannot be loaded: {self._failure}")
        return self._engine

    def _load_once(self) -> None:
        if self._engine is None and self._failure is None:
            try:
                self._engine = self._load(self.name)
            except Exception as failure:  # noqa: BLE001 - remembered: a load that fails is not tried at every call
                self._failure = failure

    def _sampled(self, text: str) -> TokenCount:
        engine = self.load()
        with _reported(engine):
            try:
                tokens, error_bound = estimate(text, engine.encode)
            except UnicodeEncodeError:
                tokens, error_bound = estimate(_without_surrogates(text), engine.encode)
        return TokenCount(tokens, "sampled", error_bound)

    def _encode(self, text: str, *, gap: bool = False) -> Sequence[int]:
        engine = self.load()
        encode = engine.encode_gap if gap else engine.encode
        with _reported(engine):
            try:
                return encode(text)
            except UnicodeEncodeError:
                return encode(_without_surrogates(text))


@contextmanager
def _reported(engine: Engine) -> Iterator[None]:
    """Report whatever goes wrong in an engine as a CountingError."""
    try:
        yield
    except BaseException as failure:
        # A panic in tiktoken is no Exception, and must not end the caller's thread.
        if isinstance(failure, Exception) or type(failure).__name__ == "PanicException":
            raise CountingError(f"{engine.name} cannot encode this text: {failure}") from failure
        raise


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    for chunk in chunks(_without_surrogates(text)):
        yield from gaps(chunk)


def _without_surrogates(text: str) -> str:
    """Write surrogates as tiktoken does before it counts: a pair is its character, a lone one is U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
