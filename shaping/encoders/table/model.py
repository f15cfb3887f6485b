"""The parts of a table: what a list of records was found to consist of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(slots=True)
class Leaf:
    """A column: one cell a row, empty where the record has no such member."""

    name: str
    cells: list[str]


@dataclass(slots=True)
class Constant:
    """A column that is the same in every row, said once."""

    name: str
    cell: str


@dataclass(slots=True)
class Same:
    """A column that repeats another one row by row, said once."""

    name: str
    source: str


@dataclass(slots=True)
class Given:
    """A column of sentences that another column decides, each said once."""

    name: str
    key: str
    cells: dict[str, str]


@dataclass(slots=True)
class Text:
    """A column of long strings, which stand under their row and not in it."""

    name: str
    values: list[str | None]
    repeats: bool = True  # whether one that comes back may be said once
    as_json: bool = False  # whether they are lists, written already


@dataclass(slots=True)
class Group:
    """A nested record: its members are columns of the same row."""

    name: str
    nodes: list[Node]


@dataclass(slots=True)
class Items:
    """A list of records inside each row: rows of its own, under the row."""

    name: str
    table: Table
    counts: list[int]  # how many of the table's rows belong to each row; -1 where the row has no such list
    keyed: bool = False  # whether it is an object of records, whose names are the first column


@dataclass(slots=True)
class Lookup:
    """The long members of a nested record that comes back again and again, told once by the member that names it."""

    name: str
    key: str
    table: Table


Node: TypeAlias = Leaf | Constant | Same | Given | Text | Group | Items | Lookup


@dataclass(slots=True)
class Table:
    """Records in the order they came: how many, and their columns."""

    count: int
    nodes: list[Node] = field(default_factory=list)
