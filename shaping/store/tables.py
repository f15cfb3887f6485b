"""JSON data as SQLite tables: each list of records is a table, nested records are columns, the rest is JSON text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic_core import to_json

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

# SQLite itself stops at 2,000 columns; nobody writes a query over the seldom filled ones behind the first few hundred.
_COLUMNS: Final = 500
_TABLES: Final = 60
_DEEPEST: Final = 6  # lists in lists in lists: deeper ones stay JSON text
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_DECIMAL: Final = re.compile(r"-?(?:0|[1-9]\d{0,11})(?:\.\d{1,15})?")
_PLAIN: Final = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*")  # what SQLite reads as one number
_WRITTEN: Final = re.compile(  # a number with separators, a sign or a unit
    r"\s*[-+(]?\s*(?:[A-Z]{3}|[$€£¥₹])?\s*[-+]?\d+(?:[,.'\u2019_\s]\d{3})*(?:[.,]\d+)?\s*(?:[%‰$€£¥₹°]|[^\W\d_]{1,6})?\s*\)?\s*"
)
_WORD: Final = re.compile(r"\W+")
_SCALARS: Final = frozenset({str, int, float, type(None)})
_KINDS: Final = {str: "text", int: "int", float: "num", bool: "bool"}
_SHORT: Final = frozenset({int, float, bool, type(None)})
# Members by which a child table names its parent, where their values are unique.
_KEYS: Final = ("id", "number", "key", "uuid", "iid", "name", "path", "sha", "slug", "login", "filename", "title")
_LOOKED_AT: Final = 1_000  # rows of a column that show whether it holds numbers
# What a cut answer names of the tables inside its records.
_LONGEST, _CHILD_COLUMNS = 110, 4


@dataclass(slots=True)
class Column:
    """One column: its name in SQL, and the members that lead to its value in a record."""

    name: str
    trail: tuple[str, ...]
    types: frozenset[type] = frozenset()
    numeric: bool = False  # numbers that stand as text; found out when they are loaded

    @property
    def is_flag(self) -> bool:
        """Whether it holds true and false, and nothing else but null."""
        return bool in self.types and self.types <= {bool, type(None)}

    @property
    def kind(self) -> str:
        """The types of its values, for somebody who is about to write a query."""
        names = {_KINDS.get(kind, "json") for kind in self.types - {type(None)}}
        if self.numeric:
            names = names - {"text"} or {"num"}
        return "|".join(sorted(names)) or "null"

    @property
    def dotted(self) -> str:
        """The column by the path of the data, which may be written in double quotes."""
        return ".".join(self.trail)


@dataclass(slots=True)
class SqlTable:
    """One list of records and the columns found in it."""

    name: str
    rows: Sequence[Any]
    columns: list[Column] = field(default_factory=list)
    parent: str | None = None  # the column that holds the key of the record a row stands in
    owners: Sequence[Any] = ()  # that key, for each row
    longest: int = 0  # characters of the longest value, once it is loaded

    def schema(self) -> dict[str, Any]:
        """Describe the table for somebody who is about to write a query."""
        columns = [f"{column.name} {column.kind}" for column in self.columns]
        return {
            "table": self.name,
            "rows": len(self.rows),
            "columns": ", ".join([self.parent, *columns] if self.parent else columns),
        }


def find_tables(data: Any) -> list[SqlTable]:
    """Find every list of records in JSON data, outermost first."""
    found: list[SqlTable] = []
    _find(data, (), 0, found)
    return found


def describe_tables(tables: Sequence[SqlTable], paths: Iterable[str], most: int = 9) -> str:
    """Name the tables of lists, and those inside them with their columns; empty where the lists' own names tell all.

    An ellipsis ends the line where there are other tables besides.
    """
    names = {_name(tuple(_WORD.split(path))) if path else "items": path or "items" for path in paths}
    told = [table.name for table in tables if table.parent is None and table.name in names]
    inside = [
        table
        for table in tables
        if table.parent is not None and table.name.startswith(tuple(f"{name}_" for name in told))
    ]
    if not inside and all(name == names[name] for name in told):
        return ""
    for table in inside:
        columns = [str(table.parent), *(column.name for column in table.columns)]
        more = ", …" if len(columns) > _CHILD_COLUMNS else ""
        told.append(f"{table.name}({', '.join(columns[:_CHILD_COLUMNS])}{more})")
    named: list[str] = []
    for one in told:
        if len(named) < most and len(", ".join([*named, one])) <= _LONGEST:
            named.append(one)
    return ", ".join([*named, *(["…"] if len(named) < len(tables) else [])])


def load(connection: sqlite3.Connection, tables: Iterable[SqlTable]) -> None:
    """Create and fill the tables."""
    for table in tables:
        if not table.columns:
            continue
        columns = _cells(table)
        names = [(column.name, column.numeric) for column in table.columns]
        names = [(table.parent, _are_decimal(table.owners)), *names] if table.parent else names
        listed = ", ".join(quote(name) + (" NUMERIC" if numeric else "") for name, numeric in names)
        connection.execute(f"CREATE TABLE {quote(table.name)} ({listed})")
        marks = ", ".join("?" * len(names))
        rows = zip(*columns, strict=True)
        connection.executemany(f"INSERT INTO {quote(table.name)} VALUES ({marks})", rows)  # noqa: S608 (names are quoted, values are bound)


class TextAmongNumbers(NamedTuple):
    """A column of numbers that SQLite takes for text in some of its rows."""

    texts: int  # rows whose text is no plain number
    example: str


def text_among_numbers(table: SqlTable, column: Column) -> TextAmongNumbers | None:
    """Find text in a column of numbers, or numbers of different length that all stand as text; else None."""
    if str not in column.types or column.numeric:
        return None
    values = [value for row in table.rows if (value := _value(row, column.trail)) is not None]
    first = values[:_LOOKED_AT]
    if 2 * sum(type(value) is not str or bool(_WRITTEN.fullmatch(value)) for value in first) < len(first):
        return None
    texts = [value for value in values if type(value) is str and not _PLAIN.fullmatch(value)]
    if not texts and len({len(str(value).partition(".")[0]) for value in values}) == 1:
        return None
    return TextAmongNumbers(len(texts), str((texts or values)[0]))


def quote(name: str) -> str:
    """Quote an identifier so that SQLite never takes it for a string, as it does with double quotes."""
    return "`" + name.replace("`", "``") + "`"


def _find(data: Any, trail: tuple[str, ...], depth: int, found: list[SqlTable]) -> None:
    if type(data) is list:
        _add(data, trail, depth, found)
    elif type(data) is dict:
        if (rows := _uniform_map(data)) is not None:
            _add(rows, trail, depth, found)
            return
        scalars = {key: value for key, value in data.items() if type(value) not in {dict, list}}
        for key, value in data.items():
            if type(value) in {dict, list}:
                _find(value, (*trail, key), depth, found)
        if scalars and not trail:
            _add([scalars], ("data",), depth, found)


def _add(
    rows: list[Any],
    trail: tuple[str, ...],
    depth: int,
    found: list[SqlTable],
    *,
    parent: str | None = None,
    owners: Sequence[Any] = (),
) -> None:
    if not rows or len(found) >= _TABLES:
        return
    records = sum(type(row) is dict for row in rows)
    if type(rows[0]) is list and records == 0 and all(type(row) is list for row in rows):
        width = max(map(len, rows))
        rows = [dict(zip((f"c{at}" for at in range(1, width + 1)), row, strict=False)) for row in rows]
    elif records < len(rows):
        rows = [row if type(row) is dict else {"value": row} for row in rows]
    name = _free_name(trail or ("items",), {table.name.lower() for table in found})
    members, taken = _member_types(rows), {parent.lower()} if parent else set()
    columns = [Column(_free_name(one, taken), one, types) for one, types in islice(members.items(), _COLUMNS)]
    table = SqlTable(name, rows, columns, parent, owners)
    found.append(table)
    if depth < _DEEPEST:
        lists = [member for member, types in members.items() if list in types]
        _add_children(table, trail or ("items",), lists, depth, found)


def _add_children(
    table: SqlTable, trail: tuple[str, ...], lists: list[tuple[str, ...]], depth: int, found: list[SqlTable]
) -> None:
    """Add a table for each list inside the records, with a column that leads back to the record."""
    key, keys = _identify(table) if lists else ("", ())
    for member in lists:
        elements: list[Any] = []
        owners: list[Any] = []
        for owner, row in zip(keys, table.rows, strict=True):
            inner = _value(row, member)
            if type(inner) is list:
                elements += inner
                owners += [owner] * len(inner)
        _add(elements, (*trail, *member), depth + 1, found, parent=f"{table.name}_{key}", owners=owners)


def _member_types(rows: list[dict[str, Any]]) -> dict[tuple[str, ...], frozenset[type]]:
    """Find the members of records, those of nested records included, and the types of their values."""
    in_order = list(rows[0])
    if all(list(row) == in_order for row in rows):
        by_name = {name: list(map(itemgetter(name), rows)) for name in in_order}
    else:
        # One walk over what the records have: keys that differ in each would cost keys times records.
        by_name = {}
        for row in rows:
            for name, value in row.items():
                by_name.setdefault(name, []).append(value)
    found: dict[tuple[str, ...], frozenset[type]] = {}
    for name, values in by_name.items():
        types = frozenset(map(type, values))
        inner = [value for value in values if type(value) is dict and value] if dict in types else []
        if inner and len(found) < _COLUMNS and _uniform_map(inner[0]) is None:
            found |= {(name, *trail): kinds for trail, kinds in _member_types(inner).items()}
            if types <= {dict, type(None)}:
                continue
        found[(name,)] = types
    return found


def _free_name(trail: tuple[str, ...], taken: set[str]) -> str:
    """Name a table or a column by its path, with a number where the name is taken; SQLite does not tell cases apart."""
    name = free = _name(trail)
    number = 2
    while free.lower() in taken:
        free, number = f"{name}_{number}", number + 1
    taken.add(free.lower())
    return free


def _name(trail: tuple[str, ...]) -> str:
    name = "_".join(_WORD.sub("_", part) for part in trail).strip("_") or "value"
    # SQLite keeps names that begin with `sqlite_` for itself.
    return f"_{name}" if name[0].isdigit() or name.lower().startswith("sqlite_") else name


def _identify(table: SqlTable) -> tuple[str, Sequence[Any]]:
    """Choose the column by which child rows name their record: one with unique values, else the row's number."""
    direct = {column.trail[0].lower(): column for column in table.columns if len(column.trail) == 1}
    for key in _KEYS:
        if key in direct:
            values = [row.get(direct[key].trail[0]) for row in table.rows]
            if set(map(type, values)) <= {str, int} and len(set(values)) == len(values):
                return direct[key].name, values
    return "rowid", range(1, len(table.rows) + 1)


def _uniform_map(value: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Read an object whose members are all records of one kind as a list, with the member's name as `key`."""
    if len(value) < 3 or not all(type(member) is dict and member for member in value.values()):
        return None
    members: list[dict[str, Any]] = list(value.values())
    shared = set(members[0]).intersection(*members[1:])
    if not shared or 2 * len(shared) < max(map(len, members)):
        return None
    name = "key" if all("key" not in member for member in members) else "member"
    return [{name: key, **member} for key, member in value.items()]


def _cells(table: SqlTable) -> list[Sequence[Any]]:
    columns = [_as_numbers(_bound(table.rows, column), column) for column in table.columns]
    texts = (values for values, column in zip(columns, table.columns, strict=True) if not column.types <= _SHORT)
    table.longest = max((len(value) for values in texts for value in values if type(value) is str), default=0)
    return [*([table.owners] if table.parent else []), *columns]


def _as_numbers(values: Sequence[Any], column: Column) -> Sequence[Any]:
    """Have numbers that stand as text, as in CSV, compare as numbers: as text, '9' would be more than 50.

    Empty cells among them become null, which is neither more nor less than a number and no part of an average.
    """
    if str not in column.types or not column.types <= _SCALARS:
        return values
    column.numeric = _are_decimal(values)
    if not column.numeric:
        return values
    return [None if type(value) is str and not value.strip() else value for value in values]


def _are_decimal(values: Sequence[Any]) -> bool:
    """Whether all texts are decimal numbers; zeros in front make a code, many digits an identifier."""
    decimals: set[int] = set()
    zero_at_end = False
    found = False
    for value in values:
        if type(value) is not str or not value.strip():
            continue
        found = True
        if not _DECIMAL.fullmatch(value):
            return False
        fraction = value.partition(".")[2]
        if fraction:
            decimals.add(len(fraction))
            zero_at_end = zero_at_end or fraction[-1] == "0"
    # 3.9 and 3.10 are versions: as a number, 3.10 would be 3.1.
    return found and not (zero_at_end and len(decimals) > 1)


def _bound(rows: Sequence[Any], column: Column) -> list[Any]:
    """Return the values of a column as SQLite can hold them."""
    only = column.trail[0]
    nested = len(column.trail) > 1
    values = [_value(row, column.trail) for row in rows] if nested else [row.get(only) for row in rows]
    if not column.types <= _SCALARS:
        values = list(map(_cell, values))
    numbers = [value for value in values if type(value) is int] if int in column.types else ()
    if numbers and not (min(numbers) >= _INT_MIN and max(numbers) <= _INT_MAX):
        values = [str(value) if type(value) is int else value for value in values]
    return values


def _value(row: Any, trail: tuple[str, ...]) -> Any:
    for name in trail:
        if type(row) is not dict:
            return None
        row = row.get(name)
    return row


def _cell(value: Any) -> Any:
    kind = type(value)
    if kind in _SCALARS:
        return value
    return int(value) if kind is bool else to_json(value).decode()
