"""A value in pages: each as much as a budget shows, together the value exactly as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
        part = _part(value, start.trail)
        found = _Run(value, part, start, cost).longest(limit)
        if found is not None:
            return found
        inner = _child(part, start.offset)
        if not isinstance(inner, (dict, list, str)) or not inner or isinstance(part, str):
            return None
        start = Position((*start.trail, start.offset), 0)


class _Run:
    """What a page can show of one part, from an offset on."""

    def __init__(self, value: Any, part: Any, start: Position, cost: Callable[[Page], float]) -> None:
        self._value, self._part, self._start = value, part, start
        self._sizes = Sizes()
        self._priced = cache(lambda stop: cost(self._page(stop)))  # a search comes back to what it tried

    def longest(self, limit: int | None) -> Page | None:
        """Return the longest page within the limit."""
        if limit is None:
            return self._page(self._total())
        return search(limit, self._attempt, limit * _GUESS)

    def _attempt(self, room: int) -> tuple[Page, float, bool]:
        stop = self._stop(room)
        return self._page(stop), self._priced(stop), stop >= self._total()

    def _total(self) -> int:
        return len(self._part) if isinstance(self._part, (dict, list, str)) else 1

    def _stop(self, room: int) -> int:
        """Count off the pieces that go into a room in bytes, at least one."""
        offset = self._start.offset
        if isinstance(self._part, str):
            return min(offset + max(room, 1), len(self._part))
        if not isinstance(self._part, (dict, list)):
            return 1
        stop = offset
        for size in self._pieces(self._part, offset):
            room -= size
            if room < 0 and stop > offset:
                break
            stop += 1
        return stop

    def _pieces(self, part: dict[str, Any] | list[Any], offset: int) -> Iterator[int]:
        if isinstance(part, list):
            return map(self._sizes.element, islice(part, offset, None))
        return (len(key) + 3 + self._sizes.element(member) for key, member in islice(part.items(), offset, None))

    def _page(self, stop: int) -> Page:
        return Page(
            *_slice(self._value, self._part, self._start, stop), _following(self._value, self._start.trail, stop)
        )


def _slice(value: Any, part: Any, start: Position, stop: int) -> tuple[Any, str]:
    path = _path(value, start.trail)
    if isinstance(part, dict):
        return dict(islice(part.items(), start.offset, stop)), path
    if not isinstance(part, (list, str)) or (start.offset == 0 and stop >= len(part)):
        return part, path
    return part[start.offset : stop], join(path, slice(start.offset, stop))


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
