"""The formats of a text: compact JSON, CSV, Markdown and TOON as others have defined them, and our own table.

A cell that could be misread is JSON.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from shaping.encoders import table
from shaping.encoders.table.cells import MISSING, Members, cell, quoted, read_cell
from shaping.parsers.json import read_json
from shaping.response import Json, import_extra


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
    pairs = (zip(names, map(read_cell, row), strict=False) for row in rows[1:])
    return [{name: value for name, value in row if value is not MISSING} for row in pairs]


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
    "json": Format(quoted, read_json),
    "table": Format(table.encode, table.decode),
    "markdown": Format(encode_markdown, decode_markdown),
    "csv": Format(encode_csv, decode_csv),
    "toon": Format(encode_toon, decode_toon),
}
