"""Records as plain rows: one column a member, nested values as JSON in their cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.encoders.table.cells import MISSING, cell, read_cell
from shaping.encoders.table.columns import columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.response import Json


def rows_of(value: Json) -> list[list[str]] | None:
    """Return a list of records as a row of names and rows of cells, or None where it is no such list."""
    if type(value) is not list or not value or not all(type(record) is dict for record in value):
        return None
    found = columns(value)  # type: ignore[arg-type]
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
