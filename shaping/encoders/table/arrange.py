"""Put a table's columns in the order a reader wants them, and keep its rows short enough to count."""

from __future__ import annotations

from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING

from shaping.encoders.table.cells import BELOW
from shaping.encoders.table.model import COLUMN, Also, Group, Items, Leaf, Node, Record, Table, Text, Usual, leaves
from shaping.encoders.table.sections import in_sections, usual
from shaping.encoders.table.shorten import SHARED_ROWS, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shaping.encoders.table.derive import TableContext

_IDENTIFIERS = ("id", "number", "key", "name", "uid", "uuid", "sha", "slug", "login", "path", "file", "address")
_WIDE = 22  # cells of a row that a reader still counts right
_LEFT = 2  # cells that must stay in a row when a nested record leaves it
_GAP = 5  # empty cells side by side that a reader still counts right
_WORTH = 5  # columns that a nested record must have to be worth a line of its own
_COLUMNS = (*COLUMN, Also, Usual)
_WITH_GROUPS = (*COLUMN, Group)
_IN_ROWS = frozenset({Leaf, Group})
_SELDOM = 0.5  # of the rows: a column that fewer fill comes last


def arranged(nodes: Sequence[Node], context: TableContext, breaks: Sequence[int] | None = None) -> Table:
    """Return a table: the identifying column first, seldom filled ones last, and few enough to count.

    `breaks` are the rows with which another list begins; without them, each row stands alone.
    """
    rows, columns, sections = context.count, list(leaves(nodes)), list[str]()
    changed = usual(columns, rows) if context.constants else {}
    if context.constants and context.repeats and breaks is not None:
        rest = [(path, leaf) for path, leaf in columns if id(leaf) not in changed]
        taken, said = in_sections(rest, rows, breaks)
        both = {**changed, **taken}
        # A row with nothing left in it helps nobody to count.
        if taken and any(type(new) in _IN_ROWS for node in nodes for new in both.get(id(node), (node,))):
            changed, sections = both, said
    if context.repeats and rows >= SHARED_ROWS:
        changed |= {
            id(leaf): shortened(leaf, context)
            for _, leaf in columns
            if leaf.strings is not None and id(leaf) not in changed
        }
    return Table(rows, _narrowed(_ordered(nodes, rows, changed)[0]), sections)


def columns_of(nodes: Sequence[Node]) -> list[list[str]]:
    """Return the cells of a table, column by column."""
    found: list[list[str]] = []
    for node in nodes:
        if isinstance(node, COLUMN):
            found.append(node.cells)
        elif type(node) is Group:
            found += columns_of(node.nodes)
    return found


def _ordered(nodes: Sequence[Node], count: int, changed: Mapping[int, Sequence[Node]]) -> tuple[list[Node], int]:
    """Return nodes with the identifying one first, and those last that few rows have, the fullest of them first.

    `changed` has other ones in place of some columns, by their identity. Beside them, how many rows have something in
    the fullest; -1 where no node has cells.
    """
    ordered: list[Node] = []
    filled: list[int] = []
    for node in nodes:
        if type(node) is Group:
            inner, rows = _ordered(node.nodes, count, changed)
            ordered.append(Group(node.name, inner))
            filled.append(rows)
            continue
        for new in changed.get(id(node), (node,)):
            ordered.append(new)
            filled.append(count - new.cells.count("") if isinstance(new, COLUMN) else -1)
    first, often, most = _identifier(ordered, count), _SELDOM * count, max(filled, default=-1)
    if first is None and not any(0 <= rows < often for rows in filled):
        return ordered, most
    # What has no cells stays where it is.
    keys = [-often if rows < 0 else -min(rows, often) for rows in filled]
    places = sorted(range(len(ordered)), key=lambda at: (keys[at], ordered[at] is not first))
    return [ordered[at] for at in places], most


def _identifier(nodes: Sequence[Node], count: int) -> Node | None:
    """Return the column that identifies a row, where it is not the first anyway."""
    first = next((node for node in nodes if isinstance(node, _WITH_GROUPS)), None)
    if first is None or (type(first) is Leaf and _identifies(first, count)):
        return None
    leaves = {node.name.lower(): node for node in reversed(nodes) if type(node) is Leaf}
    known = (leaves[name] for name in _IDENTIFIERS if name in leaves)
    return next((leaf for leaf in known if _identifies(leaf, count)), None)


def _identifies(leaf: Leaf, count: int) -> bool:
    return len(leaf.distinct) == count and "" not in leaf.distinct


def _narrowed(nodes: list[Node]) -> list[Node]:
    """Return nodes with wide nested records on lines of their own: those that leave gaps, and all that are too many."""
    sizes = [len(columns_of(node.nodes)) if type(node) is Group else 0 for node in nodes]
    if max(sizes, default=0) < _WORTH:
        return nodes
    total = sum(sizes) + sum(isinstance(node, COLUMN) for node in nodes)
    moved: dict[int, list[Node]] = {}
    for at in sorted(range(len(nodes)), key=lambda at: -sizes[at]):
        node = nodes[at]
        if type(node) is not Group or sizes[at] < _WORTH:
            continue
        present = _present(node)
        if total - sizes[at] < _LEFT and all(present):
            # A row with nothing left in it helps nobody to count.
            moved[at] = [Group(node.name, _narrowed(node.nodes))]
        elif total > _WIDE or (sizes[at] > _GAP and not all(present)):
            moved[at] = _on_its_own_line(node, present)
            total -= sizes[at] - 1
    return [part for at, node in enumerate(nodes) for part in moved.get(at, (node,))]


def _present(group: Group) -> list[bool]:
    """Return for each row whether it has anything in a group."""
    rows = zip(*columns_of(group.nodes), *_also(group), strict=True)
    return list(map(any, rows))


def _also(group: Group) -> list[list[str]]:
    return [
        rows
        for node in group.nodes
        for rows in ([node.rows] if type(node) is Also else _also(node) if type(node) is Group else ())
    ]


def _on_its_own_line(group: Group, present: list[bool]) -> list[Node]:
    """Return a nested record of each row as rows of a table of its own; what holds for all stays said of the row."""
    inside = [_picked(node, present) for node in group.nodes if _has_cells(node)]
    outside = _without_cells(group)
    marks = [BELOW if there else "" for there in present]
    record = Record(group.name, marks, Table(sum(present), _narrowed(inside)))
    return [record, outside] if outside.nodes else [record]


def _has_cells(node: Node) -> bool:
    return isinstance(node, _COLUMNS) or (type(node) is Group and any(map(_has_cells, node.nodes)))


def _without_cells(group: Group) -> Group:
    inner = [_without_cells(node) if type(node) is Group else node for node in group.nodes]
    kept: list[Node] = [
        node for node in inner if not isinstance(node, _COLUMNS) and not (type(node) is Group and not node.nodes)
    ]
    return Group(group.name, kept)


def _picked(node: Node, rows: list[bool]) -> Node:
    """Return a column of only some rows: the others have nothing in it."""
    if type(node) is Group:
        return Group(node.name, [_picked(inner, rows) for inner in node.nodes if _has_cells(inner)])
    if isinstance(node, Also | Usual):
        return replace(node, rows=list(compress(node.rows, rows)))
    if not isinstance(node, COLUMN):
        return node
    cells = list(compress(node.cells, rows))
    if type(node) is Text:
        return replace(node, cells=cells, values=list(compress(node.values, rows)))
    if type(node) is Items:
        return replace(node, cells=cells, counts=list(compress(node.counts, rows)))
    return replace(node, cells=cells)
