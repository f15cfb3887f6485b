"""Sort the parts of a table by where they are written: above the rows, in them, under them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count as counter
from typing import TYPE_CHECKING, TypeAlias

from shaping.encoders.table.model import Constant, Group, Items, Leaf, Lookup, Same

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shaping.encoders.table.model import Node, Table

Steps: TypeAlias = "tuple[str, ...]"
Under: TypeAlias = "list[tuple[Steps, Node, Layout | None]]"

EMPTY = "-"  # a row without any cell; as a value it is always quoted
NO_COLUMNS = "(no columns)"  # a header without any name, which must not look like a row

_GAP = 5  # empty cells side by side that a reader still counts right
_EMPTIES = "," * (_GAP + 1)  # a row may begin with them
_GAP_IN_BYTES = b"\0" * (_GAP + 1)
_MOSTLY = 0.5  # of the rows that must have a member for its column to keep its place


@dataclass(slots=True)
class Layout:
    """What is written of a table."""

    rows: list[str]
    also: list[str]  # for each row what it has behind a gap, by name; or nothing
    header: list[str] = field(default_factory=list)
    fixed: list[str] = field(default_factory=list)  # what holds for all rows
    # What does not stand in the row, each with its path from the row and the layout of its own rows.
    under: Under = field(default_factory=list)


def lay_out(table: Table) -> Layout:
    """Return how a table is written."""
    nodes = table.nodes
    also: list[str] = []
    cells = columns_of(nodes)
    rows = _rows(cells, table.count)
    if has_gaps(cells, rows):
        nodes, also = settled(nodes, table.count)
        rows = _rows(columns_of(nodes), table.count)
    layout = Layout(rows, also)
    layout.header, layout.fixed = _place(nodes, (), layout.under)
    return layout


def _rows(cells: list[list[str]], count: int) -> list[str]:
    if not cells:
        return [EMPTY] * count
    rows = list(map(",".join, zip(*cells, strict=True)))
    return rows if all(cells[-1]) else [row.rstrip(",") or EMPTY for row in rows]


def _place(nodes: Sequence[Node], prefix: Steps, under: Under) -> tuple[list[str], list[str]]:
    """Return what is said in the header and above it; add what does not stand in the row."""
    header: list[str] = []
    fixed: list[str] = []
    for node in nodes:
        if type(node) is Leaf:
            header.append(node.name)
        elif type(node) is Constant:
            fixed.append(f"{node.name}={node.cell}")
        elif type(node) is Same:
            fixed.append(f"{node.name}=={node.source}")
        elif type(node) is Group:
            inner, inner_fixed = _place(node.nodes, (*prefix, node.name), under)
            header += _nested(node.name, inner)
            fixed += _nested(node.name, inner_fixed)
        else:
            inside = lay_out(node.table) if type(node) is Items or type(node) is Lookup else None
            under.append(((*prefix, node.name), node, inside))
    return header, fixed


def _nested(name: str, inner: list[str]) -> list[str]:
    if len(inner) < 2:
        return [f"{name}.{one}" for one in inner]
    return [f"{name}{{{','.join(inner)}}}"]


def has_gaps(columns: Sequence[list[str]], rows: Sequence[str]) -> bool:
    """Tell whether a row of these cells, as it is written, could have a gap that a reader would miscount."""
    return sum(not all(column) for column in columns) > _GAP and _EMPTIES in "\n".join(rows)


def settled(nodes: Sequence[Node], count: int) -> tuple[list[Node], list[str]]:
    """Return the nodes of a table with seldom filled columns last, and for each row what is still behind a gap."""
    often, seldom = _split(nodes, count)
    ordered = [*often, *(node for _, node in seldom)]
    columns = columns_of(ordered)
    cuts = {at: cut for at, row in enumerate(zip(*columns, strict=True)) if (cut := _cut(row)) >= 0}
    if not cuts:
        return ordered, []
    first = min(cuts.values())
    behind = _behind(ordered, first, counter())
    told = [",".join(_named(behind, row, cuts[row], counter(first))) if row in cuts else "" for row in range(count)]
    return _without(ordered, cuts, first, counter()), told


def columns_of(nodes: Sequence[Node]) -> list[list[str]]:
    """Return the cells of a table, column by column."""
    columns: list[list[str]] = []
    for node in nodes:
        if type(node) is Leaf:
            columns.append(node.cells)
        elif type(node) is Group:
            columns += columns_of(node.nodes)
    return columns


def _cut(row: tuple[str, ...]) -> int:
    """Return the column where the first gap of a row begins, or -1 where it has none, as most have not."""
    if _EMPTIES not in ",".join(row):
        return -1
    return bytes(map(bool, row)).rstrip(b"\0").find(_GAP_IN_BYTES)


def _split(nodes: Sequence[Node], count: int) -> tuple[list[Node], list[tuple[int, Node]]]:
    """Return the nodes that most rows have something for, and the others with for how many, the fullest first."""
    often: list[Node] = []
    seldom: list[tuple[int, Node]] = []
    for node in nodes:
        # The columns of a list that is written as a map are its order.
        if type(node) is Group and "=" not in node.name:
            some, others = _split(node.nodes, count)
            often += [Group(node.name, some)] if some else []
            seldom += [(others[0][0], Group(node.name, [other for _, other in others]))] if others else []
            continue
        filled = _filled(node, count)
        if filled < _MOSTLY * count:
            seldom.append((filled, node))
        else:
            often.append(node)
    return often, sorted(seldom, key=lambda one: -one[0])


def _filled(node: Node, count: int) -> int:
    """Count the rows that have something in the fullest column of a node; what is no column is said in all."""
    if type(node) is Leaf:
        return count - node.cells.count("")
    return max((_filled(part, count) for part in node.nodes), default=count) if type(node) is Group else count


def _behind(nodes: Sequence[Node], first: int, at: Iterator[int]) -> list[Node]:
    """Return the columns from one on, in their groups."""
    kept: list[Node] = []
    for node in nodes:
        if type(node) is Leaf and next(at) >= first:
            kept.append(node)
        elif type(node) is Group and (inner := _behind(node.nodes, first, at)):
            kept.append(Group(node.name, inner))
    return kept


def _named(nodes: Sequence[Node], row: int, cut: int, at: Iterator[int]) -> Iterator[str]:
    """Return the cells of a row from a column on, each with its name."""
    for node in nodes:
        if type(node) is Leaf:
            if next(at) >= cut and node.cells[row]:
                yield f"{node.name}={node.cells[row]}"
        elif type(node) is Group and (inner := list(_named(node.nodes, row, cut, at))):
            yield f"{node.name}.{inner[0]}" if len(inner) == 1 else f"{node.name}{{{','.join(inner)}}}"


def _without(nodes: Sequence[Node], cuts: dict[int, int], first: int, at: Iterator[int]) -> list[Node]:
    """Return the nodes without the cells behind a row's cut, and without columns that are empty then."""
    kept: list[Node] = []
    for node in nodes:
        if type(node) is Leaf:
            if (index := next(at)) < first:
                kept.append(node)
                continue
            cells = node.cells.copy()
            for row in [row for row, cut in cuts.items() if cut <= index]:
                cells[row] = ""
            kept += [Leaf(node.name, cells)] if any(cells) else []
        elif type(node) is Group:
            kept.append(Group(node.name, _without(node.nodes, cuts, first, at)))
        else:
            kept.append(node)
    return kept
