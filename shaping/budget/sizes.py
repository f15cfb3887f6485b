"""How large the parts of a value are, in bytes of JSON, looked at no further than it matters."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Collection


class Sizes:
    """Sizes of one value's parts; each element of a list is written once, and remembered."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}
        self._heads: dict[int, list[int]] = {}  # of each list, how large its first none, one, two, … elements are

    def of(self, value: Any, cap: int) -> int:
        """Give the size of a value, or any number above the cap as soon as it is clear that it is larger."""
        if isinstance(value, dict):
            return self._object(value, cap)
        if isinstance(value, list):
            return self._list(value, cap)
        return scalar(value)

    def element(self, value: Any) -> int:
        """Give the size of a list's element, comma included."""
        if not isinstance(value, (dict, list)):
            return scalar(value) + 1
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = _written(value) + 1
        return known

    def head(self, value: list[Any], shown: int) -> int:
        """Give the size of a list's first elements, or of all where it has no more."""
        heads = self._heads.setdefault(id(value), [2])
        for item in value[len(heads) - 1 : shown]:
            heads.append(heads[-1] + self.element(item))
        return heads[min(shown, len(value))]

    def fitting(self, value: list[Any], room: int) -> int:
        """Tell how many of a list's first elements go into the room."""
        heads = self._heads.setdefault(id(value), [2])
        while heads[-1] <= room and len(heads) <= len(value):
            heads.append(heads[-1] + self.element(value[len(heads) - 1]))
        return bisect_right(heads, room) - 1

    def rows(self, table: Collection[list[Any]], room: int) -> tuple[int, int]:
        """Tell how many first rows of lists that line up go into the room, and what room is left."""

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
    """Give the size of a string, a number, a boolean or null."""
    return len(value) + 2 if isinstance(value, str) else len(str(value))


def _written(value: Any) -> int:
    try:
        return len(orjson.dumps(value))
    except (TypeError, ValueError, RecursionError):  # deeper than orjson goes: measured by its text
        return len(str(value))
