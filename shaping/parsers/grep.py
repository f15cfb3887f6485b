"""Matches of a search in files, `path:line:text`: by path, then by line."""

from __future__ import annotations

import re
from typing import Any

from shaping.parsers.rows import LARGEST

_MATCH = re.compile(r"((?:[A-Za-z]:)?[^\s:][^:\n]*?):(\d+):(?:(\d+):)?(.*)")
_PATH = re.compile(r"[/\\.]")
_LEAST, _REPEAT = 6, 2  # matches, and matches a file on average


def parse(text: str) -> dict[str, Any] | None:
    """Return the lines that matched in each file, where files have several each."""
    first = _MATCH.match(text)
    if first is None or not _PATH.search(first[1]) or len(text) > LARGEST:
        return None
    lines = text.strip("\n").split("\n")
    found = [_MATCH.fullmatch(line) for line in lines]
    if len(lines) < _LEAST or not all(found):
        return None
    files: dict[str, dict[str, str]] = {}
    for match in found:
        assert match is not None  # noqa: S101 (all of them matched)
        path, line, column, words = match.groups()
        at = line if column is None else f"{line}:{column}"
        if at in files.setdefault(path, {}):
            return None
        files[path][at] = words
    return files if len(lines) >= _REPEAT * len(files) else None
