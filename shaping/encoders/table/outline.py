"""Records as rows under one header, whatever stands around them as an outline of names and values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import orjson

from shaping.encoders.table.cells import Missing, name, quoted
from shaping.encoders.table.dedupe import Finder
from shaping.encoders.table.header import TableError, read_path
from shaping.encoders.table.infer import keyed, table
from shaping.encoders.table.layout import lay_out
from shaping.encoders.table.parse import (
    LineReader,
    TableSchema,
    listed_or_keyed,
    read_rows,
    read_schema,
    read_table,
    read_text,
)
from shaping.encoders.table.write import rows, schema, write, write_text

if TYPE_CHECKING:
    from shaping.response import Json

_COUNT = re.compile(r"\[(\d+)\]:")
_SHORT_HEAD, _LONG_NAME = 48, 200  # characters
_DEEP = 24  # deeper nests are written as JSON
_NAMES = ("name", "path", "file", "title", "key", "login", "slug", "sha", "id")


def encode(value: Json, *, repeats: bool = True, constants: bool = True, near: bool = True) -> str:
    """Return a value as an outline with tables; a value without records is compact JSON.

    `near` keeps what comes back in every row it comes back in, unless it is long.
    """
    lines = _outline("", value, Finder(repeats, constants, near), 0)
    return "\n".join(lines) if lines else quoted(value)


def decode(text: str) -> Json:
    """Return the value an outline stands for."""
    try:
        value: Json = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = _read(LineReader(text.split("\n")))
    return value


def _read(lines: LineReader) -> Json:
    value = _read_lines(lines, 0)
    if lines.peek() is not None:
        raise TableError(f"expected the end at line {lines.at + 1}, got {lines.peek()!r}")
    return value


def _outline(label: str, value: Json, finder: Finder, indent: int) -> list[str]:
    """Return a value as lines, or nothing where it belongs on one line as JSON."""
    if indent > _DEEP:
        return []
    if type(value) is list:
        return _list(label, value, finder, indent)
    if type(value) is dict and value:
        return _keyed(label, value, finder, indent) or _object(label, value, finder, indent)
    return []


def _list(label: str, value: list[Json], finder: Finder, indent: int) -> list[str]:
    if len(value) == 1 and type(value[0]) is dict:
        return _object(f"{label}[0]", value[0], finder, indent)
    if not _is_list_of_records(value):
        return []
    found = lay_out(table(value, finder))  # type: ignore[arg-type]
    return write(f"{label}[{len(value)}]", found, indent)


def _keyed(label: str, value: dict[str, Json], finder: Finder, indent: int) -> list[str]:
    """Return an object whose members are records of one shape as a table with their names as a column."""
    records = [record for record in value.values() if type(record) is dict and record]
    if len(records) < 4 or len(records) < len(value):
        return []
    common = set(records[0]).intersection(*records)
    if 2 * len(common) < max(map(len, records)):
        return []
    found = lay_out(keyed(list(value), records, finder))
    return write(f"{label}{{{len(records)}}}", found, indent)


def _object(label: str, value: dict[str, Json], finder: Finder, indent: int) -> list[str]:
    inner = indent + bool(label)
    above: list[str] = []
    opened: dict[str, list[str]] = {}
    before: tuple[str, Json] = ("", None)
    for key, member in value.items():
        if _is_name(*before) and _is_list_of_records(member):
            opened[key] = _under_its_name(name(key), member, finder, inner, above)  # type: ignore[arg-type]
        else:
            opened[key] = _outline(name(key), member, finder, inner)
        before = key, member
    if not any(opened.values()) and not any(map(_is_page, value.values())):
        return []
    lines = [f"{' ' * indent}{label}:"] if label else []
    lines += above
    for key, member in value.items():
        lines += opened[key] or [_line(name(key), member, inner)]
    return lines


def _line(label: str, value: Json, indent: int) -> str:
    if type(value) is str:
        return write_text(label, value, indent)
    return f"{' ' * indent}{label}: {quoted(value)}"


def _under_its_name(
    label: str, value: list[dict[str, Json]], finder: Finder, indent: int, above: list[str]
) -> list[str]:
    """Return rows directly below the member that names them; what is said above rows goes above the whole object."""
    found = lay_out(table(value, finder))
    head = schema(f"{label}[]", found, indent)
    if sum(map(len, head)) < _SHORT_HEAD:
        return write(f"{label}[{len(value)}]", found, indent)
    above += head
    return [f"{' ' * indent}{label}[{len(value)}]:", *rows(found, indent)]


def _is_name(key: str, value: Json) -> bool:
    """Tell whether a member says what the records after it belong to, as a file's path does."""
    return type(value) is str and 0 < len(value) < _LONG_NAME and key.lower().endswith(_NAMES)


def _is_list_of_records(value: Json) -> bool:
    return type(value) is list and len(value) > 1 and set(map(type, value)) == {dict}


def _is_page(value: Json) -> bool:
    """Tell whether a string is worth lines of its own."""
    return type(value) is str and value.count("\n") > 4


def _read_lines(lines: LineReader, indent: int) -> Json:
    first = lines.peek() or ""
    if first[indent:] == "[0]:":
        lines.take()
        return [_read_lines(lines, indent + 1)]
    if first.startswith(("[", "{"), indent):
        return _records(lines.take(indent), lines, indent)
    return _read_object(lines, indent)


def _read_object(lines: LineReader, indent: int) -> Json:
    value: dict[str, Json] = {}
    said: dict[str, TableSchema] = {}
    pad = " " * indent
    while (line := lines.peek()) is not None and line.startswith(pad):
        label = lines.take(indent)
        (first, *only), at = read_path(label, 0)
        key, rest = str(first), label[at:]
        if rest.startswith("[]"):
            said[key] = read_schema(rest, lines, indent)
        elif key in said and (count := _COUNT.fullmatch(rest)):
            value[key] = list(read_rows(said[key], int(count[1]), lines, indent))
        else:
            member = _member(rest, lines, indent)
            value[key] = [member] if only else member
    return value


def _member(rest: str, lines: LineReader, indent: int) -> Json:
    found: Json | Missing = read_text(rest, lines)
    if not isinstance(found, Missing):
        return found
    if rest == ":":
        return _read_lines(lines, indent + 1)
    return _records(rest, lines, indent)


def _records(rest: str, lines: LineReader, indent: int) -> Json:
    return listed_or_keyed(rest, read_table(rest, lines, indent))
