"""Tables whose columns are aligned by spaces under their headings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from shaping.parsers.rows import LARGEST, are_names, records

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_HEADING = re.compile(r"[A-Z][A-Z0-9_ /()%.-]*")
_RULE = re.compile(r"[-=]+(?: +[-=]+)+")
_CELL = re.compile(r"\S+(?: \S+)*")


def parse(text: str) -> list[dict[str, Any]] | None:
    """Return the records of a table whose headings are in capitals or have a rule of dashes below them."""
    lines = [line.rstrip() for line in text.rstrip().splitlines()] if len(text) <= LARGEST else []
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
    if not body or not are_names(names) or not all(_is_aligned(line, starts) for line in body):
        return None
    return records(names, [list(_cells(line, starts)) for line in body])


def _under_rule(heading: str, rule: str) -> list[tuple[int, str]]:
    starts = [found.start() for found in re.finditer(r"[-=]+", rule)]
    return list(zip(starts, _cells(heading, starts), strict=True))


def _is_aligned(line: str, starts: Sequence[int]) -> bool:
    return bool(line) and all(start >= len(line) or line[start - 1] == " " for start in starts[1:]) and line[0] != " "


def _cells(line: str, starts: Sequence[int]) -> Iterator[str]:
    for start, stop in zip(starts, [*starts[1:], None], strict=True):
        yield line[start:stop].strip()
