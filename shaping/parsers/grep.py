"""Matches of a search in files and findings of compilers, `path:line:text` or `path:line:column: text`."""

from __future__ import annotations

import re
from typing import Any

from shaping.parsers.rows import LARGEST

_MATCH = re.compile(r"(?P<path>(?:[A-Za-z]:)?[^\s:][^:\n]*?):(?P<line>\d+):(?:(?P<column>\d+): ?)?(?P<text>.*)")
_NUMBERS = frozenset({"line", "column"})
_PATH = re.compile(r"[/\\.]")
_CLOCK = re.compile(r"[^:]*\d[T _]\d\d:\d\d:\d\d")  # the line begins with a time, and is no place in a file
_LEAST, _REPEAT = 6, 2  # matches, and matches a file on average


def parse(text: str) -> list[dict[str, Any]] | None:
    """Return the lines that matched, or what was found at them, where files have several each."""
    first = _MATCH.match(text)
    if first is None or not _PATH.search(first[1]) or _CLOCK.match(text) or len(text) > LARGEST:
        return None
    lines = text.strip("\n").split("\n")
    found = [_MATCH.fullmatch(line) for line in lines]
    # The same line again and again is no list of places.
    if len(lines) < _LEAST or not all(found) or 2 * len(set(lines)) < len(lines):
        return None
    rows = [match.groupdict() for match in found if match is not None]
    if len(rows) < _REPEAT * len({row["path"] for row in rows}):
        return None
    return [
        {name: int(said) if name in _NUMBERS else said for name, said in row.items() if said is not None}
        for row in rows
    ]
