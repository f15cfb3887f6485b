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
_ODD = re.compile(rf"[,{{}}\x00-\x1f\x7f]|^[ =\"\[]|^-$| $|^$|^(?:{_LITERAL})$")
# Clears most columns in one search of the whole: none of these anywhere, and no cell that begins like a literal.
_ODD_MARK = re.compile(r"[,{}\"\[\x00-\x09\x0b-\x1f\x7f]")
_SUSPECT = frozenset(" =-0123456789tfn") | {""}
_ODD_STARTS = frozenset(" =") | {""}
_LITERAL_ENDS = frozenset("0123456789el-")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_LINE_STARTS = frozenset(' "[{') | {""}
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
    # Each test by itself: one pattern for all of them would be tried at every character of a long line.
    odd = text[:1] in _LINE_STARTS or text[-1] == " " or (not text.isprintable() and _CONTROL.search(text))
    return quoted(text) if odd or _LITERALS.fullmatch(text) else text


def name(key: str) -> str:
    """Return a member's name as it stands in headers and before colons."""
    return quoted(key) if _ODD_NAME.search(key) else key


def texts(column: Sequence[str]) -> list[str]:
    """Return a column of strings as cells."""
    first = column[0]
    if first == column[-1] and column.count(first) == len(column):
        return [cell(first)] * len(column)
    joined = "\n".join(column)
    if _ODD_MARK.search(joined) or joined.count("\n") >= len(column) or " \n" in joined or joined.endswith(" "):
        return [quoted(text) if _ODD.search(text) else text for text in column]
    starts = {text[:1] for text in column}
    if _SUSPECT.isdisjoint(starts):
        return list(column)
    if _ODD_STARTS.isdisjoint(starts) and _LITERAL_ENDS.isdisjoint({text[-1:] for text in column}):
        return list(column)
    return [quoted(text) if text[:1] in _SUSPECT and _ODD.search(text) else text for text in column]


def numbers(column: Sequence[int] | Sequence[float]) -> list[str]:
    """Return a column of numbers as cells."""
    return orjson.dumps(column)[1:-1].decode().split(",")


def cells(column: Sequence[Any]) -> list[str]:
    """Return a column of anything as cells."""
    present = [value for value in column if type(value) is str]
    if 2 * len(present) < len(column):
        return ["" if value is MISSING else cell(value) for value in column]
    done = iter(texts(present))
    return [next(done) if type(value) is str else "" if value is MISSING else quoted(value) for value in column]


def read_cell(text: str) -> Any:
    """Read a cell or a line back."""
    if not text:
        return MISSING
    if text[0] in '"[{' or _LITERALS.fullmatch(text):
        return orjson.loads(text)
    return text
