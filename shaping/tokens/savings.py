"""The tokens of a response before and after shaping."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from shaping.tokens.counts import Method, TokenCount, by_characters
from shaping.tokens.registry import DEFAULT, counter

if TYPE_CHECKING:
    from collections.abc import Callable

    from shaping.tokens.counts import TokenCounter

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
