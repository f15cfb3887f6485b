"""A value is cut to its budget: in the tree, so that it stays parseable and valid, never in the text."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from shaping.budget.compare import lacks
from shaping.budget.cut import Cut
from shaping.budget.model import Budget, Fitted
from shaping.budget.search import Search
from shaping.budget.sizes import Sizes
from shaping.budget.trim import Trim

if TYPE_CHECKING:
    from collections.abc import Callable

_GUESS: Final = 4  # bytes a token, for the first try
_LOOK: Final = 8  # bytes a token: a text's beginning of that length tells whether the whole is over


def fit_value(value: Any, budget: Budget, render: Callable[[Fitted], str], exact: Callable[[str], int]) -> Fitted:
    """Cut a value so that the whole text of it, as `render` writes it with its marks, is within the budget.

    A budget too small for anything gives the minimal form: an empty object, list or string of the value's own type.
    """
    trim = Trim(budget)
    limited = budget.max_items is not None or budget.max_string is not None
    trimmed = trim.value(value) if limited else value
    if budget.max_tokens is None:
        return _fitted(value, trimmed)
    sizes = Sizes()
    fitting = _Fitting(value, trimmed, Cut(sizes, trim.whole), render, exact, budget.max_tokens)
    # A room larger than the value tells no more than one of its size, and the next guess starts from there.
    guess = budget.max_tokens * _GUESS
    found = Search(budget.max_tokens, fitting.attempt).run(min(guess, sizes.of(trimmed, guess)))
    return found or fitting.minimal()


@dataclass(frozen=True)
class _Fitting:
    """One value on its way into one budget."""

    value: Any
    trimmed: Any
    cut: Cut
    render: Callable[[Fitted], str]
    exact: Callable[[str], int]
    limit: int
    seen: list[tuple[Any, float]] = field(default_factory=list)

    def attempt(self, room: int) -> tuple[Fitted, float, bool]:
        """Cut to a room in bytes; tell the tokens, and whether nothing was cut."""
        kept = self.cut.to(self.trimmed, room)
        fitted = _fitted(self.value, kept)
        # Elements are large and rooms close together: many rooms hold the same, and it is written and counted once.
        cost = next((cost for other, cost in self.seen if other == kept), None)
        whole = kept is self.trimmed
        if cost is None:
            cost = self._tokens(self.render(fitted), whole=whole)
            self.seen.append((kept, cost))
        return fitted, cost, whole

    def minimal(self) -> Fitted:
        """Give the least there is: what the room of nothing leaves, or the empty value of its type."""
        least = _fitted(self.value, self.cut.to(self.trimmed, 0))
        if self._tokens(self.render(least), whole=False) <= self.limit:
            return least
        empty = _fitted(self.value, type(self.value)() if isinstance(self.value, (str, list, dict)) else self.value)
        return replace(empty, fits=self._tokens(self.render(empty), whole=False) <= self.limit)

    def _tokens(self, text: str, *, whole: bool) -> float:
        # No text has more tokens than bytes, which is all there is to know where nothing was cut: a cut one is counted,
        # or the search would stop at as many bytes as there may be tokens.
        if whole and len(text) <= self.limit and len(text.encode()) <= self.limit:
            return len(text)
        # A text whose beginning is over need not be counted to its end.
        look = self.limit * _LOOK
        if len(text) > look and (seen := self.exact(text[:look])) > self.limit + 1:
            return seen * len(text) / look
        return self.exact(text)


def _fitted(value: Any, kept: Any) -> Fitted:
    lack = lacks(value, kept)
    return Fitted(kept, lack.omissions(), lack.listed(), lack.first)
