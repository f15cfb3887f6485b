"""Sort the parts of a table by where they are written: above the rows, in them, under them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from shaping.encoders.tabular.nodes import Constant, Group, Items, Leaf, Lookup, Same
from shaping.encoders.tabular.sparse import columns_of, has_gaps, settled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.encoders.tabular.nodes import Node, Table

Steps: TypeAlias = "tuple[str, ...]"
Under: TypeAlias = "list[tuple[Steps, Node, Layout | None]]"

EMPTY = "-"  # a row without any cell; as a value it is always quoted
NO_COLUMNS = "(no columns)"  # a header without any name, which must not look like a row


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
