"""A Markdown table; a cell that could be misread is JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shaping.encoders.flat import records_of, rows_of
from shaping.encoders.table.cells import quoted, read_cell

if TYPE_CHECKING:
    from shaping.response import Json

_EDGE = re.compile(r" ?\| ?")


def encode(value: Json) -> str | None:
    """Write a list of records; nothing else has rows."""
    rows = rows_of(value)
    if rows is None:
        return None
    lines = [f"| {' | '.join(map(_escaped, row))} |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)


def decode(text: str) -> Json:
    """Read the records back."""
    rows = [_EDGE.split(line.removeprefix("| ").removesuffix(" |")) for line in text.split("\n")]
    return records_of([rows[0], *rows[2:]])


def _escaped(cell: str) -> str:
    """Return a cell without a bar: JSON can spell one."""
    if "|" not in cell:
        return cell
    said = cell if cell[0] in '"[{' else quoted(read_cell(cell))
    return said.replace("|", "\\u007c")
