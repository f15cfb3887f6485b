"""Read the names and values of a header and the cells of a row."""

from __future__ import annotations

import re
from json import JSONDecodeError, JSONDecoder
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from shaping.encoders.table.cells import MISSING, read_cell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shaping.response import Json


class Pair(NamedTuple):
    """A step into a map that is written as a list of its entries: the names of the key and of the value."""

    key: str
    value: str


Step: TypeAlias = "str | int | Pair"  # a 0 is the only element of a list
Path: TypeAlias = tuple[Step, ...]
Found: TypeAlias = "tuple[list[Path], list[tuple[Path, Json]], list[tuple[Path, Path]]]"  # columns, constants, same

_NAME = re.compile(r'[^,{}\[\]=".:]+')
_COUNT = re.compile(r"\[\d*\]")
_CELL = re.compile(r"[^,{}]*")
_scan = JSONDecoder().raw_decode


class TableError(ValueError):
    """The text is not a table as this package writes them."""


def read_path(text: str, at: int) -> tuple[Path, int]:
    """Return the path that starts here and where it ends."""
    path: list[Step] = []
    while True:
        name, at = _name(text, at)
        path.append(name)
        if text.startswith("[0]", at):
            path.append(0)
            at += 3
        elif text.startswith("[", at) and not _COUNT.match(text, at):
            key, at = _name(text, at + 1)
            value, at = _name(text, at + 1)
            path.append(Pair(key, value))
            at += 1
        if not text.startswith(".", at):
            return tuple(path), at
        at += 1


def read_members(text: str) -> Found:
    """Return a header's columns, constants and repetitions."""
    found: Found = ([], [], [])
    if _members(text, 0, (), found) != len(text):
        raise TableError(f"expected names and commas, got {text!r}")
    return found


def read_cells(text: str) -> Iterator[Any]:
    """Return the values of a row."""
    at, end = 0, len(text)
    while at <= end:
        value, at = _value(text, at)
        yield value
        if at < end and text[at] != ",":
            raise TableError(f"expected a comma at {at + 1} of {text!r}")
        at += 1


def _members(text: str, at: int, prefix: Path, found: Found) -> int:
    columns, constants, same = found
    while True:
        steps, at = read_path(text, at)
        path = prefix + steps
        if text.startswith("{", at):
            at = _members(text, at + 1, path, found) + 1
        elif text.startswith("==", at):
            source, at = read_path(text, at + 2)
            same.append((path, source))
        elif text.startswith("=", at):
            value, at = _value(text, at + 1)
            constants.append((path, value))
        else:
            columns.append(path)
        if not text.startswith(",", at):
            return at
        at += 1


def _name(text: str, at: int) -> tuple[str, int]:
    if text.startswith('"', at):
        return _quoted(text, at)
    found = _NAME.match(text, at)
    if found is None:
        raise TableError(f"expected a name at {at + 1} of {text!r}")
    return found[0], found.end()


def _value(text: str, at: int) -> tuple[Any, int]:
    if text[at : at + 1] in ('"', "[", "{"):
        return _quoted(text, at)
    found = _CELL.match(text, at)
    if found is None:
        return MISSING, at
    return read_cell(found[0]), found.end()


def _quoted(text: str, at: int) -> tuple[Any, int]:
    try:
        return _scan(text, at)
    except JSONDecodeError as error:
        raise TableError(f"expected JSON at {at + 1} of {text!r}") from error
