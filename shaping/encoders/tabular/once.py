"""Say once what a column would say in every row: one value throughout, or what another column says."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import orjson

from shaping.encoders.tabular.nodes import Constant, Leaf, Same

if TYPE_CHECKING:
    from collections.abc import Callable

    from shaping.encoders.tabular.nodes import Node

Records: TypeAlias = "list[dict[str, Any]]"
T = TypeVar("T")

# What one asks of a single record, however many agree: how it is, and whose it is.
_STATES = frozenset({"state", "status", "conclusion", "phase", "outcome", "result", "verdict", "health"})
_PEOPLE = frozenset({"author", "user", "assignee", "owner", "creator", "reporter", "sender", "actor", "from", "by"})
_NAMES = frozenset({"login", "name", "username", "displayname", "display_name"})


@dataclass(slots=True)
class Finder:
    """What may be said once, and what has been seen in the table at hand."""

    repeats: bool
    constants: bool
    near: bool = True  # whether what comes back stays in its row unless it is long
    count: int = 0
    # By first and last, which tell most columns apart, so that few are compared and none is hashed.
    seen: dict[tuple[str, str], list[tuple[list[str], str]]] = field(default_factory=dict)
    seen_records: dict[tuple[bytes, bytes], list[tuple[Records, str]]] = field(default_factory=dict)
    spread: Callable[[list[Any]], tuple[Any, ...]] | None = None  # see `among`

    def within(self, count: int) -> Finder:
        """Return a finder for another table of so many rows."""
        return Finder(self.repeats, self.constants, self.near, count)

    def among(self, rows: Records) -> Finder:
        """Return a finder for columns of only those of these rows that are not empty: `full` puts them back."""
        at = count()
        # What an empty row has is what `full` puts last.
        places = [next(at) if row else -1 for row in rows]
        return self._copy(itemgetter(*places))

    def throughout(self) -> Finder:
        """Return a finder for columns of all rows again."""
        return self._copy(None)

    def _copy(self, spread: Callable[[list[Any]], tuple[Any, ...]] | None) -> Finder:
        return Finder(self.repeats, self.constants, self.near, self.count, self.seen, self.seen_records, spread)

    def full(self, column: list[T], absent: T) -> list[T]:
        """Return a column with something for each row that was left out."""
        return column if self.spread is None else list(self.spread([*column, absent]))

    def known(self, cells: list[str], path: str) -> str | None:
        """Return the path of a column with these cells seen before; remember this one where there is none."""
        alike = self.seen.setdefault((cells[0], cells[-1]), [])
        for other, first in alike:
            if other == cells:
                return None if first == path else first
        alike.append((cells, path))
        return None

    def known_records(self, rows: Records, path: str) -> str | None:
        """Return the path of a column with these records, written the same, likewise."""
        alike = self.seen_records.setdefault((orjson.dumps(rows[0]), orjson.dumps(rows[-1])), [])
        for other, first in alike:
            # Equal is not enough: 1 is equal to 1.0, and members in another order are written in another order.
            if other == rows and orjson.dumps(other) == orjson.dumps(rows):
                return None if first == path else first
        alike.append((rows, path))
        return None


class Spot(NamedTuple):
    """Where a column stands: its name, the path to it, how deep."""

    label: str
    prefix: str
    depth: int

    @property
    def path(self) -> str:
        """The path from the row."""
        return self.prefix + self.label

    def inside(self, label: str) -> Spot:
        """Return the spot of a member of the record that stands here."""
        return Spot(label, f"{self.prefix}{self.label}.", self.depth + 1)


def said_once(cells: list[str], finder: Finder, spot: Spot) -> Node:
    """Return a column as a constant or as another column's repetition where it is one."""
    first = cells[0]
    if first and not finder.spread and first == cells[-1] and cells.count(first) == len(cells):
        return throughout(first, len(cells), finder, spot)
    return repeated(cells, finder, spot)


def repeated(cells: list[str], finder: Finder, spot: Spot) -> Node:
    """Return a column that is not the same throughout as another column's repetition where it is one."""
    cells = finder.full(cells, "")
    if finder.repeats and finder.count > 1:
        known = finder.known(cells, spot.path)
        if known and sum(map(len, cells)) > len(known) + len(spot.label) + 8:
            return Same(spot.label, known)
    return Leaf(spot.label, cells)


def throughout(cell: str, rows: int, finder: Finder, spot: Spot) -> Node:
    """Return a column of one cell as a constant, unless it is what one asks of each record."""
    if finder.constants and finder.count > 1 and not _asked_of_a_record(spot):
        return Constant(spot.label, cell)
    return Leaf(spot.label, [cell] * rows)


def _asked_of_a_record(spot: Spot) -> bool:
    label = spot.label.lower()
    if not spot.prefix:
        return label in _STATES or label in _PEOPLE
    return label in _NAMES and spot.prefix[:-1].lower() in _PEOPLE
