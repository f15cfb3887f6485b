"""Rows of cells become records: names from a header, and numbers where a whole column is numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST: Final = 4_000_000  # characters; a larger file of rows is text to page through
_NAME = re.compile(r"[A-Za-z_][\w .#%/()-]{0,39}")
_WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d{0,14})\.\d*[1-9]")


def are_names(cells: Sequence[str]) -> bool:
    """Whether the cells of a first row can be the names of columns."""
    return 2 <= len(cells) == len(set(cells)) and all(map(_NAME.fullmatch, cells))


def records(names: Sequence[str], body: Sequence[Sequence[str]]) -> list[dict[str, Any]] | None:
    """Return a record for each row, or None where a row has more or fewer cells than there are names."""
    if any(len(row) != len(names) for row in body):
        return None
    columns = [typed([row[at] for row in body]) for at in range(len(names))]
    return [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]


def typed(cells: list[str]) -> list[Any]:
    """Read a column as numbers where every cell is one, written as it would be written back."""
    if all(_WHOLE.fullmatch(cell) and cell != "-0" for cell in cells):
        return [int(cell) for cell in cells]
    if all(map(_DECIMAL.fullmatch, cells)):
        return [float(cell) for cell in cells]
    return list(cells)
