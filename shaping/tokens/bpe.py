from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shaping.tokens import vocabulary
from shaping.tokens.counts import CountingError, TokenCount, by_characters
from shaping.tokens.cuts import CHUNK, chunks, gaps
from shaping.tokens.engines import load
from shaping.tokens.sampling import EXACT_UP_TO, estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from shaping.tokens.engines import Engine


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
