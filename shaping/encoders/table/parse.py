"""Read tables back: the declared lengths say where each ends."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import orjson

from shaping.encoders.table.cells import BELOW, EMPTY, FORMS, MISSING, read_cell
from shaping.encoders.table.derive import PLACEHOLDER
from shaping.encoders.table.header import ALL_WITH, Path, TableError, read_members, read_path, read_section, split_cells
from shaping.encoders.table.model import BEGIN, HAVE, REST
from shaping.encoders.table.series import read_series
from shaping.encoders.table.shorten import around_cell, to_float32
from shaping.encoders.table.write import ALL_LINE, NO_COLUMNS, SECTION, SECTIONS, USUALLY
from shaping.encoders.templates import PLACE, filled

if TYPE_CHECKING:
    from collections.abc import Callable

    from shaping.response import Json

    Step: TypeAlias = "Callable[[dict[str, Json]], None]"

_LENGTH = re.compile(r"[\[{](\d*)[\]}]")
_TAG, _LEGEND = re.compile(r"#[1-9]\d{0,4}(?= |$)", re.ASCII), re.compile(r"#[1-9]\d{0,4}(?==)", re.ASCII)
_TAGGED = re.compile(r"=(#\d+)", re.ASCII)
_LINES = re.compile(r", (\d+) lines:")
_NOTED = re.compile(r"\((?:also|but) ")
_FLOAT32, _SHARED = "float32, shortest digits", re.compile(f": (?:{BEGIN}|{HAVE})(.*), written {REST}")


@dataclass(slots=True)
class TableLines:
    """A text, line by line, and the values that its tags stand for."""

    lines: list[str]
    at: int = 0
    tags: dict[str, Any] = field(default_factory=dict)

    def peek(self) -> str | None:
        """Return the line at hand, or None at the end."""
        return self.lines[self.at] if self.at < len(self.lines) else None

    def is_inside(self, indent: int) -> bool:
        """Return whether the line at hand is indented at least so far."""
        line = self.peek()
        return line is not None and line.startswith(" " * indent)

    def take(self, indent: int = 0) -> str:
        """Return the line at hand without its indentation and go on to the next."""
        return self._next(1)[0][indent:]

    def block(self, count: int, indent: int) -> str:
        """Return so many lines as one string, without their indentation."""
        return "\n".join(line[indent:] for line in self._next(count))

    def _next(self, count: int) -> list[str]:
        if self.at + count > len(self.lines):
            raise TableError(f"the text ends after {len(self.lines)} lines, where more was declared")
        self.at += count
        return self.lines[self.at - count : self.at]

    def cell(self, text: str) -> Any:
        """Return the value of a cell, or of what its tag stands for."""
        tag = _TAG.match(text)
        if tag is None:
            return read_cell(text)
        if tag[0] not in self.tags:
            raise TableError(f"expected a value for {tag[0]} above its first use")
        value = self.tags[tag[0]]
        if tag[0] == text:
            return value
        if type(value) is not tuple or text.count(" ") != value[1::2].count(""):
            raise TableError(f"expected as many words as {tag[0]} has places for, got {text!r}")
        return filled(value, text[tag.end() + 1 :])


@dataclass(slots=True)
class TableSchema:
    """What the lines above the rows say."""

    columns: list[Path] = field(default_factory=list)
    patterns: dict[Path, str] = field(default_factory=dict)
    constants: list[tuple[Path, Json]] = field(default_factory=list)
    usual: list[tuple[Path, Json]] = field(default_factory=list)
    section: dict[Path, str] = field(default_factory=dict)  # what the last line above rows says
    float32: set[Path] = field(default_factory=set)
    shared: dict[Path, list[Json]] = field(default_factory=dict)
    packed: dict[Path, str] = field(default_factory=dict)  # strings that hold JSON, by how they write it
    nested: dict[Path, TableSchema] = field(default_factory=dict)  # lists and records below the rows
    # What is done to each record when its row has been read.
    templates: list[Step] = field(default_factory=list)
    copies: list[Step] = field(default_factory=list)


def read_table(rest: str, lines: TableLines, indent: int) -> list[dict[str, Json]]:
    """Return a table's records; `rest` is its label line after the name."""
    found = _LENGTH.match(rest)
    if found is None or not found[1] or not rest.endswith(":"):
        raise TableError(f"expected a length in brackets and a colon at the end, got {rest!r}")
    schema = TableSchema()
    if rest.startswith(ALL_WITH, found.end()):
        schema.constants = _all(rest[:-1], found.end() + len(ALL_WITH))
    elif rest[found.end() :] != ":":
        raise TableError(f"expected a colon after the length, got {rest!r}")
    _read_declarations(schema, lines, indent + 1)
    _read_header(schema, lines.take(indent))
    return read_rows(schema, int(found[1]), lines, indent)


def read_text(rest: str, lines: TableLines, indent: int) -> Any:
    """Return the value that the rest of a label line announces, or MISSING where it announces something else."""
    if rest.startswith(": "):
        return read_cell(rest[2:])
    if found := _LINES.fullmatch(rest):
        return lines.block(int(found[1]), indent + 1)
    return MISSING


def read_rows(schema: TableSchema, count: int, lines: TableLines, indent: int) -> list[dict[str, Json]]:
    """Return so many records under what was said above them."""
    records = []
    for _ in range(count):
        if (lines.peek() or "").startswith(SECTION, indent):
            schema.section = read_section(lines.take(indent), len(SECTION))
        records.append(_row(schema, lines, indent))
    return records


def _all(text: str, at: int) -> list[tuple[Path, Json]]:
    members, end = read_members(text, at)
    if end != len(text) or members.columns:
        raise TableError(f"expected names and values, got {text[at:]!r}")
    return members.constants


def _read_header(schema: TableSchema, text: str) -> None:
    if text.startswith(NO_COLUMNS):
        end = len(NO_COLUMNS)
    else:
        members, end = read_members(text)
        schema.columns, schema.patterns = members.columns, members.patterns
    if text.startswith(ALL_WITH, end):
        schema.constants = _all(text, end + len(ALL_WITH))
    elif end != len(text):
        raise TableError(f"expected names and commas, got {text!r}")


def _read_declarations(schema: TableSchema, lines: TableLines, indent: int) -> None:
    while lines.is_inside(indent):
        _declaration(schema, lines, indent)


def _declaration(schema: TableSchema, lines: TableLines, indent: int) -> None:
    """Read one line above a header, and the lines that belong to it."""
    text = lines.take(indent)
    if text == SECTIONS:
        return
    if tag := _LEGEND.match(text):
        said = text[tag.end() + 1 :]
        # A sentence with places for words; as a value, a string with braces is JSON.
        is_sentence = "{}" in said and said[0] != '"' and not (said[0] == "[" and said[-1] == "]")
        lines.tags[tag[0]] = tuple(PLACE.split(said)) if is_sentence else read_cell(said)
        return
    if text.startswith(ALL_LINE):
        schema.constants += _all(text, len(ALL_LINE))
        return
    if text.startswith(USUALLY):
        schema.usual = _all(text, len(USUALLY))
        return
    if text.startswith("("):
        said, _, names = text[1:-1].partition(": ")
        paths = read_members(names)[0].columns
        if said == _FLOAT32:
            schema.float32.update(paths)
        else:
            schema.packed.update(dict.fromkeys(paths, said))
        return
    path, at = read_path(text, 0)
    rest = text[at:]
    if rest.startswith("="):
        _derivation(schema, path, rest[1:])
    elif found := _SHARED.fullmatch(rest):
        schema.shared[path] = read_cell(found[1])
    else:
        schema.nested[path] = _inner(rest, lines, indent)


def _inner(rest: str, lines: TableLines, indent: int) -> TableSchema:
    found = _LENGTH.match(rest)
    start = found.end() if found else 0
    if not rest.startswith(": ", start):
        raise TableError(f"expected a colon and names, got {rest!r}")
    schema = TableSchema()
    _read_header(schema, rest[start + 2 :])
    _read_declarations(schema, lines, indent + 1)
    return schema


def _derivation(schema: TableSchema, path: Path, template: str) -> None:
    sources = [read_path(found, 0)[0] for found in PLACEHOLDER.findall(template)]
    is_copy = PLACEHOLDER.fullmatch(template) is not None

    def derive(record: dict[str, Json]) -> None:
        values = [_get(record, source) for source in sources]
        if MISSING in values:
            return
        texts = iter(values)
        _put(record, path, values[0] if is_copy else PLACEHOLDER.sub(lambda _: str(next(texts)), template))

    (schema.copies if is_copy else schema.templates).append(derive)


def _row(schema: TableSchema, lines: TableLines, indent: int) -> dict[str, Json]:
    if not schema.columns and lines.peek() != " " * indent + EMPTY:
        record: dict[str, Json] = {}
        _finish(record, schema)
        return record
    return _record(schema, lines.take(indent), lines, indent)


def _record(schema: TableSchema, text: str, lines: TableLines, indent: int) -> dict[str, Json]:
    record: dict[str, Json] = {}
    if text != EMPTY:
        cells = split_cells(text)
        if len(cells) > len(schema.columns):
            raise TableError(f"expected at most {len(schema.columns)} cells, got {text!r}")
        for path, cell in zip(schema.columns, cells, strict=False):
            if cell and cell != BELOW:
                _put(record, path, _value(schema, path, cell, lines))
    while lines.is_inside(indent + 1):
        _below(record, schema, lines, indent + 1)
    _finish(record, schema)
    return record


def _finish(record: dict[str, Json], schema: TableSchema) -> None:
    for path, constant in schema.constants:
        _put(record, path, constant)
    for path, text in schema.section.items():
        if path not in schema.columns:
            _put(record, path, read_cell(text))
    for path, value in schema.usual:
        if _get(record, path) is MISSING:
            _put(record, path, value)
    # Copies again: what one copies may hold another, or follow from a template, and a template may be of a copy.
    for step in (*schema.copies, *schema.templates, *schema.copies, *schema.copies):
        step(record)
    for path, form in schema.packed.items():
        if (value := _get(record, path)) is not MISSING:
            _put(record, path, FORMS[form](value))


def _value(schema: TableSchema, path: Path, cell: str, lines: TableLines) -> Any:
    if path in schema.section:
        return schema.section[path].replace("{}", orjson.loads(cell) if cell[0] == '"' else cell, 1)
    if path in schema.patterns:
        text = orjson.loads(cell) if cell[0] == '"' else cell
        return around_cell(schema.patterns[path], text)
    if path in schema.float32:
        number = read_cell(cell)
        return to_float32(number) if type(number) is float else number
    if path in schema.shared and cell.startswith(REST):
        return [*schema.shared[path], *(read_cell(cell[len(REST) :]) if cell != REST else ())]
    return lines.cell(cell)


def _below(record: dict[str, Json], schema: TableSchema, lines: TableLines, indent: int) -> None:
    text = lines.take(indent)
    if found := _NOTED.match(text):
        for path, value in _all(text[:-1], found.end()):
            _put(record, path, value)
        return
    path, at = read_path(text, 0)
    if path in schema.nested:
        _put(record, path, _nested(schema.nested[path], text[at:], lines, indent))
        return
    tag = _TAGGED.match(text, at)
    value = read_text(text[tag.end() if tag else at :], lines, indent)
    if value is MISSING:
        value = read_series(text[at:])
    if value is MISSING:
        raise TableError(f"expected what belongs below a row, got {text!r}")
    if tag:
        lines.tags[tag[1]] = value
    _put(record, path, value)


def _nested(schema: TableSchema, rest: str, lines: TableLines, indent: int) -> Json:
    if rest.startswith(": "):
        return _record(schema, rest[2:], lines, indent)
    found = _LENGTH.match(rest)
    if found is None or rest[found.end() :] != ":":
        raise TableError(f"expected the length of a list, got {rest!r}")
    return read_rows(schema, int(found[1]), lines, indent)  # type: ignore[return-value]


def _put(record: dict[str, Json], path: Path, value: Json) -> None:
    """Set a member of a record, opening the records and lists on the way."""
    at: Any = record
    for step, following in pairwise(path):
        at = _open(at, step, [] if following == 0 else {})
    last = path[-1]
    if last == 0:
        at[:] = [value]
    else:
        at[last] = value


def _open(at: Any, step: str | int, empty: Any) -> Any:
    if step != 0:
        return at.setdefault(step, empty)
    if not at:
        at.append(empty)
    return at[0]


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
