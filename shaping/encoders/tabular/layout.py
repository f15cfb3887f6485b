"""Sort the parts of a table by where they are written: above the rows, in them, under them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from shaping.encoders.tabular.nodes import Constant, Group, Items, Leaf, Lookup, Same
from shaping.encoders.tabular.sparse import has_gaps, settled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.encoders.tabular.nodes import Node, Table

Steps: TypeAlias = "tuple[str, ...]"


@dataclass(slots=True)
class Layout:
    """What is written of a table."""

    count: int
    header: list[str] = field(default_factory=list)
    fixed: list[str] = field(default_factory=list)  # what holds for all rows
    cells: list[list[str]] = field(default_factory=list)  # column by column
    # What does not stand in the row, each with its path from the row and the layout of its own rows.
    under: list[tuple[Steps, Node, Layout | None]] = field(default_factory=list)
    also: list[str] = field(default_factory=list)  # for each row what it has behind a gap, by name


def lay_out(table: Table) -> Layout:
    """Return how a table is written."""
    layout = _laid_out(table.nodes, table.count)
    if not has_gaps(layout.cells):
        return layout
    nodes, also = settled(table.nodes, table.count)
    layout = _laid_out(nodes, table.count)
    layout.also = also
    return layout


def _laid_out(nodes: Sequence[Node], count: int) -> Layout:
    layout = Layout(count)
    layout.header, layout.fixed = _place(nodes, (), layout)
    return layout


def _place(nodes: Sequence[Node], prefix: Steps, layout: Layout) -> tuple[list[str], list[str]]:
    """Put cells and what stands under them into a layout; return what is said in the header and above it."""
    header: list[str] = []
    fixed: list[str] = []
    for node in nodes:
        if type(node) is Leaf:
            header.append(node.name)
            layout.cells.append(node.cells)
        elif type(node) is Constant:
            fixed.append(f"{node.name}={node.cell}")
        elif type(node) is Same:
            fixed.append(f"{node.name}=={node.source}")
        elif type(node) is Group:
            inner, inner_fixed = _place(node.nodes, (*prefix, node.name), layout)
            header += _nested(node.name, inner)
            fixed += _nested(node.name, inner_fixed)
        else:
            inside = lay_out(node.table) if type(node) is Items or type(node) is Lookup else None
            layout.under.append(((*prefix, node.name), node, inside))
    return header, fixed


def _nested(name: str, inner: list[str]) -> list[str]:
    if len(inner) < 2:
        return [f"{name}.{one}" for one in inner]
    return [f"{name}{{{','.join(inner)}}}"]
