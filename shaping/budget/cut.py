"""One candidate: a value cut to so many bytes, list tails first, then the middles of strings, then members."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.budget.limits import shorten

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_EMPTY: Final = 2  # bytes of [] or {}
_MARK: Final = 40  # bytes of a string that is all mark
_WORTH_OPENING: Final = 24  # bytes below which a piece of a list's only element tells nothing
_HEAD: Final = 4  # elements of a column that it is worth showing for
_HEAD_BYTES: Final = 128  # and how large they may be for that
_WIDE: Final = 32  # members above which an object is a map, and measured coarsely
_IDENTIFIES: Final = ("id", "key", "name", "number", "sha", "slug", "code", "ref", "title", "status", "path", "type")


class TreeCutter:
    """Cuts one value to different sizes, remembering what it measured; `whole` has the full text of cut strings."""

    def __init__(self, sizes: Sizes, whole: Mapping[int, str]) -> None:
        self._sizes = sizes
        self._whole = whole

    def to(self, value: Any, room: int) -> Any:
        """Return as much of the value as goes into the room; what fits is handed on as it is."""
        if self._sizes.of(value, room) <= room or value in ([], {}):
            return value
        if isinstance(value, dict):
            return self._object(value, room)
        if isinstance(value, list):
            return self._list(value, room)
        return shorten(self._whole.get(id(value), value), max(room - 2, 0)) if isinstance(value, str) else value

    def _list(self, value: list[Any], room: int) -> list[Any]:
        # From the end: tools sort best first, and a stable head keeps cursors valid.
        shown = max(self._sizes.fitting(value, room), 0)
        left = room - self._sizes.head(value, shown)
        if left < max(_WORTH_OPENING, room // 2):
            return value[:shown]
        # Most of the room would stay empty: a part of the next element is better than nothing of it.
        part = self.to(value[shown], left)
        return value[:shown] if part in ({}, []) else [*value[:shown], part]

    def _object(self, value: dict[str, Any], room: int) -> dict[str, Any]:
        # In a wide object no member can have more than a few shares, so none is measured further than that.
        cap = room if len(value) <= _WIDE else max(4 * room // len(value), 256)
        sizes = {key: self._sizes.of(member, cap) for key, member in value.items()}
        needs = {key: _need(key, member, sizes[key], room, wide=len(value) > _WIDE) for key, member in value.items()}
        table = columns(value)
        needs |= {key: min(sizes[key], self._head(value[key])) for key in table}
        kept = _affordable(needs, room - _EMPTY, table)
        shares = _shares(value, sizes, {key: needs[key] for key in kept}, room - _EMPTY)
        rows = self._rows({key: value[key] for key in table if key in shares}, shares)
        return {key: rows.get(key) or self.to(value[key], shares[key]) for key in value if key in shares}

    def _head(self, column: list[Any]) -> int:
        return min(self._sizes.head(column, _HEAD), _HEAD_BYTES)

    def _rows(self, table: Mapping[str, list[Any]], shares: Mapping[str, int]) -> dict[str, list[Any]]:
        """Cut the columns to one length, with the room of all; none where there is no room for a part of a row."""
        room = sum(shares[key] for key in table)
        shown, left = self._sizes.rows(table.values(), room)
        if left < max(_WORTH_OPENING, room // 2) or all(shown == len(column) for column in table.values()):
            return _heads(table, shown)
        part = self.to({key: column[shown] for key, column in table.items()}, left)
        if len(part) < len(table):
            return _heads(table, shown)
        return {key: [*column[:shown], part[key]] for key, column in table.items()}


def _heads(table: Mapping[str, list[Any]], shown: int) -> dict[str, list[Any]]:
    # What is whole stays the same object: what is the same is not compared.
    return {key: column if shown == len(column) else column[:shown] for key, column in table.items()} if shown else {}


def _need(key: str, member: Any, size: int, room: int, *, wide: bool) -> int:
    """Return the fewest bytes that a member is worth showing in."""
    if _matters(key) and size <= room // 4:
        return size
    least = _EMPTY if isinstance(member, (dict, list)) else min(size, _MARK) if isinstance(member, str) else size
    # Wide objects are maps: better some members whole than all of them empty.
    return max(least, min(size, room // 8)) if wide else least


def _affordable(needs: Mapping[str, int], room: int, table: Collection[str]) -> list[str]:
    """Choose the members there is room for: those that identify or tell of an error, then the others in order."""
    kept = []
    for key in sorted(needs, key=lambda key: not (_matters(key) or (key in table and is_axis(key)))):
        needed = len(key) + 4 + needs[key]
        if needed <= room:
            room -= needed
            kept.append(key)
    return kept


def _shares(value: Mapping[str, Any], sizes: Mapping[str, int], needs: Mapping[str, int], room: int) -> dict[str, int]:
    """Divide the room: what is small gets all it needs, what is large shares the rest by weight."""
    left = room - sum(len(key) + 4 + need for key, need in needs.items())
    weight = sum(_weight(value[key]) for key in needs)
    shares: dict[str, int] = {}
    for key in sorted(needs, key=lambda key: (sizes[key] - needs[key]) / _weight(value[key])):
        more = min(sizes[key] - needs[key], left * _weight(value[key]) // weight)
        shares[key] = needs[key] + more
        left -= more
        weight -= _weight(value[key])
    return shares


def _weight(member: Any) -> int:
    # A string is worth as much room as four lists: a list's tail is more of the same.
    return 1 if isinstance(member, list) else 2 if isinstance(member, dict) else 4


def _matters(key: str) -> bool:
    name = key.lower()
    return name.endswith(_IDENTIFIES) or "error" in name or name == "message"


_SHORTEST: Final = 4  # elements: shorter lists are often as long as each other by chance
_AXES: Final = ("time", "date", "timestamp", "timestamps", "index")


def columns(value: Mapping[str, Any]) -> tuple[str, ...]:
    """Name the members that are columns of one table: most of the object's lists, and all of one length."""
    lengths = {key: len(member) for key, member in value.items() if isinstance(member, list) and member}
    if len(lengths) < 2:
        return ()
    length, many = Counter(lengths.values()).most_common(1)[0]
    found = tuple(key for key in lengths if lengths[key] == length)
    # Records say themselves what they are of; beside one list of plain values they may be as many by chance.
    plain = sum(not isinstance(value[key][0], dict) for key in found)
    return found if length >= _SHORTEST and plain > 1 and 2 * many > len(lengths) else ()


def is_axis(key: str) -> bool:
    """Whether a column tells where on the axis a row is, so that the others say nothing without it."""
    return key.lower().endswith(_AXES)


class Sizes:
    """Sizes of one value's parts; each element of a list is written once, and remembered."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}
        self._heads: dict[int, list[int]] = {}  # of each list, how large its first none, one, two, … elements are

    def of(self, value: Any, cap: int) -> int:
        """Return the size of a value, or any number above the cap as soon as it is clear that it is larger."""
        if isinstance(value, dict):
            return self._object(value, cap)
        if isinstance(value, list):
            return self._list(value, cap)
        return scalar(value)

    def element(self, value: Any) -> int:
        """Return the size of a list's element, comma included."""
        if not isinstance(value, (dict, list)):
            return scalar(value) + 1
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = _written(value) + 1
        return known

    def head(self, value: list[Any], shown: int) -> int:
        """Return the size of a list's first elements, or of all where it has no more."""
        heads = self._heads.setdefault(id(value), [2])
        for item in value[len(heads) - 1 : shown]:
            heads.append(heads[-1] + self.element(item))
        return heads[min(shown, len(value))]

    def fitting(self, value: list[Any], room: int) -> int:
        """Return how many of a list's first elements fit into the room."""
        heads = self._heads.setdefault(id(value), [2])
        while heads[-1] <= room and len(heads) <= len(value):
            heads.append(heads[-1] + self.element(value[len(heads) - 1]))
        return bisect_right(heads, room) - 1

    def rows(self, table: Collection[list[Any]], room: int) -> tuple[int, int]:
        """Return how many first rows of parallel lists fit into the room, and what room is left."""

        def size(rows: int) -> int:
            return sum(self.head(column, rows) for column in table)

        length, most = len(next(iter(table), ())), 1
        # Doubled, not measured to the end: a table may be far larger than any room.
        while most < length and size(most) <= room:
            most *= 2
        shown = bisect_right(range(min(most, length) + 1), room, key=size) - 1
        return shown, room - size(shown)

    def _list(self, value: list[Any], cap: int) -> int:
        return self.head(value, self.fitting(value, cap) + 1)

    def _object(self, value: dict[str, Any], cap: int) -> int:
        total = 2
        for key, member in value.items():
            total += len(key) + 4 + self.of(member, cap - total)
            if total > cap:
                break
        return total


def scalar(value: Any) -> int:
    """Return the size of a string, a number, a boolean or null."""
    return len(value) + 2 if isinstance(value, str) else len(str(value))


def _written(value: Any) -> int:
    try:
        return len(orjson.dumps(value))
    except (TypeError, ValueError, RecursionError):  # deeper than orjson goes: measured by its text
        return len(str(value))
