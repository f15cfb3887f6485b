"""Files as commands list them: `ls -l` with its folders, `du` and `wc` as numbers with paths, `find` as paths."""

from __future__ import annotations

import re
from typing import Any

from shaping.parsers.rows import LARGEST, number

_ENTRY = re.compile(
    r"(?P<mode>[bcdlps-][rwxsStT-]{9}[.+@]?) +(?P<links>\d+) +(?P<owned_by>\S+) +(?P<group>\S+) +"
    r"(?P<size>\d+(?:, *\d+)?|[\d.,]+[BKMGTP]) +"
    r"(?P<modified>[A-Z][a-z]{2} +\d+ +[\d:]+|\d+ [A-Z][a-z]{2} +[\d:]+|\d{4}-\d\d-\d\d \d\d:\d\d(?:\S* [+-]\d{4})?) "
    r"(?P<name>.+)"
)
_TOTAL = re.compile(r"total ([\d.,]+[BKMGTP]?)")
_MEASURED = re.compile(r" *(\d+(?:\.\d+)?[BKMGTP]?)[ \t]+(\S.*)")
_FOLDER = re.compile(r"(\S.*):")
_PATH = re.compile(r"(?:[A-Za-z]:[\\/]|\.{0,2}/)?(?:[\w.@+~#=()\[\]%-]+/)*[\w.@+~#=()\[\]%-]+/?")
_LEAST = 8  # lines
_SLASHES = 0.8  # of the lines of a list of paths have one


def parse(text: str) -> Any:
    """Return the entries of one folder or of several, or the paths that every line ends with."""
    if len(text) > LARGEST:
        return None
    head = text[:2000].split("\n", 3)[:3]
    if any(_TOTAL.fullmatch(line) or _ENTRY.fullmatch(line) for line in head):
        return _folders(text)
    lines = text.strip("\n").split("\n")
    if len(lines) < _LEAST:
        return None
    if _MEASURED.fullmatch(lines[0]) and "/" in text:
        return _measured(lines)
    return lines if _are_paths(lines) else None


def _folders(text: str) -> Any:
    """Read blocks of entries, each below its folder's name and total where they are given."""
    folders: list[dict[str, Any]] = []
    for block in text.strip("\n").split("\n\n"):
        lines = block.split("\n")
        folder: dict[str, Any] = {}
        named = _FOLDER.fullmatch(lines[0])
        if named and not _ENTRY.fullmatch(lines[0]):
            folder["folder"] = named[1]
            lines = lines[1:]
        if lines and (total := _TOTAL.fullmatch(lines[0])):
            folder["total"] = number(total[1])
            lines = lines[1:]
        found = [_ENTRY.fullmatch(line) for line in lines]
        if not all(found):
            return None
        folder["entries"] = [
            {name: number(said) for name, said in match.groupdict().items()} for match in found if match is not None
        ]
        folders.append(folder)
    if sum(len(folder["entries"]) for folder in folders) < _LEAST:
        return None
    return folders if len(folders) > 1 else folders[0]


def _measured(lines: list[str]) -> list[dict[str, Any]] | None:
    found = [_MEASURED.fullmatch(line) for line in lines]
    if not all(found):
        return None
    pairs = [(match[1], match[2]) for match in found if match is not None]
    # The last line of `wc` is the sum of all.
    if not _are_paths([path for _, path in pairs[:-1]]):
        return None
    return [{"number": number(size), "path": path} for size, path in pairs]


def _are_paths(lines: list[str]) -> bool:
    return sum("/" in line for line in lines) >= _SLASHES * len(lines) and all(map(_PATH.fullmatch, lines))
