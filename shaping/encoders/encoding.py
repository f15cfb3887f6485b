"""The formats of a text, and the choice of the cheapest of them.

Compact JSON, CSV, Markdown and TOON are as others have defined them; a cell that could be misread is JSON.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from shaping.encoders import table
from shaping.encoders.table.cells import MISSING, Members, cell, quoted, read_cell
from shaping.parsers.json import read_json
from shaping.response import Json, import_extra
from shaping.tokens.sampling import cheap

# Measured on 1,660 values of 90 tools: a text this much shorter than compact JSON, or this much where both are longer
# than a screen, never has more tokens. In between, the guess of its tokens must be under this share of that for JSON.
_SHORTER, _SHORTER_AT_LENGTH, _SCREEN, _CHEAPER = 0.9, 0.93, 1500, 0.85
# Where lines stand as lines and not in quotes, which is cheaper than it is shorter, unless most begin with a digit:
# those cannot share a token with the space before them.
_SHORTER_BY_LINES, _DIGIT_LINES, _LINE_BREAK, _BEFORE_DIGIT = 1.02, 0.25, b"\\n", re.compile(rb"\\n\d")
_SMALL = 200  # characters of JSON below which a header costs more than the keys it saves


def encode_json(value: Json) -> str:
    """Write any value."""
    return orjson.dumps(value).decode()


def decode_json(text: str) -> Json:
    """Read it back."""
    value: Json = read_json(text)
    return value


def rows_of(value: Json) -> list[list[str]] | None:
    """Return a list of records as a row of names and rows of cells, or None where it is no such list."""
    if type(value) is not list or not value or not all(type(record) is dict for record in value):
        return None
    found = Members(value).columns()  # type: ignore[arg-type]
    if not found:
        return None
    # A name is a cell too, so that one that looks like a number or holds a comma is read back as it was.
    names = [cell(name) for name in found]
    return [names, *(list(map(cell, row)) for row in zip(*found.values(), strict=True))]


def records_of(rows: Sequence[Sequence[str]]) -> list[Json]:
    """Return the records that such rows stand for."""
    names = [str(read_cell(name)) for name in rows[0]]
    return [_record(names, map(read_cell, row)) for row in rows[1:]]


def _record(names: Sequence[str], values: Any) -> Json:
    return {name: value for name, value in zip(names, values, strict=False) if value is not MISSING}


def encode_csv(value: Json) -> str | None:
    """Write a list of records; nothing else has rows."""
    rows = rows_of(value)
    if rows is None:
        return None
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().removesuffix("\n")


def decode_csv(text: str) -> Json:
    """Read the records back."""
    # A record without any member is an empty line, which the reader would skip.
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    return records_of([row or [""] for row in csv.reader(io.StringIO(text))])


_EDGE = re.compile(r" ?\| ?")


def encode_markdown(value: Json) -> str | None:
    """Write a list of records; nothing else has rows."""
    rows = rows_of(value)
    if rows is None:
        return None
    lines = [f"| {' | '.join(map(_escaped, row))} |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)


def decode_markdown(text: str) -> Json:
    """Read the records back."""
    rows = [_EDGE.split(line.removeprefix("| ").removesuffix(" |")) for line in text.split("\n")]
    return records_of([rows[0], *rows[2:]])


def _escaped(cell: str) -> str:
    """Return a cell without a bar: JSON can spell one."""
    if "|" not in cell:
        return cell
    said = cell if cell[0] in '"[{' else quoted(read_cell(cell))
    return said.replace("|", "\\u007c")


def encode_toon(value: Json) -> str:
    """Write any value."""
    text: str = _toon().encode(value)
    return text


def decode_toon(text: str) -> Json:
    """Read it back."""
    value: Json = _toon().decode(text)
    return value


def _toon() -> Any:
    return import_extra("toon_format", "toon", "encoding 'toon'")


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write data as text, or None where a value has no such form, and to read it back exactly."""

    encode: Callable[[Json], str | None]
    decode: Callable[[str], Json]


FORMATS: dict[str, Format] = {
    "json": Format(encode_json, decode_json),
    "table": Format(table.encode, table.decode),
    "markdown": Format(encode_markdown, decode_markdown),
    "csv": Format(encode_csv, decode_csv),
    "toon": Format(encode_toon, decode_toon),
}


class UnknownEncodingError(ValueError):
    """No encoding has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"encoding is {name!r}; expected auto, {', '.join(sorted(FORMATS))}")


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text, and the encoding it is in: JSON where a format for lists of records was asked to write something else."""

    text: str
    encoding: str


def encode(
    value: Json,
    encoding: str = "auto",
    *,
    repeats: bool = True,
    constants: bool = True,
    lossless: bool = True,
    compact_json: bytes | None = None,
) -> Encoded:
    """Write a value; `auto` takes the cheapest form by tokens and never one larger than compact JSON.

    Every format reads back exactly; one that need not be `lossless` may give lists and JSON in strings another order.
    `compact_json` is the value's, where it is known.
    """
    if encoding == "auto":
        compact_json = orjson.dumps(value) if compact_json is None else compact_json
        return _cheapest(value, compact_json, repeats=repeats, constants=constants, lossless=lossless)
    if encoding == "table":
        return Encoded(table.encode(value, repeats=repeats, constants=constants, lossless=lossless), "table")
    if (text := _format(encoding).encode(value)) is not None:
        return Encoded(text, encoding)
    return Encoded(encode_json(value), "json")


def decode(text: str, encoding: str) -> Json:
    """Read back what `encode` wrote."""
    return _format(encoding).decode(text)


def _cheapest(value: Json, compact_json: bytes, *, repeats: bool, constants: bool, lossless: bool) -> Encoded:
    # Mostly only the length is asked for, and what is ASCII has it already.
    plain = compact_json if compact_json.isascii() else compact_json.decode()
    if len(plain) < _SMALL:
        return Encoded(compact_json.decode(), "json")
    text = table.encode(value, repeats=repeats, constants=constants, lossless=lossless)
    if _is_shorter(text, len(plain), compact_json) or (
        len(text) < len(plain) and cheap(text) < _CHEAPER * cheap(plain)
    ):
        return Encoded(text, "table")
    return Encoded(compact_json.decode(), "json")


def _is_shorter(text: str, size: int, compact_json: bytes) -> bool:
    """Return whether a text is so much shorter than JSON of this size that it cannot have more tokens."""
    if size < _SCREEN:
        return len(text) < _SHORTER * size
    if len(text) < _SHORTER_AT_LENGTH * size:
        return True
    lines = compact_json.count(_LINE_BREAK) if len(text) < _SHORTER_BY_LINES * size else 0
    return lines > 0 and len(_BEFORE_DIGIT.findall(compact_json)) < _DIGIT_LINES * lines


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise UnknownEncodingError(name)
    return FORMATS[name]
