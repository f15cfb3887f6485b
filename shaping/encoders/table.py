"""Records as rows under one header, whatever stands around them as an outline of names and values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from shaping.encoders.tabular.cells import Missing, name, quoted
from shaping.encoders.tabular.infer import keyed, table
from shaping.encoders.tabular.names import TableError, read_path
from shaping.encoders.tabular.once import Finder
from shaping.encoders.tabular.read import Lines, listed_or_keyed, read_table, read_text
from shaping.encoders.tabular.write import write, write_text

if TYPE_CHECKING:
    from shaping.types import Json

_DEEP = 24  # deeper nests are written as JSON


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
        value = _read(Lines(text.split("\n")))
    return value


def _read(lines: Lines) -> Json:
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
    if not value or set(map(type, value)) != {dict}:
        return []
    if len(value) == 1:
        return _object(f"{label}[0]", value[0], finder, indent)  # type: ignore[arg-type]
    found = table(value, finder)  # type: ignore[arg-type]
    return write(f"{label}[{len(value)}]", found, indent)


def _keyed(label: str, value: dict[str, Json], finder: Finder, indent: int) -> list[str]:
    """Return an object whose members are records of one shape as a table with their names as a column."""
    records = [record for record in value.values() if type(record) is dict and record]
    if len(records) < 4 or len(records) < len(value):
        return []
    common = set(records[0]).intersection(*records)
    if 2 * len(common) < max(map(len, records)):
        return []
    found = keyed(list(value), records, finder)
    return write(f"{label}{{{len(records)}}}", found, indent)


def _object(label: str, value: dict[str, Json], finder: Finder, indent: int) -> list[str]:
    inner = indent + bool(label)
    opened = {key: _outline(name(key), member, finder, inner) for key, member in value.items()}
    if not any(opened.values()) and not any(map(_is_page, value.values())):
        return []
    pad = " " * inner
    lines = [f"{' ' * indent}{label}:"] if label else []
    for key, member in value.items():
        if opened[key]:
            lines += opened[key]
        elif type(member) is str:
            lines.append(write_text(name(key), member, inner))
        else:
            lines.append(f"{pad}{name(key)}: {quoted(member)}")
    return lines


def _is_page(value: Json) -> bool:
    """Tell whether a string is worth lines of its own."""
    return type(value) is str and value.count("\n") > 4


def _read_lines(lines: Lines, indent: int) -> Json:
    first = lines.peek() or ""
    if first[indent:] == "[0]:":
        lines.take()
        return [_read_lines(lines, indent + 1)]
    if first.startswith(("[", "{"), indent):
        return _records(lines.take(indent), lines, indent)
    value: dict[str, Json] = {}
    pad = " " * indent
    while (line := lines.peek()) is not None and line.startswith(pad):
        label = lines.take(indent)
        (key, *only), at = read_path(label, 0)
        member = _member(label[at:], lines, indent)
        value[str(key)] = [member] if only else member
    return value


def _member(rest: str, lines: Lines, indent: int) -> Json:
    found: Json | Missing = read_text(rest, lines)
    if not isinstance(found, Missing):
        return found
    if rest == ":":
        return _read_lines(lines, indent + 1)
    return _records(rest, lines, indent)


def _records(rest: str, lines: Lines, indent: int) -> Json:
    return listed_or_keyed(rest, read_table(rest, lines, indent))
