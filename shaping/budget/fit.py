"""A value is cut to its budget: in the tree, so that it stays parseable and valid, never in the text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

from shaping.budget.cut import ErrorRows, Sizes, TreeCutter, Trim, columns, gone
from shaping.paths import join
from shaping.response import Json, Lengths, Listed, Omission, Reason
from shaping.tokens.sampling import LENGTHS, SAMPLED, Count, count_near, is_within, upper_bound

if TYPE_CHECKING:
    from shaping.settings.plan import Plan

_MAP: Final = 32  # members above which an object's members are told together, as a list's elements are

_CutList: TypeAlias = "tuple[str, int, int]"  # its path, its elements, and how many after the first report errors
Place: TypeAlias = "tuple[str, str]"  # the exact path, and the same with every element as `[]`
_GUESS: Final = 4  # bytes a token, for the first try
_AS_TABLE: Final = 1.1  # bytes of data for a byte of its text, for the same where the text's length is limited
LOOK: Final = 8  # bytes a token: a text's beginning of that length tells whether the whole is over
_TRIES: Final = 32  # never reached in practice: every second try halves what is left
# Of the limit, and of one of many tokens: one more try costs more than it shows.
_ENOUGH, _ENOUGH_OF_MANY, _MANY = 0.96, 0.9, 2_000
_AIM: Final = 0.985  # of the limit: a guess that is a little over is a try lost

T = TypeVar("T")


class Budget(NamedTuple):
    """How much may be shown: tokens of the whole text, elements of any list, characters of any string."""

    max_tokens: int | None = None
    max_items: int | None = None
    max_string: int | None = None
    max_lengths: Lengths = ()  # of the whole text, in units of `LENGTHS`: what a client shows of it

    @classmethod
    def of(cls, plan: Plan) -> Budget:
        """Return the budget of a plan."""
        return cls(plan.max_tokens, plan.max_items, plan.max_string, plan.max_lengths)

    def holds(self, text: str, exact: Count) -> bool:
        """Whether a text is within the tokens and the lengths."""
        if any(LENGTHS[unit](text) > most for unit, most in self.max_lengths):
            return False
        return self.max_tokens is None or is_within(text, self.max_tokens, exact)

    def cost(self, text: str, exact: Count) -> float:
        """Return a text's tokens, or as many more as it would have to have to be as near to its limit by length.

        They are as exact as it takes to know whether the text is within the limit.
        """
        limit = self.max_tokens or 0
        by_length = max((LENGTHS[unit](text) / most for unit, most in self.max_lengths), default=0.0) * limit
        return by_length if by_length > limit else max(by_length, count_near(text, limit, exact))


class Fitted(NamedTuple):
    """A value within its budget, and what had to go."""

    value: Json
    omissions: tuple[Omission, ...] = ()
    lists: tuple[Listed, ...] = ()
    position: tuple[str, int] | None = None  # the first list, text or object that was cut, and where: the next page
    fits: bool = True  # False only where the budget is smaller than what the envelope alone needs


@dataclass
class CutParts:
    """What was found missing so far; equal things in many elements of a list are one."""

    errors: ErrorRows = field(default_factory=ErrorRows)
    lists: dict[tuple[str, int, int], list[_CutList]] = field(default_factory=dict)  # by place, shown, first
    others: dict[tuple[str, Reason], list[tuple[str, int]]] = field(default_factory=dict)
    first: tuple[str, int] | None = None  # the first list that was cut, and how many first elements are shown
    first_text: tuple[str, int] | None = None  # the first text that was cut, and where
    first_object: tuple[str, int] | None = None  # the first object that lacks members, and the number of the first one

    def omissions(self) -> tuple[Omission, ...]:
        """List what is missing, one entry for each rule."""
        tails = [_tail(general, shown, first, places) for (general, shown, first), places in self.lists.items()]
        return (*tails, *(_grouped(general, reason, places) for (general, reason), places in self.others.items()))

    def listed(self) -> tuple[Listed, ...]:
        """List, for each list that was cut, how many of how many elements are shown."""
        return tuple(_listed(general, shown, first, places) for (general, shown, first), places in self.lists.items())


def find_cuts(before: Any, after: Any, errors: ErrorRows) -> CutParts:
    """Compare a value with what is left of it; parts that are the same objects are not looked at."""
    found = CutParts(errors)
    _compare(before, after, ("", ""), found)
    return found


def _compare(before: Any, after: Any, place: Place, found: CutParts) -> None:
    if before is after:
        return
    if isinstance(before, list):
        rows = found.errors.places(after)
        first = next((at for at, number in enumerate(rows) if at != number), len(after))
        if len(after) < len(before):  # the rest of a whole list is more than that of a part
            found.first = found.first or (place[0], first)
        for number, new in zip(rows, after, strict=True):
            if before[number] is new:  # so that no path is written for the many that stay
                continue
            _compare(before[number], new, (join(place[0], number), join(place[1], slice(None))), found)
        if len(after) < len(before):
            errors = sum(at >= first for at in found.errors.of(before)) if first < len(after) else 0
            found.lists.setdefault((place[1], len(after), first), []).append((place[0], len(before), errors))
    elif isinstance(before, dict):
        _compare_members(before, after, place, found)
    elif before != after:
        head, missing = gone(before, after)
        found.others.setdefault((place[1], "string"), []).append((place[0], missing))
        found.first_text = found.first_text or (place[0], head)


def _compare_members(before: dict[str, Any], after: dict[str, Any], place: Place, found: CutParts) -> None:
    together = before if len(before) > _MAP else columns(before)
    general = f"{place[1]}.*".removeprefix(".")
    for key, old in before.items():
        if key in after:
            where = general if key in together else join(place[1], key)
            _compare(old, after[key], (join(place[0], key), where), found)
    if len(after) < len(before):
        found.others.setdefault((place[1], "depth"), []).append((place[0], len(before) - len(after)))
        missing = next(at for at, key in enumerate(before) if key not in after)
        found.first_object = found.first_object or (place[0], missing)


def _listed(general: str, shown: int, first: int, places: list[_CutList]) -> Listed:
    totals = [total for _, total, _ in places]
    if len(places) > 1 and general.endswith("*") and min(totals) == max(totals):
        # Columns of a table: the number of its rows is what a reader needs to ask for the others.
        return Listed(general, shown, totals[0])
    listed = Listed(places[0][0] if len(places) == 1 else general, shown * len(places), sum(totals))
    if first == shown:
        return listed
    return replace(listed, first=first * len(places), errors=sum(errors for _, _, errors in places))


def _tail(general: str, shown: int, first: int, places: list[_CutList]) -> Omission:
    count = sum(total - shown for _, total, _ in places)
    if len(places) == 1:
        return Omission(join(places[0][0], slice(first, places[0][1])), count, "items")
    return Omission(join(general, slice(first, None)), count, "items")


def _grouped(general: str, reason: Reason, places: list[tuple[str, int]]) -> Omission:
    path = places[0][0] if len(places) == 1 else general
    return Omission(path, sum(count for _, count in places), reason)


def fit_value(
    value: Any,
    budget: Budget,
    render: Callable[[Fitted], str],
    exact: Count,
    *,
    size: int | None = None,
) -> Fitted:
    """Cut a value so that the whole text of it, as `render` writes it with its marks, is within the budget.

    A budget too small for anything gives the minimal form: an empty object, list or string of the value's own type.
    `size` is that of the value's compact JSON, where it is known.
    """
    errors = ErrorRows()
    trim = Trim(budget, errors)
    limited = budget.max_items is not None or budget.max_string is not None
    trimmed = trim.value(value) if limited else value
    if budget.max_tokens is None:
        return _fitted(value, trimmed, errors)
    sizes, limit = Sizes(), budget.max_tokens
    cutter, cost = TreeCutter(sizes, trim.whole, errors), partial(budget.cost, exact=exact)
    fitting = _Fitting(value, trimmed, cutter, errors, render, cost, limit)
    room, most, over = _guess_room(value, budget), limit * LOOK, None
    if size is None or trimmed is not value or isinstance(value, str):
        size = sizes.of(trimmed, most)
    if SAMPLED < size <= most:
        whole = _fitted(value, trimmed, errors)
        tokens = fitting.tokens(render(whole), whole=True)
        if tokens <= limit:
            return whole
        room, over = int(size * _AIM * limit / tokens), (size, tokens)
    elif isinstance(trimmed, str) and len(trimmed) > most:
        room = int(len(trimmed) * _AIM * limit / cost(trimmed))
    return search(limit, fitting.attempt, min(room, size), over) or fitting.minimal()


def _guess_room(value: Any, budget: Budget) -> int:
    """Guess how many bytes of a value fill its budget."""
    bytes_of_value = _AIM if isinstance(value, str) else _AS_TABLE
    lengths = (int(most * bytes_of_value) for unit, most in budget.max_lengths if unit != "lines")
    return min(((budget.max_tokens or 0) * _GUESS, *lengths))


@dataclass(frozen=True)
class _Fitting:
    """One value on its way into one budget."""

    value: Any
    trimmed: Any
    cut: TreeCutter
    errors: ErrorRows
    render: Callable[[Fitted], str]
    cost: Callable[[str], float]
    limit: int
    seen: list[tuple[Any, float]] = field(default_factory=list)

    def attempt(self, room: int) -> tuple[Fitted, float, bool]:
        """Cut to a room in bytes; tell the tokens, and whether nothing was cut."""
        kept = self.cut.to(self.trimmed, room)
        fitted = _fitted(self.value, kept, self.errors)
        # Elements are large and rooms close together: many rooms hold the same, and it is written and counted once.
        cost = next((cost for other, cost in self.seen if other == kept), None)
        whole = kept is self.trimmed
        if cost is None:
            cost = self.tokens(self.render(fitted), whole=whole)
            self.seen.append((kept, cost))
        return fitted, cost, whole

    def minimal(self) -> Fitted:
        """Return the least there is: what the room of nothing leaves, or the empty value of its type."""
        least = _fitted(self.value, self.cut.to(self.trimmed, 0), self.errors)
        if self.tokens(self.render(least), whole=False) <= self.limit:
            return least
        nothing = type(self.value)() if isinstance(self.value, (str, list, dict)) else self.value
        empty = _fitted(self.value, nothing, self.errors)
        return empty._replace(fits=self.tokens(self.render(empty), whole=False) <= self.limit)

    def tokens(self, text: str, *, whole: bool) -> float:
        """Count a text as exactly as the limit needs."""
        # An uncut text whose bytes fit needs no count: none has more tokens than bytes. A cut one is counted, or the
        # search would stop too early.
        if whole and len(text) <= self.limit and (most := upper_bound(text)) <= self.limit:
            return most
        return self.cost(text)


def _fitted(value: Any, kept: Any, errors: ErrorRows) -> Fitted:
    cuts = find_cuts(value, kept, errors)
    return Fitted(kept, cuts.omissions(), cuts.listed(), cuts.first or cuts.first_text or cuts.first_object)


def search(
    limit: int, attempt: Callable[[int], tuple[T, float, bool]], room: int, over: tuple[int, float] | None = None
) -> T | None:
    """Look for the room that brings a cost close to its limit, from a guess on; None where nothing fits at all.

    `attempt` takes a room, and returns a candidate, its cost, which grows with the room roughly along a line, and
    whether more room would change nothing. `over` is a room that is known to be too large, with its cost.
    """
    best, fits, width, same = None, (0, 0.0), 0, 0
    least, before = limit * (_ENOUGH if limit < _MANY else _ENOUGH_OF_MANY), over or fits
    for _ in range(_TRIES):
        candidate, cost, whole = attempt(room)
        now = room, cost
        if cost <= limit:
            best, fits = candidate, now
        else:
            over = now
        left = over[0] - fits[0] if over else 0
        if fits[1] >= least or (whole and cost <= limit) or (over and left <= max(8, over[0] // 50)):
            break
        guess = _on_line(*((fits, over) if over and best is not None else (before, now)), _AIM * limit)
        # Elements are large, or cost nothing: the more rooms in a row cost the same, the longer the next step.
        same = same + 1 if cost == before[1] else 0
        step = max(2, 32 >> 2 * same)
        if over is None:
            room = min(max(guess, room + room // step + 8), room * 4 + 8)
        elif width and left > width / 2:
            # A guess is mostly right; where the last one did not even halve what is left, halve it.
            room = fits[0] + left // 2
        else:
            room = min(max(guess, fits[0] + left // 32 + 1), over[0] - left // step - 1)
        before, width = now, 0 if best is None else left
    return best


def _on_line(one: tuple[int, float], other: tuple[int, float], cost: float) -> int:
    """Return the room that costs so much, where the cost grows along the line through two rooms and their costs."""
    (first, spent), (second, more) = one, other
    return second if more == spent else int(first + (cost - spent) * (second - first) / (more - spent))
