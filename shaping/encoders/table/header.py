"""Read names, headers and the cells of a row."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from json import JSONDecodeError, JSONDecoder
from typing import TYPE_CHECKING, Any, TypeAlias

from shaping.encoders.table.cells import ONLY, read_cell

if TYPE_CHECKING:
    from shaping.response import Json

Path: TypeAlias = "tuple[str | int, ...]"  # a 0 is the only element of a list

ALL_WITH = ", all with "
_NAME = re.compile(r'[^,{}\[\]=".:]+')
_CELL = re.compile(r"[^,{}]*")
_PATTERN = re.compile(r'(?=[^"\[])[^,{}]*\{\}[^,{}]*(?<!=\{\})')
_SECTION_PATTERN = re.compile(r'[^,{}"\[]*\{\}[^,{}]*')
_scan = JSONDecoder().raw_decode


class TableError(ValueError):
    """The text is not a table as this package writes them."""


@dataclass(slots=True)
class HeaderMembers:
    """What a header or a list of constants names."""

    columns: list[Path] = field(default_factory=list)
    patterns: dict[Path, str] = field(default_factory=dict)
    constants: list[tuple[Path, Json]] = field(default_factory=list)


def read_path(text: str, at: int) -> tuple[Path, int]:
    """Return the path that starts here and where it ends; a name that a space and more follows ends there."""
    path: list[str | int] = []
    while True:
        name, at = _name(text, at)
        path.append(name)
        if text.startswith(ONLY, at):
            path.append(0)
            at += len(ONLY)
        if not text.startswith(".", at):
            return tuple(path), at
        at += 1


def read_members(text: str, at: int = 0) -> tuple[HeaderMembers, int]:
    """Return what is named from here on, and where it ends: at the end or before what all rows have."""
    found = HeaderMembers()
    return found, _members(text, at, (), found)


def read_section(text: str, at: int) -> dict[Path, str]:
    """Return what a line above rows says of them: cells, and patterns for the cells of columns."""
    found: dict[Path, str] = {}
    while at < len(text):
        path, at = read_path(text, at)
        pattern = _SECTION_PATTERN.match(text, at + 1)
        stop = pattern.end() if pattern else _cell_end(text, at + 1)
        found[path] = text[at + 1 : stop]
        at = stop + 1
    return found


def split_cells(text: str) -> list[str]:
    """Return the cells of a row as they are written."""
    cells, at, end = [], 0, len(text)
    while at <= end:
        stop = _cell_end(text, at)
        cells.append(text[at:stop])
        if stop < end and text[stop] != ",":
            raise TableError(f"expected a comma at {stop + 1} of {text!r}")
        at = stop + 1
    return cells


def _members(text: str, at: int, prefix: Path, found: HeaderMembers) -> int:
    while True:
        steps, at = read_path(text, at)
        path = prefix + steps
        if text.startswith("{", at):
            at = _members(text, at + 1, path, found) + 1
        elif text.startswith("=", at) and (pattern := _PATTERN.match(text, at + 1)):
            found.columns.append(path)
            found.patterns[path] = pattern[0]
            at = pattern.end()
        elif text.startswith("=", at):
            stop = _cell_end(text, at + 1)
            found.constants.append((path, read_cell(text[at + 1 : stop])))
            at = stop
        else:
            found.columns.append(path)
        if not text.startswith(",", at) or text.startswith(ALL_WITH, at):
            return at
        at += 1


def _name(text: str, at: int) -> tuple[str, int]:
    if text.startswith('"', at):
        name, end = _quoted(text, at)
        return str(name), end
    found = _NAME.match(text, at)
    if found is None:
        raise TableError(f"expected a name at {at + 1} of {text!r}")
    return found[0], found.end()


def _cell_end(text: str, at: int) -> int:
    # Three dots stand before a list whose beginning was written above.
    start = at + text.startswith("…[", at)
    if text[start : start + 1] in ('"', "[", "{"):
        return _quoted(text, start)[1]
    found = _CELL.match(text, at)
    return found.end() if found else at


def _quoted(text: str, at: int) -> tuple[Any, int]:
    try:
        return _scan(text, at)
    except JSONDecodeError as error:
        raise TableError(f"expected JSON at {at + 1} of {text!r}") from error
