"""Read tables back: the declared lengths say where each ends."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from shaping.encoders.table.cells import KEY, MISSING, read_cell
from shaping.encoders.table.header import Pair, Path, Step, TableError, read_cells, read_members, read_path
from shaping.encoders.table.layout import NO_COLUMNS

if TYPE_CHECKING:
    from shaping.response import Json

_LENGTH = re.compile(r"[\[{](\d*)[\]}]")
_GIVES = re.compile(r"\[(\d+)\] gives ")
_TAG = re.compile(r"=(#\d+)(.*)")
_LINES = re.compile(r", (\d+) lines:")


@dataclass(slots=True)
class LineReader:
    """A text, line by line."""

    lines: list[str]
    at: int = 0

    def peek(self) -> str | None:
        """Return the line at hand, or None at the end."""
        return self.lines[self.at] if self.at < len(self.lines) else None

    def take(self, indent: int = 0) -> str:
        """Return the line at hand without its indentation and go on to the next."""
        return self.block(1)[indent:]

    def block(self, count: int) -> str:
        """Return so many lines as they are."""
        if self.at + count > len(self.lines):
            raise TableError(f"the text ends after {len(self.lines)} lines, where more was declared")
        self.at += count
        return "\n".join(self.lines[self.at - count : self.at])


@dataclass(slots=True)
class TableSchema:
    """What the lines above the rows say."""

    count: int
    key: str | None = None
    columns: list[Path] = field(default_factory=list)
    constants: list[tuple[Path, Json]] = field(default_factory=list)
    same: list[tuple[Path, Path]] = field(default_factory=list)
    items: dict[Path, TableSchema] = field(default_factory=dict)
    lookups: dict[Path, tuple[str, dict[Any, dict[str, Json]]]] = field(default_factory=dict)
    # By the value's repr, which tells 1 from 1.0 from True and does for lists too.
    tagged: dict[tuple[Path, str], Any] = field(default_factory=dict)
    given: list[tuple[Path, Path, dict[str, Any]]] = field(default_factory=list)


def read_table(rest: str, lines: LineReader, indent: int) -> list[dict[str, Json]]:
    """Return a table's records; `rest` is its label line after the name."""
    schema = read_schema(rest, lines, indent)
    return read_rows(schema, schema.count, lines, indent)


def read_text(rest: str, lines: LineReader) -> Any:
    """Return the value that the rest of a label line announces, or MISSING where it announces something else."""
    if rest.startswith(": "):
        return read_cell(rest[2:])
    if found := _LINES.fullmatch(rest):
        return lines.block(int(found[1]))
    return MISSING


def listed_or_keyed(length: str, records: list[dict[str, Json]]) -> Json:
    """Return records as the list they are, or as the object whose names are their first column."""
    return records if length.startswith("[") else {str(record.pop(KEY)): record for record in records}  # type: ignore[return-value]


def read_schema(rest: str, lines: LineReader, indent: int) -> TableSchema:
    """Return what stands above the rows; `rest` is the label line after the name."""
    found = _LENGTH.match(rest)
    if found is None or not rest.endswith(":"):
        raise TableError(f"expected a length in brackets and a colon at the end, got {rest!r}")
    schema, at = TableSchema(int(found[1] or 0)), found.end()
    if rest.startswith(" by ", at):
        (key,), at = read_path(rest, at + 4)
        schema.key = str(key)
    if rest.startswith(", all with ", at):
        _, schema.constants, schema.same = read_members(rest[at + 11 : -1])
    if (header := lines.take(indent)) != NO_COLUMNS:
        schema.columns, _, _ = read_members(header)
    while (line := lines.peek()) is not None and line.startswith(" " * (indent + 1)):
        _inside(schema, lines, indent + 1)
    return schema


def _inside(schema: TableSchema, lines: LineReader, indent: int) -> None:
    """Read a table declared inside another: its rows come later, or it is a lookup and they come now."""
    label = lines.take(indent)
    path, at = read_path(label, 0)
    if found := _GIVES.match(label, at):
        target, _ = read_path(label, found.end())
        cells = [tuple(read_cells(lines.take(indent))) for _ in range(int(found[1]))]
        schema.given.append((path, target, {repr(key): told for key, told in cells}))
        return
    inner = read_schema(label[at:], lines, indent)
    if inner.key is None:
        schema.items[path] = inner
        return
    records = read_rows(inner, inner.count, lines, indent)
    schema.lookups[path] = inner.key, {record[inner.key]: record for record in records}


def read_rows(schema: TableSchema, count: int, lines: LineReader, indent: int) -> list[dict[str, Json]]:
    """Return so many records under what was said above them."""
    return [_row(schema, lines, indent) for _ in range(count)]


def _row(schema: TableSchema, lines: LineReader, indent: int) -> dict[str, Json]:
    record: dict[str, Json] = {}
    if (text := lines.take(indent)) != "-":
        cells = list(read_cells(text))
        if len(cells) > len(schema.columns):
            raise TableError(f"expected at most {len(schema.columns)} cells, got {text!r}")
        for path, value in zip(schema.columns, cells, strict=False):
            if value is not MISSING:
                _put(record, path, value)
    for path, constant in schema.constants:
        _put(record, path, constant)
    while (line := lines.peek()) is not None and line.startswith(" " * (indent + 1)):
        _under(record, schema, lines, indent + 1)
    for path, (key, known) in schema.lookups.items():
        if type(owner := _get(record, path)) is dict and key in owner:
            owner.update(known[owner[key]])
    for path, target, told in schema.given:
        if (key := repr(_get(record, path))) in told:
            _put(record, target, told[key])
    for path, source in schema.same:
        if (value := _get(record, source)) is not MISSING:
            _put(record, path, value)
    return record


def _under(record: dict[str, Json], schema: TableSchema, lines: LineReader, indent: int) -> None:
    label = lines.take(indent)
    if label.startswith("(also "):
        for path, told in read_members(label[6:-1])[1]:
            _put(record, path, told)
        return
    path, at = read_path(label, 0)
    value = (
        _read_tagged(found, path, schema, lines) if (found := _TAG.match(label, at)) else read_text(label[at:], lines)
    )
    if value is MISSING:
        found = _LENGTH.match(label, at)
        if path not in schema.items:
            path = next((known for known in schema.items if known[-len(path) :] == path), ())
        if found is None or not path:
            raise TableError(f"expected what belongs under a row, got {label!r}")
        value = listed_or_keyed(found[0], read_rows(schema.items[path], int(found[1]), lines, indent))
    _put(record, path, value)


def _read_tagged(found: re.Match[str], path: Path, schema: TableSchema, lines: LineReader) -> Any:
    """Return a text that comes back: said here with its number, or by its number alone."""
    if found[2]:
        schema.tagged[path, found[1]] = read_text(found[2], lines)
    return schema.tagged[path, found[1]]


def _put(record: dict[str, Json], path: Path, value: Json) -> None:
    """Set a member of a record, opening the records and lists on the way."""
    at: Any = record
    for step, following in pairwise(path):
        at = _open(at, step, [] if isinstance(following, (int, Pair)) else {})
    last = path[-1]
    if last == 0:
        at[:] = [value]
    else:
        at[last] = value


def _open(at: Any, step: Step, empty: Any) -> Any:
    if step == 0:
        if not at:
            at.append(empty)
        return at[0]
    if isinstance(step, Pair):
        return _Entries(at, step)
    return at.setdefault(step, empty)


@dataclass(slots=True)
class _Entries:
    """A list of entries, written to as the map it stands for."""

    entries: list[dict[str, Any]]
    pair: Pair

    def __setitem__(self, key: str, value: Any) -> None:
        self.entries.append({self.pair.key: key, self.pair.value: value})

    def setdefault(self, key: str, empty: Any) -> Any:
        """Return the value of the entry, made where there is none."""
        for entry in self.entries:
            if entry[self.pair.key] == key:
                return entry[self.pair.value]
        self[key] = empty
        return empty


def _get(record: dict[str, Json], path: Path) -> Any:
    at: Any = record
    for step in path:
        if step == 0 and type(at) is list and at:
            at = at[0]
        elif type(at) is dict and step in at:
            at = at[step]
        else:
            return MISSING
    return at
