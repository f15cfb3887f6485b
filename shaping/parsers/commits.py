"""Commits as `git log` prints them, with their changes where it was asked for those, and lines as `git blame` does."""

from __future__ import annotations

import re
from typing import Any

from shaping.parsers.rows import LARGEST, number

_COMMIT = re.compile(r"^commit ([0-9a-f]{7,64})(?: \(([^)\n]*)\))?$", re.MULTILINE)
_HEADER = re.compile(r"(Merge|Author|AuthorDate|Date|Commit|CommitDate|Reflog|Reflog message):[ \t]*(.*)")
_CHANGE = re.compile(r" (\S.*?) +\| +(\d+|Bin(?: .*)?)(?: (\+*-*))?")
_BLAMED = re.compile(
    r"(?P<commit>\^?[0-9a-f]{7,40})(?: (?P<path>\S+))? +\((?P<author>\S.*?) +"
    r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}) +(?P<line>\d+)\) ?(?P<text>.*)"
)
_LEAST, _LINES = 3, 8  # commits, and lines
_INDENT = "    "


def parse(text: str) -> Any:
    """Return the commits of a log, the files of `git diff --stat`, or who wrote which line; a diff is text."""
    if _CHANGE.match(text) and len(text) <= LARGEST:
        return _changes(text.strip("\n").split("\n"))
    if _BLAMED.match(text) and len(text) <= LARGEST:
        return _blamed(text.strip("\n").split("\n"))
    if not text.lstrip("\n").startswith("commit ") or len(text) > LARGEST or "\ndiff --git " in text:
        return None
    starts = list(_COMMIT.finditer(text))
    if len(starts) < _LEAST:
        return None
    ends = [start.start() for start in starts[1:]] + [len(text)]
    commits = [_commit(start, text[start.end() + 1 : end]) for start, end in zip(starts, ends, strict=True)]
    return None if None in commits else commits


def _blamed(lines: list[str]) -> list[dict[str, Any]] | None:
    found = [_BLAMED.fullmatch(line) for line in lines]
    if len(lines) < _LINES or not all(found):
        return None
    rows = [match.groupdict() for match in found if match is not None]
    return [
        {key: int(said) if key == "line" else said for key, said in row.items() if said is not None} for row in rows
    ]


def _commit(start: re.Match[str], text: str) -> dict[str, Any] | None:
    head, _, rest = text.partition("\n\n")
    found = [_HEADER.fullmatch(line) for line in head.rstrip("\n").split("\n")]
    if not all(found):
        return None
    commit: dict[str, Any] = {"commit": start[1]}
    if start[2]:
        commit["refs"] = start[2]
    commit |= {match[1]: match[2] for match in found if match is not None}
    lines = rest.rstrip("\n").split("\n")
    end = next((at for at, line in enumerate(lines) if line and not line.startswith(_INDENT)), len(lines))
    commit["message"] = "\n".join(line.removeprefix(_INDENT) for line in lines[:end]).rstrip("\n")
    rest_lines = [line for line in lines[end:] if line]
    if rest_lines:
        commit["changes"] = _changes(rest_lines) or "\n".join(rest_lines)
    return commit


def _changes(lines: list[str]) -> Any:
    """Read `path | 12 ++--`: how many lines, and whether they were added, taken away or both."""
    found = [_CHANGE.fullmatch(line) for line in lines[:-1]]
    if not found or not all(found) or not lines[-1].endswith(("(+)", "(-)", " changed")):
        return None
    files = [
        {"path": match[1], "lines": number(match[2]), "by": "".join(sorted(set(match[3] or "")))}
        for match in found
        if match is not None
    ]
    return {
        "files": [{key: said for key, said in each.items() if said != ""} for each in files],
        "sum": lines[-1].strip(),
    }
