"""Scalars as cells: bare where that cannot be misread, JSON where it could."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import orjson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.types import Json


class Missing:
    """The type of `MISSING`: a record has no such member, which is not the same as null."""


MISSING: Final = Missing()
KEY = "(key)"  # the column of a table made of an object: the members' names

_LITERAL = r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?"
_LITERALS = re.compile(_LITERAL)
# A bare cell has no comma or brace, no control character, no edge that is a space or opens JSON, and is no literal.
_ODD = re.compile(rf"[,{{}}\x00-\x1f\x7f]|^[ \"\[]|^-$| $|^$|^(?:{_LITERAL})$")
# The same over a whole column joined by newlines, so that one search clears all of its cells.
_ODD_COLUMN = re.compile(rf"[,{{}}\x00-\x09\x0b-\x1f\x7f]|^[ \"\[]|^-$| $|^$|^(?:{_LITERAL})$", re.MULTILINE)
_ODD_LINE = re.compile(rf"[\x00-\x1f\x7f]|^[ \"\[{{]| $|^$|^(?:{_LITERAL})$")
_ODD_NAME = re.compile(r"[,{}\[\]=\".:\x00-\x1f\x7f]|^[ (]|^-$| $|^$")


def quoted(value: Json) -> str:
    """Compact JSON."""
    return orjson.dumps(value).decode()


def cell(value: Any) -> str:
    """Return one value as a cell; a missing one is empty."""
    if type(value) is str:
        return quoted(value) if _ODD.search(value) else value
    return "" if value is MISSING else quoted(value)


def line(text: str) -> str:
    """Return a string as the rest of a line: bare unless it could be misread."""
    return quoted(text) if _ODD_LINE.search(text) else text


def name(key: str) -> str:
    """Return a member's name as it stands in headers and before colons."""
    return quoted(key) if _ODD_NAME.search(key) else key


def texts(column: Sequence[str]) -> list[str]:
    """Return a column of strings as cells."""
    joined = "\n".join(column)
    if joined.count("\n") == len(column) - 1 and not _ODD_COLUMN.search(joined):
        return list(column)
    return [quoted(text) if _ODD.search(text) else text for text in column]


def read_cell(text: str) -> Any:
    """Read a cell or a line back."""
    if not text:
        return MISSING
    if text[0] in '"[{' or _LITERALS.fullmatch(text):
        return orjson.loads(text)
    return text
