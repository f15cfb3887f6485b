"""The parts of a table: what a list of records was found to consist of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

REST = "…"  # in a cell: the elements that all lists of the column have, then these
BEGIN, HAVE = "all begin with ", "all have, in any order, "  # said of the elements of all lists


@dataclass(slots=True)
class Leaf:
    """A column: one cell a row, empty where the record has no such member."""

    name: str
    cells: list[str]
    pattern: str = ""  # what stands around every cell, as in `2026-11-17T{}Z`
    float32: bool = False  # whether the cells have the digits of a float32
    shared: str = ""  # in words, the elements that every list has; the cells hold the others
    strings: list[str] | None = None  # what the cells stand for where all are strings
    known: set[str] | None = None  # the different cells, where they are known

    @property
    def distinct(self) -> set[str]:
        """The different cells, found once for all that is decided by them."""
        if self.known is None:
            self.known = set(self.cells)
        return self.known


@dataclass(slots=True)
class Constant:
    """A column that is the same in every row, said once."""

    name: str
    cell: str


@dataclass(slots=True)
class Derived:
    """A column that follows from others, as in `https://x.dev/{id}`; one placeholder alone is a copy."""

    name: str
    template: str


@dataclass(slots=True)
class Packed:
    """A member that is a string with JSON in it, where the columns say what that holds."""

    name: str
    form: str


@dataclass(slots=True)
class Legend:
    """Cells that recur, by the tag that stands for them in the rows."""

    cells: dict[str, str]


@dataclass(slots=True)
class Text:
    """A column with long strings, which stand below their row."""

    name: str
    cells: list[str]
    values: list[str | None]  # what stands below each row
    tags: dict[str, str] = field(default_factory=dict)  # of values that recur: written once, then by tag
    as_json: bool = False  # whether the values are JSON already
    as_series: bool = False  # whether they are lists in short


@dataclass(slots=True)
class Group:
    """A nested record: its members are columns of the same row."""

    name: str
    nodes: list[Node]


@dataclass(slots=True)
class Record:
    """A nested record on a line of its own below its row."""

    name: str
    cells: list[str]
    table: Table


@dataclass(slots=True)
class Items:
    """A nested list of records: rows of its own, below the row."""

    name: str
    cells: list[str]
    table: Table
    counts: list[int]  # how many of the table's rows belong to each row; 0 where the row has no such list


@dataclass(slots=True)
class Also:
    """Members that few records have: for each row the names and values, or nothing."""

    rows: list[str]


@dataclass(slots=True)
class Usual:
    """A column that is the same in most rows: what it usually is, and for each row what it is instead, or nothing."""

    name: str
    cell: str
    rows: list[str]


Column: TypeAlias = Leaf | Text | Record | Items
# The same for `isinstance`, which is asked of every node: a union would be made anew each time, and is slower to ask.
COLUMN = (Leaf, Text, Record, Items)
Node: TypeAlias = Column | Constant | Derived | Packed | Legend | Group | Also | Usual


@dataclass(slots=True)
class Table:
    """Records in the order they came: how many, and their columns."""

    count: int
    nodes: list[Node] = field(default_factory=list)
    sections: list[str] = field(default_factory=list)  # the line above each row, or nothing; none where all lack one


def leaves(nodes: Sequence[Node], prefix: str = "") -> Iterator[tuple[str, Leaf]]:
    """Yield the columns with cells of their own, those of nested records too, with their paths from the row."""
    for node in nodes:
        if type(node) is Group:
            yield from leaves(node.nodes, f"{prefix}{node.name}.")
        elif type(node) is Leaf:
            yield prefix + node.name, node
