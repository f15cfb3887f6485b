"""Records at one place of a payload, seen together: what a rule decides from."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from shaping.noise.names import meaning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.types import Json, Reason

MISSING: Final[Any] = object()
LINK_STARTS = ("http://", "https://", "git://", "ssh://", "git@", "svn://", "ftp://", "//")
_LONG, _SHORT = 320, 8
_SHAPES = 24  # records of more shapes than this are looked at through the first of them


def _is_plain_map(row: dict[str, Json]) -> bool:
    """Tell an object of many short words, which is looked at as a whole and not member by member."""
    if len(row) < 48 or set(map(type, row.values())) != {str}:
        return False
    joined = "\n".join(row.values())  # type: ignore[arg-type]
    return "://" not in joined and "</" not in joined and max(map(len, row.values())) < 64  # type: ignore[arg-type]


@dataclass(slots=True)
class Batch:
    """All records at one path, what their members hold, and what the rules have decided about them.

    A few records stand for all in sorting members by kind: one of each shape, the middle and the last.
    A rule looks at every record before it takes anything from it.
    """

    path: str
    rows: Sequence[dict[str, Json]]
    listed: bool  # whether they are elements of a list
    nested: bool  # whether they stand inside a record that has a page of its own
    arguments: frozenset[str]
    around: int = 0  # how many other members the record has in which each of these is a member
    owners: Sequence[dict[str, Json]] | None = None  # the records in which these stand, one for each
    sample: list[dict[str, Json]] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    opaque: list[str] = field(default_factory=list)
    hex: list[str] = field(default_factory=list)
    long: list[str] = field(default_factory=list)
    wrapped: list[str] = field(default_factory=list)
    inside: list[str] = field(default_factory=list)  # members that hold records or lists
    plain: list[str] = field(default_factory=list)
    uniform: bool = False
    drop: dict[str, Reason] = field(default_factory=dict)
    replace: dict[str, list[Any]] = field(default_factory=dict)
    cut: dict[str, tuple[int, Reason]] = field(default_factory=dict)
    page: bool = False  # whether a link of these records is kept

    def sort(self) -> None:
        """Sort the members by what they hold."""
        rows = self.rows
        shapes = dict(zip(map(tuple, rows), rows, strict=True))
        self.uniform = len(shapes) == 1
        self.sample = [rows[0], *list(shapes.values())[:_SHAPES]]
        if len(rows) == 1 and _is_plain_map(rows[0]):
            self.plain.extend(rows[0])
            return
        kinds: dict[str, list[str]] = {}
        for row in self.sample:
            for key, value in row.items():
                known = kinds.get(key)
                if known is None or known is self.plain:
                    kinds[key] = self._kind_of(key, value)
        for key, members in kinds.items():
            members.append(key)
        if len(rows) > len(self.sample):
            self._find_long()

    def _find_long(self) -> None:
        """Find the long strings among short ones, which are seldom in a sample."""
        first = self.sample[0]
        for key in [key for key in self.plain if type(value := first.get(key)) is str and len(value) > _SHORT]:
            if self._longest(key) > _LONG:
                self.plain.remove(key)
                self.long.append(key)

    def _longest(self, key: str) -> int:
        if self.uniform:
            try:
                return max(map(len, map(itemgetter(key), self.rows)))
            except TypeError:  # a record holds something else there
                pass
        return max((len(value) for row in self.rows if type(value := row.get(key)) is str), default=0)

    def _kind_of(self, key: str, value: Json) -> list[str]:
        if type(value) is not str:
            return self.inside if type(value) is dict or type(value) is list else self.plain
        size = len(value)
        if value.startswith(LINK_STARTS):
            return self.links if " " not in value and "\n" not in value else self.wrapped
        if size > _LONG:
            return self.long
        if size >= 8 and meaning(key).opaque:
            return self.opaque
        if size >= 20 and ("\n" in value or "</" in value or "://" in value):
            return self.wrapped
        return self.hex if size >= 64 and value.isalnum() else self.plain

    def column(self, key: str) -> list[Any]:
        """Return a member's value in every record, or MISSING."""
        if (changed := self.replace.get(key)) is not None:
            return changed
        return [row.get(key, MISSING) for row in self.rows]

    def texts(self, key: str) -> list[str] | None:
        """Return a member's strings, or None where a record holds something else there."""
        values = [row[key] for row in self.rows if key in row]
        if set(map(type, values)) == {str}:
            return values  # type: ignore[return-value]
        values = [value for value in values if value is not None]
        return values if values and set(map(type, values)) == {str} else None  # type: ignore[return-value]

    def identified_without(self, key: str) -> bool:
        """Tell whether a record can still be told from the others when this member is gone."""
        # A member of a record is known by its name, and a wrapper by what is in it.
        if self.around or any(map(self._identifies, self.inside)):
            return True
        others = [name for name in self.plain if name != key and name not in self.drop]
        if any(meaning(name).identifies for name in others):
            return True
        return len(self.rows) > 1 and any(self._distinct(name) for name in others)

    def company(self, key: str) -> int:
        """Count the members a record has beside this one and its links."""
        known = (
            self.around
            + len(self.plain)
            + len(self.inside)
            + len(self.wrapped)
            + len(self.long)
            + len(self.opaque)
            + len(self.hex)
        )
        return known - (
            key in self.long
            or key in self.wrapped
            or key in self.opaque
            or key in self.hex
            or key in self.inside
            or key in self.plain
        )

    def _identifies(self, key: str) -> bool:
        value = self.sample[0].get(key)
        return type(value) is dict and any(meaning(name).identifies for name in value)

    def _distinct(self, key: str) -> bool:
        values = self.column(key)
        return set(map(type, values)) <= {str, int} and len(set(values)) == len(values)
