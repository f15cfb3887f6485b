"""Find what a list of records consists of: columns, nested records and lists, and what need not be repeated."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import accumulate, chain
from types import NoneType
from typing import TYPE_CHECKING, Any

from shaping.encoders.table.arrange import arranged
from shaping.encoders.table.cells import (
    BELOW,
    KEY,
    MISSING,
    ONLY,
    VALUE,
    Members,
    Missing,
    cell,
    cells,
    name,
    opened,
    quoted,
    texts,
)
from shaping.encoders.table.derive import (
    ColumnPath,
    Records,
    TableContext,
    copied,
    repeated,
    said_once,
    templates,
    throughout,
)
from shaping.encoders.table.model import (
    REST,
    Also,
    Derived,
    Group,
    Items,
    Leaf,
    Node,
    Packed,
    Record,
    Table,
    Text,
)
from shaping.encoders.table.series import write_series
from shaping.encoders.table.shorten import as_float32, common_items, in_sentences, tagged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.response import Json

_DEEP = 24  # deeper nests are written as JSON: a header that deep reads worse than what it replaces
_LONG, _LONG_LINE = 100, 300  # characters of a string with line breaks or quotes, or of any, that stands below its row
_EMPTY = frozenset({NoneType, Missing})
_PLAIN = frozenset({str, int, bool, NoneType})
_JSON = frozenset("{[")
_LISTS, _ONE = frozenset({list, Missing}), frozenset({str, int, float, bool})


def table(
    rows: Sequence[dict[str, Json]], context: TableContext, depth: int = 0, breaks: Sequence[int] | None = ()
) -> Table:
    """Return the columns of records; `breaks` are those with which another list begins, None where all stand alone."""
    inner = context.within(len(rows))
    nodes = _members(Members(rows), inner, ColumnPath("", "", depth - 1))
    return arranged(nodes, inner, breaks)


def keyed(keys: list[str], records: Sequence[dict[str, Json]], context: TableContext) -> Table:
    """Return the columns of records that are members of an object, their names first."""
    inner = context.within(len(records))
    named = texts(keys)
    inner.known(named, KEY)
    nodes = _members(Members(records), inner, ColumnPath("", "", -1))
    found = arranged(nodes, inner)
    return replace(found, nodes=[Leaf(KEY, named), *found.nodes])


def keyed_scalars(value: dict[str, Json], context: TableContext) -> Table:
    """Return an object of scalars as two columns, the members' names and their values."""
    inner = context.within(len(value))
    names = list(value)
    key = Leaf(KEY, texts(names), strings=names)
    return arranged([key, *_column(list(value.values()), inner, ColumnPath(VALUE, VALUE, 0))], inner, ())


def _members(records: Members, context: TableContext, at: ColumnPath) -> list[Node]:
    """Return the nodes of records, or of a nested record of each row."""
    prefix = f"{at.path}." if at.label else ""
    rare = records.rare()
    found = records.columns(rare)
    derived = templates(found, prefix) if context.repeats and context.count > 1 else {}
    nodes: list[Node] = []
    for key, column in found.items():
        if key in derived:
            nodes.append(Derived(name(key), derived[key]))
        else:
            label = name(key)
            nodes += _column(column, context, ColumnPath(label, prefix + label, at.depth + 1))
    if rare:
        also = [",".join(f"{name(key)}={cell(row[key])}" for key in row if key in rare) for row in records.rows]
        nodes.append(Also(also))
    return nodes


def _column(column: list[Any], context: TableContext, at: ColumnPath) -> Sequence[Node]:
    kinds = set(map(type, column))
    if len(kinds) == 1:
        first = column[0]
        # Of other types equal values may be written differently: 1 is 1.0 and true.
        if type(first) in _PLAIN and first == column[-1] and column.count(first) == len(column):
            return (throughout(cell(first), len(column), context, at),)
        if type(first) is str:
            return _strings(column, context, at)
    if dict in kinds:
        # What is a record here and something else there is JSON throughout.
        usual = at.depth <= _DEEP and any(column) and kinds <= {dict, *_EMPTY}
        found = _records(column, kinds, context, at) if usual else []
    elif list in kinds:
        if context.repeats and context.count > 1 and (copy := _same_as_before(column, context, at)):
            return (copy,)
        found = _lists(column, kinds, context, at) if kinds <= {list, *_EMPTY} else []
    else:
        return _scalars(column, kinds, context, at)
    return found or [said_once(cells(column, kinds), context, at)]


def _same_as_before(column: list[Any], context: TableContext, at: ColumnPath) -> Derived | None:
    """Return a column of lists or long texts as a copy of one that was written before, where it is one."""
    known = context.known_values(column, at.path)
    if not known:
        return None
    present: list[Json] = [[] if value is MISSING else [value] for value in column]
    return copied(known, at) if len(quoted(present)) > _LONG else None


def _marks(column: list[Any]) -> list[str]:
    """Return the cells of values that stand below their rows; an empty one fits into its cell."""
    return ["" if value is MISSING else BELOW if value else quoted(value) for value in column]


def _records(column: list[Any], kinds: set[type], context: TableContext, at: ColumnPath) -> list[Node]:
    """Return nested records as a group of columns, or on lines of their own below the rows."""
    rows: Records = column if len(kinds) == 1 else [value if type(value) is dict else {} for value in column]
    records = Members(rows)
    if records.are_ragged():
        return [_as_json(column, kinds, context, at)]
    if not all(column):  # null or empty here and there
        present = [row for row in rows if row]
        return [Record(at.label, _marks(column), table(present, context, at.depth + 1, None))] if present else []
    return _group(records, context, at)


def _as_json(column: list[Any], kinds: set[type], context: TableContext, at: ColumnPath) -> Node:
    """Return nested values as JSON: in their cells, or below their rows where most are long."""
    node = said_once(cells(column, kinds), context, at)
    if type(node) is not Leaf or sum(map(len, node.cells)) < _LONG * len(node.cells):
        return node
    return _tagged(Text(at.label, node.cells, [one or None for one in node.cells], as_json=True), context)


def _group(records: Members, context: TableContext, at: ColumnPath) -> list[Node]:
    # Of one or two members, the columns themselves say whether they repeat.
    rows: Records = records.rows  # type: ignore[assignment]
    if not context.repeats or context.count < 2 or max(map(len, rows)) < 3:
        return [Group(at.label, _members(records, context, at))]
    if (known := context.known_values(rows, at.path)) and (copy := copied(known, at)):
        return [copy]
    return [Group(at.label, _members(records, context, at))]


def _lists(column: list[Any], kinds: set[type], context: TableContext, at: ColumnPath) -> list[Node]:
    """Return lists of one record as a group, of records as rows below each row, else as JSON."""
    lists = column if len(kinds) == 1 else [value if type(value) is list else [] for value in column]
    items = list(chain.from_iterable(lists))
    item_kinds = set(map(type, items))
    if kinds <= _LISTS and len(items) == len(lists) - column.count(MISSING) and item_kinds <= _ONE and all(column):
        only = [each[0] if each else MISSING for each in lists]
        return list(_column(only, context, ColumnPath(f"{at.label}{ONLY}", f"{at.path}{ONLY}", at.depth)))
    if at.depth > _DEEP or not items or item_kinds != {dict} or not all(items):
        return _plain_lists(column, kinds, context, at)
    if len(kinds) == 1 and column[0] == column[-1]:
        whole = said_once(cells(column, kinds), context, at)
        if type(whole) is not Leaf:
            return [whole]
    present = [each for each in lists if each]
    if max(map(len, present)) == 1 and all(column):
        rows = Members([each[0] if each else {} for each in lists])
        return _group(rows, context, ColumnPath(f"{at.label}{ONLY}", f"{at.path}{ONLY}", at.depth))
    counts = list(map(len, lists))
    inner = table(items, context, at.depth + 1, list(accumulate(counts, initial=0))[:-1])
    return [Items(at.label, _marks(column), inner, counts)]


def _plain_lists(column: list[Any], kinds: set[type], context: TableContext, at: ColumnPath) -> list[Node]:
    """Return lists of scalars as JSON: what all have is written once, and so are long ones that recur."""
    node = said_once(cells(column, kinds), context, at)
    if type(node) is not Leaf or not context.repeats:
        return [node]
    if kinds == {list} and (common := common_items(column, ordered=context.lossless)):
        shared, rest = common
        short = [f"{REST}{quoted(each) if each else ''}" for each in rest]
        return [Leaf(at.label, short, shared=shared)]
    if context.count > 1 and (long := _series(column)):
        marks = [BELOW if text else one for text, one in zip(long, node.cells, strict=True)]
        return [Text(at.label, marks, long, as_series=True)]
    if max(map(len, node.cells)) <= _LONG:
        return [node]
    counts = Counter(one for one in node.cells if len(one) > _LONG)
    long = [one if counts[one] > 1 or len(one) > _LONG_LINE else None for one in node.cells]
    if not any(long):
        return [node]
    return [_tagged(Text(at.label, node.cells, long, as_json=True), context)]


def _series(column: list[Any]) -> list[str | None]:
    """Return the lists of a column that are series, or nothing where none is."""
    found = [write_series(value) if type(value) is list else None for value in column]
    return found if any(found) else []


def _tagged(text: Text, context: TableContext) -> Text:
    """Return long values with tags for those that recur: each is written below the first of its rows."""
    counts = Counter(value for value in text.values if value is not None)
    often = [value for value, times in counts.items() if times > 1] if context.repeats else []
    # A tag of this column's own: what another column has is written below other rows.
    tags = {value: context.tag(f"{len(context.tagged)} {value}") for value in often}
    written: set[str] = set()
    marks, values = text.cells.copy(), text.values.copy()
    for row, value in enumerate(values):
        if value is None:
            continue
        if value in written and value in tags:
            marks[row], values[row] = tags[value], None
        else:
            marks[row] = BELOW
            written.add(value)
    return Text(text.name, marks, values, tags, text.as_json)


def _long_ones(column: list[Any]) -> set[str]:
    """Return the strings of a column that are better read below their rows: long ones, and those that recur."""
    long = [value for value in column if type(value) is str and len(value) > _LONG]
    if not long:
        return set()
    counts = Counter(long)
    return {
        text for text, times in counts.items() if times > 1 or len(text) > _LONG_LINE or "\n" in text or '"' in text
    }


def _strings(column: list[str], context: TableContext, at: ColumnPath) -> Sequence[Node]:
    """Return a column of strings that are not all the same."""
    may_be_json = column[0][:1] in _JSON and not context.lossless and sum(map(len, column)) >= _LONG
    # The members may come in another order too.
    if may_be_json and (found := opened(column, exact=False)):
        form, values = found
        return (*_column(values, context, at), Packed(at.label, form))
    distinct = set(column)
    if context.count > 1 and max(map(len, distinct)) > _LONG and _long_ones(column):
        return _with_long(column, context, at)
    cells = texts(column, distinct)
    node = repeated(cells, context, at)
    if type(node) is Leaf:
        node.strings = column
        node.known = distinct if cells is column else None
    return (node,)


def _scalars(column: list[Any], kinds: set[type], context: TableContext, at: ColumnPath) -> Sequence[Node]:
    """Return a column of any scalars."""
    if str in kinds and context.count > 1 and _long_ones(column):
        return _with_long(column, context, at)
    if context.repeats and float in kinds and (short := as_float32(column, kinds)):
        return (Leaf(at.label, cells(short, kinds), float32=True),)
    return (said_once(cells(column, kinds), context, at),)


def _with_long(column: list[Any], context: TableContext, at: ColumnPath) -> Sequence[Node]:
    """Return the long strings of a column as text below the rows, and what else it has in them."""
    if context.repeats and (copy := _same_as_before(column, context, at)):
        return (copy,)
    lines = [value if type(value) is str and "\n" not in value else "" for value in column]
    said, legends = in_sentences(lines, context) if context.repeats else ({}, [])
    which = _long_ones([MISSING if row in said else value for row, value in enumerate(column)])
    long = [value if type(value) is str and value in which else None for value in column]
    rest = [value if text is None else MISSING for text, value in zip(long, column, strict=True)]
    short = cells(rest, set(map(type, rest)))
    if context.repeats:
        short, legends = tagged(short, said, legends, context)
        long = [None if row in said else text for row, text in enumerate(long)]
    return (*legends, _tagged(Text(at.label, short, long), context))
