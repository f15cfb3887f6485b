"""Find what many rows repeat and write it once: constants, equal columns, decided columns, recurring records."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain, count
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import orjson

from shaping.encoders.table.model import Constant, Given, Leaf, Same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shaping.encoders.table.model import Node

Records: TypeAlias = "list[dict[str, Any]]"
T = TypeVar("T")

# What one asks of a single record, however many agree: how it is, and whose it is.
_STATES = frozenset({"state", "status", "conclusion", "phase", "outcome", "result", "verdict", "health"})
_PEOPLE = frozenset({"author", "user", "assignee", "owner", "creator", "reporter", "sender", "actor", "from", "by"})
_NAMES = frozenset({"login", "name", "username", "displayname", "display_name"})

MANY = 24  # rows from which a reader would rather be told the sentences apart
_SENTENCE = 20  # characters from which a cell is worth it
_OFTEN = 8  # times a sentence must come back
_WORTH = 400  # characters that must be saved
_NEAR, _LESS_NEAR = 20, 6  # characters up to which a member of a record that comes back stays in the row
_IDENTIFIERS = (
    "name",
    "login",
    "key",
    "id",
    "number",
    "slug",
    "username",
    "email",
    "title",
    "sha",
    "uid",
    "path",
    "code",
)
_SINGLE = frozenset({str, int})


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


class ColumnPath(NamedTuple):
    """Where a column stands: its name, the path to it, how deep."""

    label: str
    prefix: str
    depth: int

    @property
    def path(self) -> str:
        """The path from the row."""
        return self.prefix + self.label

    def inside(self, label: str) -> ColumnPath:
        """Return the spot of a member of the record that stands here."""
        return ColumnPath(label, f"{self.prefix}{self.label}.", self.depth + 1)


def said_once(cells: list[str], finder: Finder, spot: ColumnPath) -> Node:
    """Return a column as a constant or as another column's repetition where it is one."""
    first = cells[0]
    if first and not finder.spread and first == cells[-1] and cells.count(first) == len(cells):
        return throughout(first, len(cells), finder, spot)
    return repeated(cells, finder, spot)


def repeated(cells: list[str], finder: Finder, spot: ColumnPath) -> Node:
    """Return a column that is not the same throughout as another column's repetition where it is one."""
    cells = finder.full(cells, "")
    if finder.repeats and finder.count > 1:
        known = finder.known(cells, spot.path)
        if known and sum(map(len, cells)) > len(known) + len(spot.label) + 8:
            return Same(spot.label, known)
    return Leaf(spot.label, cells)


def throughout(cell: str, rows: int, finder: Finder, spot: ColumnPath) -> Node:
    """Return a column of one cell as a constant, unless it is what one asks of each record."""
    if finder.constants and finder.count > 1 and not _asked_of_a_record(spot):
        return Constant(spot.label, cell)
    return Leaf(spot.label, [cell] * rows)


def _asked_of_a_record(spot: ColumnPath) -> bool:
    label = spot.label.lower()
    if not spot.prefix:
        return label in _STATES or label in _PEOPLE
    return label in _NAMES and spot.prefix[:-1].lower() in _PEOPLE


def given(nodes: Sequence[Node]) -> list[Node]:
    """Take recurring sentences out of the rows and say by which short cell of the row each is decided."""
    leaves = [node for node in nodes if type(node) is Leaf]
    sizes = {leaf.name: len("".join(leaf.cells)) / len(leaf.cells) for leaf in leaves}
    told = {leaf.name for leaf in leaves if sizes[leaf.name] >= _SENTENCE and _are_few(leaf.cells, 2)}
    if not told:
        return list(nodes)
    short = sorted((leaf for leaf in leaves if sizes[leaf.name] < _SENTENCE), key=lambda leaf: sizes[leaf.name])
    keys = [leaf for leaf in short if _are_few(leaf.cells, _OFTEN)]
    return [
        part
        for node in nodes
        for part in (_decided(node, keys) if type(node) is Leaf and node.name in told else (node,))
    ]


def _are_few(cells: list[str], times: int) -> bool:
    """Tell whether the different cells come so many times on average; mostly the first ones tell already."""
    most = len(cells) // times
    return len(set(cells[: most + 1])) <= most and len(set(cells)) <= most


def _decided(leaf: Leaf, keys: Sequence[Leaf]) -> Sequence[Node]:
    best: dict[str, str] = {}
    name, worth = "", _WORTH
    for key in keys:
        told, saved = _told(key.cells, leaf.cells)
        if saved > worth:
            best, name, worth = told, key.name, saved
    if not best:
        return (leaf,)
    by = next(key.cells for key in keys if key.name == name)
    rest = ["" if one in best else cell for one, cell in zip(by, leaf.cells, strict=True)]
    told_all = Given(leaf.name, name, best)
    return (Leaf(leaf.name, rest), told_all) if any(rest) else (told_all,)


def _told(keys: Sequence[str], cells: Sequence[str]) -> tuple[dict[str, str], int]:
    """Return what each key says in every row it is in, where that is often and long, and the characters saved."""
    # There are at least as many pairs as sentences, and counting those is quicker.
    if len(set(cells)) >= 2 * len(set(keys)):
        return {}, 0
    counts = Counter(keys)
    pairs = dict.fromkeys(zip(keys, cells, strict=True))
    if len(pairs) >= 2 * len(counts):
        return {}, 0
    told = dict(list(pairs))
    for key in [key for key, times in Counter(key for key, _ in pairs).items() if times > 1]:
        del told[key]
    told = {key: said for key, said in told.items() if key and counts[key] >= _OFTEN and len(said) >= _SENTENCE}
    return told, sum(len(said) * (counts[key] - 1) - len(key) for key, said in told.items())


class Told(NamedTuple):
    """What is told once: the member that names a record, the long ones told of it, and the records of these."""

    key: str
    far: frozenset[str]
    records: Records


def told_once(rows: Records, *, near: bool) -> Told | None:
    """Return what records that come back have in long members, where that is worth a table of its own."""
    present = [row for row in rows if row]
    names = [key for key in present[0] if key.lower().endswith(_IDENTIFIERS)]
    if not names or any(_differ(key, present) for key in names):
        return None
    # Copies, because each original holds a kilobyte, and a heap that grows and shrinks costs more than all the rest.
    dumps = [b"%b" % orjson.dumps(row) for row in rows]
    # Only what is as long can be the same, and long records take long to hash; two bytes are an absent one.
    if not _saves(map(len, dumps), {*map(len, dumps)} - {2}, len(rows)):
        return None
    distinct = dict(zip(dumps, rows, strict=True))
    distinct.pop(b"{}", None)
    records = list(distinct.values())
    if (
        len(records) < 2
        or not _saves(map(len, dumps), map(len, distinct), len(rows))
        or (key := _identifier(records)) is None
    ):
        return None
    # Short members stay in the row, beside what they belong to: nobody should have to look those up.
    members = dict.fromkeys(chain.from_iterable(records))
    far = {member for member in members if member != key and _is_long(member, records, near=near)}
    told = [{member: record[member] for member in record if member in far or member == key} for record in records]
    sizes = {record[key]: len(orjson.dumps(record)) for record in told}
    if not far or not _saves([sizes[row[key]] for row in present], sizes.values(), len(rows)):
        return None
    return Told(key, frozenset(far), told)


def _differ(key: str, rows: Records) -> bool:
    """Tell whether a member is a different string or number in every record, so that none comes back."""
    values = [row.get(key) for row in rows]
    return type(values[0]) in _SINGLE and set(map(type, values)) <= _SINGLE and len(set(values)) == len(values)


def _saves(sizes: Iterable[int], distinct: Iterable[int], count: int) -> bool:
    return sum(sizes) - sum(distinct) > max(400, 60 * count)


def _is_long(key: str, records: Records, *, near: bool) -> bool:
    values = [record[key] for record in records if key in record]
    if any(type(value) in (dict, list) for value in values):
        return True
    size = sum([len(value) for value in values if type(value) is str])
    return size > (_NEAR if near else _LESS_NEAR) * len(values)


def _identifier(records: Records) -> str | None:
    """Return the member by which a person would name these records, if every record has it and no two share it."""
    for key in (key for word in _IDENTIFIERS for key in records[0] if key.lower().endswith(word)):
        values: list[Any] = [record.get(key) for record in records]
        if set(map(type, values)) in ({str}, {int}) and len(set(values)) == len(values):
            return key
    return None
