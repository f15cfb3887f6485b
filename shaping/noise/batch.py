"""Records at one place of a payload, seen together: what a rule decides from."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from shaping.noise.columns import longest
from shaping.noise.encoded import CODED, is_coded
from shaping.noise.names import meaning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.noise.places import Owners
    from shaping.response import Json, Reason

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

    rows: Sequence[dict[str, Json]]
    listed: bool  # whether they are elements of a list
    nested: bool  # whether they stand inside a record that has a page of its own
    arguments: frozenset[str]
    around: int = 0  # how many other members the record has in which each of these is a member
    owners: Owners | None = None  # gives the records in which these stand, one for each
    sample: Sequence[dict[str, Json]] = ()
    kinds: dict[str, list[str]] = field(default_factory=dict)  # each member, and which of these it is in
    links: list[str] = field(default_factory=list)
    opaque: list[str] = field(default_factory=list)
    hex: list[str] = field(default_factory=list)
    long: list[str] = field(default_factory=list)
    wrapped: list[str] = field(default_factory=list)
    inside: list[str] = field(default_factory=list)  # members that hold records or lists
    plain: list[str] = field(default_factory=list)
    coded: list[str] = field(default_factory=list)  # strings of the letters of base64, shorter than the long ones
    uniform: bool = True  # whether all have the same members in the same order
    drop: dict[str, Reason] = field(default_factory=dict)
    replace: dict[str, list[Any]] = field(default_factory=dict)
    cut: dict[str, tuple[int, Reason]] = field(default_factory=dict)
    page: bool = False  # whether a link of these records is kept

    def sort(self) -> None:
        """Sort the members by what they hold."""
        rows, kinds, plain, inside = self.rows, self.kinds, self.plain, self.inside
        if len(rows) > 1:
            self._take_sample()
        else:
            self.sample = rows
            if _is_plain_map(rows[0]):
                plain.extend(rows[0])
                kinds.update(dict.fromkeys(plain, plain))
                return
        for row in self.sample:
            for key, value in row.items():
                if key in kinds and kinds[key] is not plain:
                    continue
                kind = type(value)
                if kind is not str:
                    kinds[key] = inside if kind is dict or kind is list else plain
                elif value.startswith("https://") and " " not in value and "\n" not in value:  # type: ignore[union-attr,operator]
                    kinds[key] = self.links
                else:
                    kinds[key] = self._kind_of(key, value)  # type: ignore[arg-type]
        for key, members in kinds.items():
            members.append(key)
        if len(rows) > len(self.sample):
            self._find_long()

    def _take_sample(self) -> None:
        rows = self.rows
        shapes = list(map(tuple, rows))
        self.uniform = shapes.count(shapes[0]) == len(shapes)
        if self.uniform:
            self.sample = rows[0], rows[-1]
        else:
            last_of_each = dict(zip(shapes, rows, strict=True)).values()
            self.sample = [rows[0], *islice(last_of_each, _SHAPES)]

    def _find_long(self) -> None:
        """Find the long strings among short ones, which are seldom in a sample."""
        first = self.sample[0]
        keys = [key for key in self.plain if type(value := first.get(key)) is str and len(value) > _SHORT]
        if len(keys) > 1 and longest(self.cells(keys)) <= _LONG:
            return
        for key in keys:
            values = self.present(key)
            # A list among the strings counts by its length, but only where every record has the member.
            if longest(values if self.uniform else [value for value in values if type(value) is str]) > _LONG:
                self.plain.remove(key)
                self.long.append(key)

    def _kind_of(self, key: str, value: str) -> list[str]:
        size = len(value)
        slash = "/" in value
        if (slash or "@" in value) and value.startswith(LINK_STARTS):
            return self.links if " " not in value and "\n" not in value else self.wrapped
        if size < 8:
            return self.plain
        if size > _LONG:
            return self.long
        if (said := meaning(key)).opaque:
            return self.opaque
        if size >= CODED and not (said.identifies or said.handed) and is_coded(value):
            return self.coded
        if size >= 20 and ("\n" in value or (slash and ("</" in value or "://" in value))):
            return self.wrapped
        return self.hex if size >= 64 and value.isalnum() else self.plain

    def is_quiet(self) -> bool:
        """Tell whether no member is of a kind that a rule looks at, but for those that hold records or lists."""
        return len(self.plain) + len(self.inside) == len(self.kinds) and not self.names_html()

    def names_html(self) -> bool:
        """Tell whether a member is called HTML, which may say what another one says."""
        return "html" in " ".join(self.kinds).lower()

    def is_alone(self) -> bool:
        """Tell a single record, which may be the only element of a list, from what is in one."""
        return len(self.rows) == 1 and not (self.listed and self.around)

    def column(self, key: str) -> list[Any]:
        """Return a member's value in every record, or MISSING."""
        if (changed := self.replace.get(key)) is not None:
            return changed
        if self.uniform:
            return [row[key] for row in self.rows]
        return [row.get(key, MISSING) for row in self.rows]

    def present(self, key: str) -> list[Any]:
        """Return a member's value in every record that has it."""
        if (changed := self.replace.get(key)) is not None:
            return [value for value in changed if value is not MISSING]
        if self.uniform:
            return [row[key] for row in self.rows]
        return [row[key] for row in self.rows if key in row]

    def cells(self, keys: list[str]) -> list[Any]:
        """Return what these members hold in the records that have them, record by record."""
        if len(keys) == 1:
            return self.present(keys[0])
        if self.uniform:
            return list(chain.from_iterable(map(itemgetter(*keys), self.rows)))
        return [row[key] for row in self.rows for key in keys if key in row]

    def texts(self, key: str) -> list[str] | None:
        """Return a member's strings, or None where a record holds something else there."""
        values = self.present(key)
        if set(map(type, values)) == {str}:
            return values
        values = [value for value in values if value is not None]
        return values if values and set(map(type, values)) == {str} else None

    def identified_without(self, key: str) -> bool:
        """Tell whether a record can still be told from the others when this member is gone."""
        # A member of a record is known by its name, and a wrapper by what is in it.
        if self.around or any(map(self._identifies, self.inside)):
            return True
        for name in self.plain:
            if meaning(name).identifies and name != key and name not in self.drop:
                return True
        others = [name for name in self.plain if name != key and name not in self.drop]
        return len(self.rows) > 1 and any(map(self._distinct, others))

    def company(self, key: str) -> int:
        """Count the members a record has beside this one and its links."""
        others = self.around + len(self.kinds) - len(self.links)
        return others - (self.kinds.get(key, self.links) is not self.links)

    def _identifies(self, key: str) -> bool:
        value = self.sample[0].get(key)
        return type(value) is dict and any(meaning(name).identifies for name in value)

    def _distinct(self, key: str) -> bool:
        values = self.column(key)
        return set(map(type, values)) <= {str, int} and len(set(values)) == len(values)
