"""Find what a list of records consists of: columns, groups of them, lists inside, what comes back."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from shaping.encoders.tabular.cells import KEY, MISSING, Missing, cell, cells, name, quoted, texts
from shaping.encoders.tabular.columns import are_maps, columns
from shaping.encoders.tabular.given import MANY, given
from shaping.encoders.tabular.lookup import told_once
from shaping.encoders.tabular.nodes import Group, Items, Leaf, Lookup, Node, Same, Table, Text
from shaping.encoders.tabular.once import Finder, Spot, said_once
from shaping.encoders.tabular.pairs import pairs_of
from shaping.encoders.tabular.scalars import long_lists, plain, scalars

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from shaping.encoders.tabular.lookup import Told
    from shaping.encoders.tabular.once import Records
    from shaping.encoders.tabular.pairs import Pairs
    from shaping.response import Json

_DEEP = 24  # deeper nests are written as JSON: a header that deep reads worse than what it replaces
_LEAST = 7  # characters of JSON of a record with a member, and a comma


def table(rows: Sequence[dict[str, Json]], finder: Finder, depth: int = 0) -> Table:
    """Return the columns of records."""
    nodes = _members(rows, finder.within(len(rows)), Spot("", "", depth - 1))
    tell = finder.repeats and not finder.near and len(rows) >= MANY
    return Table(len(rows), given(nodes) if tell else nodes)


def keyed(keys: list[str], records: Sequence[dict[str, Json]], finder: Finder, depth: int = 0) -> Table:
    """Return the columns of records that are members of an object, their names first."""
    inner = finder.within(len(records))
    named = texts(keys, ",".join(keys))
    inner.known(named, KEY)
    return Table(len(records), [Leaf(KEY, named), *_members(records, inner, Spot("", "", depth - 1))])


def _members(rows: Sequence[dict[str, Json]], finder: Finder, spot: Spot, without: Collection[str] = ()) -> list[Node]:
    """Return the nodes of records, or of a nested record of each row."""
    prefix = f"{spot.path}." if spot.label else ""
    if not all(rows) and any(rows):
        rows, finder = [row for row in rows if row], finder.among(rows)
    return [
        node
        for key, column in columns(rows).items()
        if key not in without
        for node in _column(column, finder, Spot(name(key), prefix, spot.depth + 1))
    ]


def _column(column: list[Any], finder: Finder, spot: Spot) -> Sequence[Node]:
    if nodes := plain(column, finder, spot):
        return nodes
    kinds = set(map(type, column))
    if dict not in kinds and list not in kinds:
        return scalars(column, kinds, finder, spot)
    if finder.spread:
        column, kinds, finder = finder.full(column, MISSING), {*kinds, Missing}, finder.throughout()
    return (_records if dict in kinds else _lists)(column, kinds, finder, spot)


def _odd(column: list[Any], nested: list[Any], label: str) -> list[Node]:
    """Return what stands where most rows have a record or a list as a column of the same name."""
    if all(nested):
        return []
    odd = [MISSING if usual else value for usual, value in zip(nested, column, strict=True)]
    return [] if odd.count(MISSING) == len(odd) else [Leaf(label, cells(odd, set(map(type, odd))))]


def _records(column: list[Any], kinds: set[type], finder: Finder, spot: Spot) -> list[Node]:
    """Return nested records as a group of columns, and maps of records as rows under each row."""
    rows: Records = column if len(kinds) == 1 else [value if type(value) is dict else {} for value in column]
    if spot.depth > _DEEP or not any(rows):
        return [said_once(cells(column, kinds), finder, spot)]
    nodes = _odd(column, rows, spot.label)
    if not are_maps(rows):
        return [*nodes, *_group(rows, finder, spot, whole=not nodes)]
    items = [item for row in rows for item in row.values()]
    if not all(type(item) is dict and item for item in items):
        return [said_once(cells(column, kinds), finder, spot)]
    inner = keyed([key for row in rows for key in row], items, finder, spot.depth + 1)
    return [*nodes, Items(spot.label, inner, [len(row) or -1 for row in rows], keyed=True)]


def _group(rows: Records, finder: Finder, spot: Spot, *, whole: bool) -> list[Node]:
    # Of one or two members, the columns themselves say whether they repeat.
    if finder.repeats and finder.count > 1 and max(map(len, rows)) > 2:
        # Where an empty record stands beside absent ones, repeating the column would make them the same.
        if whole and (known := finder.known_records(rows, spot.path)):
            return [Same(spot.label, known)]
        if told := told_once(rows, near=finder.near):
            return _lookup(rows, told, finder, spot)
    return [Group(spot.label, _members(rows, finder, spot))]


def _lookup(rows: Records, told: Told, finder: Finder, spot: Spot) -> list[Node]:
    """Return records that come back with their long members told once, by the member that names them."""
    key = name(told.key)
    named = Leaf(key, [cell(row.get(told.key, MISSING)) for row in rows])
    beside = _members(rows, finder, spot, without={told.key, *told.far})
    found = table(told.records, finder, spot.depth + 1)
    return [Group(spot.label, [named, *beside]), Lookup(spot.label, key, found)]


def _lists(column: list[Any], kinds: set[type], finder: Finder, spot: Spot) -> list[Node]:
    """Return lists of one record as a group, of entries as a group, of records as rows under each row, else as JSON."""
    lists = column if len(kinds) == 1 else [value if type(value) is list else [] for value in column]
    items = list(chain.from_iterable(lists))
    if spot.depth > _DEEP or not items or set(map(type, items)) != {dict} or not all(items):
        return long_lists(said_once(cells(column, kinds), finder, spot), finder)
    if len(kinds) == 1 and column[0] == column[-1]:
        whole = said_once(cells(column, kinds), finder, spot)
        if type(whole) is not Leaf:
            return [whole]
    nodes = _odd(column, lists, spot.label)
    present = [each for each in lists if each]
    if max(map(len, present)) == 1:
        rows = [each[0] if each else {} for each in lists]
        return [*nodes, *_group(rows, finder, spot._replace(label=f"{spot.label}[0]"), whole=not nodes)]
    if (pairs := pairs_of(present, items)) and (pivoted := _pivoted(lists, pairs, finder, spot)):
        return [*nodes, pivoted]
    worth = 60 + 16 * len(present)
    if _LEAST * len(items) < worth and len(quoted(items)) < worth:
        return [said_once(cells(column, kinds), finder, spot)]
    return [*nodes, Items(spot.label, table(items, finder, spot.depth + 1), [len(each) or -1 for each in lists])]


def _pivoted(lists: Sequence[list[dict[str, Json]]], pairs: Pairs, finder: Finder, spot: Spot) -> Group | None:
    """Return lists of entries as a group with a column for each key, where that keeps their order."""
    rows = [{entry[pairs.key]: entry[pairs.value] for entry in each} for each in lists]
    here = spot._replace(label=f"{spot.label}[{name(pairs.key)}={name(pairs.value)}]")
    # Nothing is said once in here: where a list's element stands is told by its column.
    plain = Finder(repeats=False, constants=False, count=finder.count)
    nodes: list[Node] = []
    last = 0
    for key in pairs.keys:
        found = _column([row.get(key, MISSING) for row in rows], plain, here.inside(name(key)))
        places = sorted(map(_place, found))
        if places[0] < last:
            return None
        nodes += found
        last = places[-1]
    return Group(here.label, nodes)


def _place(node: Node) -> int:
    """Return when something of a row is read: its cells, then lists, then texts."""
    if type(node) is Group:
        return max(map(_place, node.nodes))
    return (Items, Text).index(type(node)) + 1 if type(node) in (Items, Text) else 0
