"""Rows of cells become records: names from a header, and numbers where a whole column is numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST: Final = 4_000_000  # characters; a larger file of rows is text to page through
_NAME = re.compile(r"[A-Za-z_#%@(/][\w .,:;#%@/()<>'?&*+-]{0,59}")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")


def are_names(cells: Sequence[str]) -> bool:
    """Whether the cells of a first row can be the names of columns."""
    return 2 <= len(cells) == len(set(cells)) and all(map(_NAME.fullmatch, cells))


def records(names: Sequence[str], body: Sequence[Sequence[str]]) -> list[dict[str, Any]] | None:
    """Return a record for each row, or None where a row has more or fewer cells than there are names."""
    if any(len(row) != len(names) for row in body):
        return None
    columns = [_column([row[at] for row in body]) for at in range(len(names))]
    return [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]


def number(text: str) -> str | int | float:
    """Read a number that would be written back as it stands; anything else is text."""
    if not _NUMBER.fullmatch(text) or text == "-0":
        return text
    if "." not in text:
        return int(text)
    return value if repr(value := float(text)) == text else text


def _column(cells: list[str]) -> list[Any]:
    """Read a column as numbers where every cell is one."""
    values = list(map(number, cells))
    return list(cells) if str in set(map(type, values)) else values
