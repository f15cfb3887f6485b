"""Find what a list of records consists of: columns, groups of them, lists inside, what comes back."""

from __future__ import annotations

from collections import Counter
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from shaping.encoders.table.cells import KEY, MISSING, Missing, cell, cells, name, quoted, texts
from shaping.encoders.table.columns import are_maps, columns
from shaping.encoders.table.dedupe import MANY, ColumnPath, Finder, given, repeated, said_once, throughout, told_once
from shaping.encoders.table.model import Group, Items, Leaf, Lookup, Node, Same, Table, Text

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from shaping.encoders.table.dedupe import Records, Told
    from shaping.response import Json

_DEEP = 24  # deeper nests are written as JSON: a header that deep reads worse than what it replaces
_LONG = 100  # a string longer than this stands under its row
_MOST = 24  # different keys from which entries are better read as rows of their own
_LEAST = 7  # characters of JSON of a record with a member, and a comma


def table(rows: Sequence[dict[str, Json]], finder: Finder, depth: int = 0) -> Table:
    """Return the columns of records."""
    nodes = _members(rows, finder.within(len(rows)), ColumnPath("", "", depth - 1))
    tell = finder.repeats and not finder.near and len(rows) >= MANY
    return Table(len(rows), given(nodes) if tell else nodes)


def keyed(keys: list[str], records: Sequence[dict[str, Json]], finder: Finder, depth: int = 0) -> Table:
    """Return the columns of records that are members of an object, their names first."""
    inner = finder.within(len(records))
    named = texts(keys, ",".join(keys))
    inner.known(named, KEY)
    return Table(len(records), [Leaf(KEY, named), *_members(records, inner, ColumnPath("", "", depth - 1))])


def _members(
    rows: Sequence[dict[str, Json]], finder: Finder, spot: ColumnPath, without: Collection[str] = ()
) -> list[Node]:
    """Return the nodes of records, or of a nested record of each row."""
    prefix = f"{spot.path}." if spot.label else ""
    if not all(rows) and any(rows):
        rows, finder = [row for row in rows if row], finder.among(rows)
    return [
        node
        for key, column in columns(rows).items()
        if key not in without
        for node in _column(column, finder, ColumnPath(name(key), prefix, spot.depth + 1))
    ]


def _column(column: list[Any], finder: Finder, spot: ColumnPath) -> Sequence[Node]:
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


def _records(column: list[Any], kinds: set[type], finder: Finder, spot: ColumnPath) -> list[Node]:
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


def _group(rows: Records, finder: Finder, spot: ColumnPath, *, whole: bool) -> list[Node]:
    # Of one or two members, the columns themselves say whether they repeat.
    if finder.repeats and finder.count > 1 and max(map(len, rows)) > 2:
        # Where an empty record stands beside absent ones, repeating the column would make them the same.
        if whole and (known := finder.known_records(rows, spot.path)):
            return [Same(spot.label, known)]
        if told := told_once(rows, near=finder.near):
            return _lookup(rows, told, finder, spot)
    return [Group(spot.label, _members(rows, finder, spot))]


def _lookup(rows: Records, told: Told, finder: Finder, spot: ColumnPath) -> list[Node]:
    """Return records that come back with their long members told once, by the member that names them."""
    key = name(told.key)
    named = Leaf(key, [cell(row.get(told.key, MISSING)) for row in rows])
    beside = _members(rows, finder, spot, without={told.key, *told.far})
    found = table(told.records, finder, spot.depth + 1)
    return [Group(spot.label, [named, *beside]), Lookup(spot.label, key, found)]


def _lists(column: list[Any], kinds: set[type], finder: Finder, spot: ColumnPath) -> list[Node]:
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


def _pivoted(lists: Sequence[list[dict[str, Json]]], pairs: Pairs, finder: Finder, spot: ColumnPath) -> Group | None:
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


def plain(column: list[Any], finder: Finder, spot: ColumnPath) -> Sequence[Node]:
    """Return a column of strings or of nulls alone, as most are, or nothing: no need to look at each type."""
    first = column[0]
    if first is not None and type(first) is not str:
        return ()
    if first == column[-1] and not finder.spread and column.count(first) == len(column):
        return (throughout(cell(first), len(column), finder, spot),)
    try:
        joined = ",".join(column)
    except TypeError:
        return ()
    if len(joined) > _LONG and finder.count > 1 and max(map(len, column)) > _LONG:
        return _with_long(column, finder, spot)
    return (repeated(texts(column, joined), finder, spot),)


def scalars(column: list[Any], kinds: set[type], finder: Finder, spot: ColumnPath) -> Sequence[Node]:
    """Return a column of any scalars."""
    if str in kinds and finder.count > 1 and any(type(value) is str and len(value) > _LONG for value in column):
        return _with_long(column, finder, spot)
    return (said_once(cells(column, kinds), finder, spot),)


def _with_long(column: list[Any], finder: Finder, spot: ColumnPath) -> Sequence[Node]:
    """Return the long strings of a column as text under the rows, and what else it has in them."""
    long = [value if type(value) is str and len(value) > _LONG else None for value in column]
    text = Text(spot.label, finder.full(long, None), finder.repeats)
    rest = [value if said is None else MISSING for said, value in zip(long, column, strict=True)]
    if rest.count(MISSING) == len(rest):
        return (text,)
    return (Leaf(spot.label, finder.full(cells(rest, set(map(type, rest))), "")), text)


def long_lists(node: Node, finder: Finder) -> list[Node]:
    """Return a column of lists with the long ones that come back under their rows, each said once."""
    if type(node) is not Leaf or not finder.repeats:
        return [node]
    counts = Counter(cell for cell in node.cells if len(cell) > _LONG)
    if counts.total() == len(counts):
        return [node]
    long = [cell if counts[cell] > 1 else None for cell in node.cells]
    rest = ["" if said else cell for said, cell in zip(long, node.cells, strict=True)]
    text = Text(node.name, long, as_json=True)
    return [Leaf(node.name, rest), text] if any(rest) else [text]


class Pairs(NamedTuple):
    """The names of an entry's key and value, and all keys in the order they come."""

    key: str
    value: str
    keys: list[str]


def pairs_of(lists: Sequence[list[dict[str, Any]]], entries: Sequence[dict[str, Any]]) -> Pairs | None:
    """Return how lists are maps, where each has its entries once, in one order, and most have most."""
    if len(lists) < 2 or set(map(len, entries)) != {2}:
        return None
    key, value = entries[0]
    if any(key not in entry or value not in entry or type(entry[key]) is not str for entry in entries):
        return None
    # Most lists have the same keys, so that few orders need a look.
    orders = dict.fromkeys(tuple([entry[key] for entry in each]) for each in (max(lists, key=len), *lists))
    places = {one: at for at, one in enumerate(dict.fromkeys(chain.from_iterable(orders)))}
    if len(places) > _MOST or 2 * len(entries) < len(places) * len(lists):
        return None
    in_order = all(_in_order([places[one] for one in order]) for order in orders)
    return Pairs(key, value, list(places)) if in_order else None


def _in_order(places: list[int]) -> bool:
    return all(one < other for one, other in pairwise(places))
