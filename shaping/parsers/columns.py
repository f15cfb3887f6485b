"""Rows under named columns, separated by commas or tabs or aligned by spaces."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST: Final = 4_000_000  # characters; a larger file of rows is text to page through
_NAME = re.compile(r"[A-Za-z_][\w .#%/()-]{0,39}")
_HEADING = re.compile(r"[A-Z][A-Z0-9_ /()%.-]*")
_RULE = re.compile(r"[-=]+(?: +[-=]+)+")
_CELL = re.compile(r"\S+(?: \S+)*")
_WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d{0,14})\.\d*[1-9]")


def read_separated(text: str) -> list[dict[str, Any]] | None:
    """Read CSV or TSV: a line of names, and rows that all have as many cells."""
    first = text[:10_000].split("\n", 1)[0]
    delimiter = "\t" if "\t" in first else ","
    if delimiter not in first or len(text) > _MOST:
        return None
    try:
        rows = list(csv.reader(text.splitlines(), delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    names, body = rows[0], rows[1:]
    # Prose has commas too, and a space after each.
    if not body or not _are_names(names) or any(cell[:1] == " " for row in rows[:9] for cell in row):
        return None
    return _records(names, body)


def read_aligned(text: str) -> list[dict[str, Any]] | None:
    """Read a table whose columns start under their headings: in capitals, or with a rule of dashes below."""
    lines = [line.rstrip() for line in text.rstrip().splitlines()] if len(text) <= _MOST else []
    if len(lines) < 2:
        return None
    ruled = bool(_RULE.fullmatch(lines[1]))
    headings = [(found.start(), found[0]) for found in _CELL.finditer(lines[0])]
    if ruled:
        headings = _under_rule(lines[0], lines[1])
    elif not all(_HEADING.fullmatch(name) for _, name in headings):
        return None
    starts, names = [start for start, _ in headings], [name for _, name in headings]
    body = lines[2 if ruled else 1 :]
    if not body or not _are_names(names) or not all(_is_aligned(line, starts) for line in body):
        return None
    return _records(names, [list(_cells(line, starts)) for line in body])


def _under_rule(heading: str, rule: str) -> list[tuple[int, str]]:
    starts = [found.start() for found in re.finditer(r"[-=]+", rule)]
    return list(zip(starts, _cells(heading, starts), strict=True))


def _is_aligned(line: str, starts: Sequence[int]) -> bool:
    return bool(line) and all(start >= len(line) or line[start - 1] == " " for start in starts[1:]) and line[0] != " "


def _cells(line: str, starts: Sequence[int]) -> Iterator[str]:
    for start, stop in zip(starts, [*starts[1:], None], strict=True):
        yield line[start:stop].strip()


def _are_names(names: Sequence[str]) -> bool:
    return 2 <= len(names) == len(set(names)) and all(_NAME.fullmatch(name) for name in names)


def _records(names: Sequence[str], body: Sequence[Sequence[str]]) -> list[dict[str, Any]] | None:
    if any(len(row) != len(names) for row in body):
        return None
    columns = [_column([row[at] for row in body]) for at in range(len(names))]
    return [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _column(cells: list[str]) -> list[Any]:
    """Read a column as numbers where every cell is one, written as it would be written back."""
    if all(_WHOLE.fullmatch(cell) and cell != "-0" for cell in cells):
        return [int(cell) for cell in cells]
    if all(_DECIMAL.fullmatch(cell) for cell in cells):
        return [float(cell) for cell in cells]
    return list(cells)
