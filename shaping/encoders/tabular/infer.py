"""Find the columns of a list of records: column by column, so that the cost is per member and not per value."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import orjson

from shaping.encoders.tabular.cells import KEY, MISSING, Missing, cell, name, quoted, texts
from shaping.encoders.tabular.given import MANY, given
from shaping.encoders.tabular.nodes import Constant, Group, Items, Leaf, Lookup, Node, Same, Table, Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.types import Json

_NONE = type(None)
_DEEP = 24  # deeper nests are written as JSON: a header that deep reads worse than what it replaces
_LONG = 100  # a string longer than this stands under its row
# Records with more different members than this, mostly absent, are maps; fewer are enough where all hold records.
_WIDE, _MAP, _FILLED = 24, 8, 0.34
_STATES = frozenset({"state", "status", "conclusion", "phase", "outcome", "result", "verdict", "health"})
_NAMES = ("name", "login", "key", "id", "number", "slug", "username", "email", "title", "sha", "uid", "path", "code")


@dataclass(slots=True)
class Finder:
    """What may be said once, and what has been seen in the table at hand."""

    repeats: bool
    constants: bool
    count: int = 0
    seen: dict[Any, str] = field(default_factory=dict)

    def within(self, count: int) -> Finder:
        """Return a finder for another table of so many rows."""
        return Finder(self.repeats, self.constants, count)


def table(rows: Sequence[dict[str, Json]], finder: Finder, depth: int = 0) -> Table:
    """Return the columns of records."""
    inner = finder.within(len(rows))
    nodes = members(rows, inner, "", depth)
    return Table(len(rows), given(nodes) if finder.repeats and len(rows) >= MANY else nodes)


def members(rows: Sequence[dict[str, Json]], finder: Finder, prefix: str, depth: int) -> list[Node]:
    """Return the nodes of records or of one nested record of each row."""
    return [node for key, column in columns(rows).items() for node in _column(name(key), column, finder, prefix, depth)]


def columns(rows: Sequence[dict[str, Json]]) -> dict[str, Sequence[Any]]:
    """Turn records into columns, absent members as MISSING."""
    shapes = dict.fromkeys(map(tuple, rows))
    if len(shapes) == 1:
        return dict(zip(next(iter(shapes)), zip(*(row.values() for row in rows), strict=True), strict=True))
    keys = dict.fromkeys(chain.from_iterable(shapes))
    return {key: [row.get(key, MISSING) for row in rows] for key in keys}


def _column(label: str, column: Sequence[Any], finder: Finder, prefix: str, depth: int) -> list[Node]:
    kinds = set(map(type, column))
    if dict in kinds:
        return _records(label, column, kinds, finder, prefix, depth)
    if list in kinds:
        return _lists(label, column, kinds, finder, prefix, depth)
    return _scalars(label, column, kinds, finder, prefix)


def _scalars(label: str, column: Sequence[Any], kinds: set[type], finder: Finder, prefix: str) -> list[Node]:
    if str in kinds and len(column) > 1 and (text := _text(label, column)):
        rest = [MISSING if said is not None else value for said, value in zip(text.values, column, strict=True)]
        return [text] if all(value is MISSING for value in rest) else [Leaf(label, list(map(cell, rest))), text]
    if kinds == {str}:
        cells = texts(column)
    elif kinds == {int} or kinds == {float}:
        cells = list(map(repr, column))
    else:
        cells = list(map(cell, column))
    return [_said_once(label, cells, finder, prefix)]


def _text(label: str, column: Sequence[Any]) -> Text | None:
    """Return the long strings of a column, where it has any and they are not all the same."""
    values = [value if type(value) is str and len(value) > _LONG else None for value in column]
    if values.count(None) == len(values) or (values[0] is not None and values.count(values[0]) == len(values)):
        return None
    return Text(label, values)


def _said_once(label: str, cells: list[str], finder: Finder, prefix: str) -> Node:
    """Return a column as a constant or as another column's repetition where it is one."""
    first = cells[0]
    if first == cells[-1] and finder.count > 1 and first and cells.count(first) == len(cells):
        # A record's own state stays in its row even where all agree: it is what one asks of a record.
        apart = finder.constants and (prefix or label.lower() not in _STATES)
        return Constant(label, first) if apart else Leaf(label, cells)
    if finder.repeats and finder.count > 1:
        known = finder.seen.setdefault(tuple(cells), prefix + label)
        if known != prefix + label and sum(map(len, cells)) > len(known) + len(label) + 8:
            return Same(label, known)
    return Leaf(label, cells)


def _records(
    label: str, column: Sequence[Any], kinds: set[type], finder: Finder, prefix: str, depth: int
) -> list[Node]:
    """Return nested records as a group of columns, and what is not a record beside it as a column of the same name."""
    rows = [value if type(value) is dict else {} for value in column]
    if depth > _DEEP or _is_map(rows):
        return _maps(label, column, rows, finder, prefix, depth)
    nodes: list[Node] = []
    if kinds != {dict} or not all(rows):
        odd = [MISSING if type(value) is dict and value else value for value in column]
        if kinds != {dict, Missing} or not all(value is MISSING for value in odd):
            nodes.append(Leaf(label, list(map(cell, odd))))
    if not any(rows):
        return nodes
    return [*nodes, _group(label, rows, finder, prefix, depth, whole=not nodes)]


def _maps(
    label: str, column: Sequence[Any], rows: Sequence[dict[str, Json]], finder: Finder, prefix: str, depth: int
) -> list[Node]:
    """Return objects keyed by values: of records as rows under each row, of anything else as JSON."""
    items = [item for row in rows for item in row.values()]
    if depth > _DEEP or not all(type(item) is dict and item for item in items):
        return [_said_once(label, list(map(cell, column)), finder, prefix)]
    odd = [MISSING if row else value for row, value in zip(rows, column, strict=True)]
    nodes: list[Node] = [] if all(value is MISSING for value in odd) else [Leaf(label, list(map(cell, odd)))]
    inner = keyed([key for row in rows for key in row], items, finder, depth + 1)  # type: ignore[arg-type]
    return [*nodes, Items(label, inner, [len(row) or -1 for row in rows], keyed=True)]


def keyed(keys: list[str], records: Sequence[dict[str, Json]], finder: Finder, depth: int) -> Table:
    """Return records that are known by the names of the members they are."""
    inner = finder.within(len(records))
    cells = texts(keys)
    inner.seen[tuple(cells)] = KEY
    return Table(len(records), [Leaf(KEY, cells), *members(records, inner, "", depth)])


def _is_map(rows: Sequence[dict[str, Json]]) -> bool:
    """Tell an object keyed by values from a record: many different members, few of them in any one row."""
    present = [row for row in rows if row]
    keys = set(chain.from_iterable(present))
    if len(keys) <= _MAP or sum(map(len, present)) >= _FILLED * len(keys) * len(present):
        return False
    return len(keys) > _WIDE or all(type(item) is dict for row in present for item in row.values())


def _group(
    label: str, rows: Sequence[dict[str, Json]], finder: Finder, prefix: str, depth: int, *, whole: bool
) -> Node:
    if finder.repeats and finder.count > 1:
        dumps = [orjson.dumps(row) for row in rows]
        # Where an empty record stands beside absent ones, repeating the column would make them the same.
        known = finder.seen.setdefault(b"\n".join(dumps), prefix + label) if whole else prefix + label
        if known != prefix + label:
            return Same(label, known)
        if found := _lookup(label, rows, dumps, finder, depth):
            return found
    return Group(label, members(rows, finder, f"{prefix}{label}.", depth + 1))


def _lookup(
    label: str, rows: Sequence[dict[str, Json]], dumps: list[bytes], finder: Finder, depth: int
) -> Lookup | None:
    """Return records that come back as a lookup, where one of their members names them and enough is saved."""
    distinct = dict(zip(dumps, rows, strict=True))
    distinct.pop(b"{}", None)
    saved = sum(map(len, dumps)) - sum(map(len, distinct))
    if len(distinct) < 2 or saved < 400 or saved < 60 * len(rows):
        return None
    key = _identifier(list(distinct.values()))
    if key is None:
        return None
    cells = [cell(row.get(key, MISSING)) for row in rows]
    return Lookup(label, name(key), cells, table(list(distinct.values()), finder, depth + 1))


def _identifier(records: Sequence[dict[str, Json]]) -> str | None:
    """Return the member by which a person would name these records, if every record has it and no two share it."""
    for word in _NAMES:
        for key in records[0]:
            if not key.lower().endswith(word):
                continue
            values = [record.get(key) for record in records]
            if set(map(type, values)) in ({str}, {int}) and len(set(values)) == len(values):  # type: ignore[arg-type]
                return key
    return None


def _lists(label: str, column: Sequence[Any], kinds: set[type], finder: Finder, prefix: str, depth: int) -> list[Node]:
    lists = [value for value in column if type(value) is list]
    items = list(chain.from_iterable(lists))
    if depth > _DEEP or not items or set(map(type, items)) != {dict} or not all(items):
        return [_said_once(label, list(map(cell, column)), finder, prefix)]
    if column[0] == column[-1] and len(set(map(len, lists))) == 1:
        whole = _said_once(label, list(map(cell, column)), finder, prefix)
        if type(whole) is not Leaf:
            return [whole]
    nodes: list[Node] = []
    if kinds != {list} or not all(column):
        odd = [MISSING if type(value) is list and value else value for value in column]
        nodes = [] if all(value is MISSING for value in odd) else [Leaf(label, list(map(cell, odd)))]
    if set(map(len, lists)) <= {0, 1}:
        rows = [value[0] if type(value) is list and value else {} for value in column]
        return [*nodes, _group(f"{label}[0]", rows, finder, prefix, depth, whole=not nodes)]
    if pair := _pair(lists, items):
        return [*nodes, _pivoted(label, column, pair, finder, prefix, depth)]
    if len(quoted(items)) < 60 + 16 * len(lists):
        return [_said_once(label, list(map(cell, column)), finder, prefix)]
    counts = [len(value) if type(value) is list and value else -1 for value in column]
    return [*nodes, Items(label, table(items, finder, depth + 1), counts)]


def _pair(
    lists: Sequence[list[dict[str, Json]]], items: Sequence[dict[str, Json]]
) -> tuple[str, str, list[str]] | None:
    """Return the names of key and value where the lists are maps written as lists, and all keys in order."""
    if len(items[0]) != 2 or len(lists) < 2 or len(set(map(frozenset, items))) != 1:
        return None
    key, value = items[0]
    if set(map(type, (item[key] for item in items))) != {str}:
        return None
    keys: dict[str, int] = {}
    for item in max(lists, key=len), *lists:
        for entry in item:
            keys.setdefault(entry[key], len(keys))  # type: ignore[arg-type]
    if len(keys) > _WIDE or 2 * len(items) < len(keys) * len(lists):
        return None
    for entries in lists:
        places = [keys[entry[key]] for entry in entries]  # type: ignore[index]
        if any(one >= other for one, other in zip(places, places[1:], strict=False)):
            return None
    return key, value, list(keys)


def _pivoted(
    label: str, column: Sequence[Any], pair: tuple[str, str, list[str]], finder: Finder, prefix: str, depth: int
) -> Group:
    key, value, keys = pair
    rows = [{entry[key]: entry[value] for entry in entries} if type(entries) is list else {} for entries in column]
    label = f"{label}[{name(key)}={name(value)}]"
    # Nothing is said once in here: where a list's element stands is told by its column.
    plain = Finder(repeats=False, constants=False, count=finder.count)
    nodes: list[Node] = []
    for step in keys:
        values = [row.get(step, MISSING) for row in rows]
        nodes += _column(name(step), values, plain, f"{prefix}{label}.", depth + 1)
    return Group(label, nodes)
