"""A value in pages: each as much as a budget shows, together the value exactly as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, Final

from shaping.budget.cut import Sizes
from shaping.budget.fit import search
from shaping.paths import join

_GUESS: Final = 4  # bytes a token, for the first try


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a value: the numbers of the members and elements that lead to a part, and how much of it was shown."""

    trail: tuple[int, ...] = ()
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.offset}/{'.'.join(map(str, self.trail))}"

    @classmethod
    def read(cls, text: str) -> Position:
        """Read a position that was written by `str`."""
        offset, _, trail = text.partition("/")
        return cls(tuple(map(int, trail.split("."))) if trail else (), int(offset))


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a value: of a list some elements, of an object some members, of a string some characters."""

    value: Any
    path: str  # the part's path; `[40:80]` at its end where it is not the whole of a list or a string
    next: Position | None


def page(value: Any, start: Position, cost: Callable[[Page], float], limit: int | None) -> Page | None:
    """Return the page that starts there; None where not even the smallest piece is within the limit.

    What is too large for a page alone is opened, and its own parts are the next pages.
    """
    while True:
        found = _longest(value, start, cost, limit)
        if found is not None:
            return found
        part = _part(value, start.trail)
        inner = _child(part, start.offset)
        if not isinstance(inner, (dict, list, str)) or not inner or isinstance(part, str):
            return None
        start = Position((*start.trail, start.offset), 0)


def _longest(value: Any, start: Position, cost: Callable[[Page], float], limit: int | None) -> Page | None:
    """Return the longest page of one part that is within the limit."""
    part = _part(value, start.trail)
    end = len(part) if isinstance(part, (dict, list, str)) else 1
    if limit is None:
        return _page(value, start, end)
    sizes = Sizes()
    priced = cache(lambda stop: cost(_page(value, start, stop)))  # a search comes back to what it tried

    def attempt(room: int) -> tuple[Page, float, bool]:
        stop = _stop(part, start.offset, room, sizes)
        return _page(value, start, stop), priced(stop), stop >= end

    return search(limit, attempt, limit * _GUESS)


def _stop(part: Any, offset: int, room: int, sizes: Sizes) -> int:
    """Count off the pieces that go into a room in bytes, at least one."""
    if isinstance(part, str):
        return min(offset + max(room, 1), len(part))
    if not isinstance(part, (dict, list)):
        return 1
    stop = offset
    for piece in islice(part, offset, None):
        room -= sizes.element(piece if isinstance(part, list) else part[piece])
        room -= len(piece) + 3 if isinstance(part, dict) else 0
        if room < 0 and stop > offset:
            break
        stop += 1
    return stop


def _page(value: Any, start: Position, stop: int) -> Page:
    """Return the pieces of a part up to one of them, their path, and where the next page starts."""
    part, path = _part(value, start.trail), _path(value, start.trail)
    following = _following(value, start.trail, stop)
    if isinstance(part, dict):
        return Page(dict(islice(part.items(), start.offset, stop)), path, following)
    if not isinstance(part, (list, str)) or (start.offset == 0 and stop >= len(part)):
        return Page(part, path, following)
    return Page(part[start.offset : stop], join(path, slice(start.offset, stop)), following)


def _following(value: Any, trail: tuple[int, ...], stop: int) -> Position | None:
    """Find where the next page starts: after these pieces, or after the part in what holds it."""
    while True:
        part = _part(value, trail)
        if isinstance(part, (dict, list, str)) and stop < len(part):
            return Position(trail, stop)
        if not trail:
            return None
        trail, stop = trail[:-1], trail[-1] + 1


def _part(value: Any, trail: tuple[int, ...]) -> Any:
    for number in trail:
        value = _child(value, number)
    return value


def _child(part: Any, number: int) -> Any:
    if isinstance(part, dict):
        return next(islice(part.values(), number, None), None)
    return part[number] if isinstance(part, (list, str)) and number < len(part) else None


def _path(value: Any, trail: tuple[int, ...]) -> str:
    path = ""
    for number in trail:
        path = join(path, next(islice(value, number, None)) if isinstance(value, dict) else number)
        value = _child(value, number)
    return path
