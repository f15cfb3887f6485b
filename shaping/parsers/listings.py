"""What commands list line by line (commits, files, matches in files), and records that Markdown lists as sections."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from shaping.parsers.rows import matched, number

_COMMIT = re.compile(r"^commit ([0-9a-f]{7,64})(?: \(([^)\n]*)\))?$", re.MULTILINE)
_HEADER = re.compile(r"(Merge|Author|AuthorDate|Date|Commit|CommitDate|Reflog|Reflog message):[ \t]*(.*)")
_CHANGE = re.compile(r" (?P<path>\S.*?) +\| +(?P<lines>\d+|Bin(?: .*)?)(?: (?P<by>\+*-*))?")
_BLAMED = re.compile(
    r"(?P<commit>\^?[0-9a-f]{7,40})(?: (?P<path>\S+))? +\((?P<author>\S.*?) +"
    r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}) +(?P<line>\d+)\) ?(?P<text>.*)"
)
_COMMITS, _LINES = 3, 8
_INDENT = "    "


def parse_commits(text: str) -> Any:
    """Return the commits of a log, the files of `git diff --stat`, or who wrote which line; a diff is text."""
    if _CHANGE.match(text):
        return _changes(text.strip("\n").split("\n"))
    if _BLAMED.match(text):
        return matched(_BLAMED, text.strip("\n").split("\n"), _LINES)
    if not text.lstrip("\n").startswith("commit ") or "\ndiff --git " in text:
        return None
    starts = list(_COMMIT.finditer(text))
    if len(starts) < _COMMITS:
        return None
    ends = [start.start() for start in starts[1:]] + [len(text)]
    commits = [_commit(start, text[start.end() + 1 : end]) for start, end in zip(starts, ends, strict=True)]
    return None if None in commits else commits


def _commit(start: re.Match[str], text: str) -> dict[str, Any] | None:
    head, _, rest = text.partition("\n\n")
    found = [_HEADER.fullmatch(line) for line in head.rstrip("\n").split("\n")]
    if not all(found):
        return None
    commit: dict[str, Any] = {"commit": start[1]} | ({"refs": start[2]} if start[2] else {})
    commit |= {match[1]: match[2] for match in found if match is not None}
    lines = rest.rstrip("\n").split("\n")
    end = next((at for at, line in enumerate(lines) if line and not line.startswith(_INDENT)), len(lines))
    commit["message"] = "\n".join(line.removeprefix(_INDENT) for line in lines[:end]).rstrip("\n")
    if changes := [line for line in lines[end:] if line]:
        commit["changes"] = _changes(changes) or "\n".join(changes)
    return commit


def _changes(lines: list[str]) -> Any:
    """Read `path | 12 ++--`: how many lines, and whether they were added, taken away or both."""
    files = matched(_CHANGE, lines[:-1])
    if not files or not lines[-1].endswith(("(+)", "(-)", " changed")):
        return None
    for file in files:
        if signs := "".join(sorted(set(file.pop("by", "")))):
            file["by"] = signs
    return {"files": files, "sum": lines[-1].strip()}


_MEASURED = re.compile(r" *(?P<number>\d+(?:\.\d+)?[BKMGTP]?)[ \t]+(?P<path>\S.*)")
_PATH = re.compile(r"(?:[A-Za-z]:[\\/]|\.{0,2}/)?(?:[\w.@+~#=()\[\]%-]+/)*[\w.@+~#=()\[\]%-]+/?")
_SLASHES = 0.8  # of the lines of a list of paths have one


def parse_files(text: str) -> Any:
    """Return the paths that every line is or ends with."""
    lines = text.strip("\n").split("\n")
    if len(lines) < _LINES or "/" not in text:
        return None
    if not _MEASURED.fullmatch(lines[0]):
        return lines if _are_paths(lines) else None
    rows = matched(_MEASURED, lines)
    # The last line of `wc` is the sum of all.
    return rows if rows and _are_paths([str(row["path"]) for row in rows[:-1]]) else None


def _are_paths(lines: list[str]) -> bool:
    return sum("/" in line for line in lines) >= _SLASHES * len(lines) and all(map(_PATH.fullmatch, lines))


_MATCH = re.compile(
    r"(?P<path>(?:[A-Za-z]:)?[^\s:]+?):(?:(?P<line>\d+):(?:(?P<column>\d+): ?)?(?P<text>.*)|(?P<count>\d+)$)",
    re.MULTILINE,
)
_IN_A_PATH = re.compile(r"[/\\.]")
_CLOCK = re.compile(r"[^:]*\d[T _]\d\d:\d\d:\d\d")  # the line begins with a time, and is no place in a file
_AROUND = re.compile(r"-(\d+)-")  # between the path and the text of a line around a match
_MATCHES = 6


def parse_grep(text: str) -> list[dict[str, Any]] | None:
    """Return the lines that matched, or what was found at them, where files have several each."""
    first = _MATCH.search(text) if _AROUND.search(text.partition("\n")[0]) else _MATCH.match(text)
    if first is None or not _IN_A_PATH.search(first[1]) or _CLOCK.match(text):
        return None
    lines = text.strip("\n").split("\n")
    rows = matched(_MATCH, lines, _MATCHES) or _with_context(lines)
    # The same line again and again is no list of places.
    return None if rows is None or 2 * len(set(lines)) < len(lines) else rows


def _with_context(lines: list[str]) -> list[dict[str, Any]] | None:
    """Return matches with the lines around them: `17:` is the number of one that matched, `18-` of one that did not."""
    found = [_MATCH.fullmatch(line) for line in lines]
    paths = {match["path"] for match in found if match}
    rows = []
    for line, match in zip(lines, found, strict=True):
        if match and match["line"]:
            rows.append({"path": match["path"], "line": f"{match['line']}:", "text": line[match.end("line") + 1 :]})
        elif around := next((at for at in _AROUND.finditer(line) if line[: at.start()] in paths), None):
            rows.append({"path": line[: around.start()], "line": f"{around[1]}-", "text": line[around.end() :]})
        elif line != "--":
            return None
    return rows if len(rows) >= _MATCHES else None


_SECTION = re.compile(r"^#{2,4} (?:\d+\. )?", re.MULTILINE)
_LINK = re.compile(r"\[([^]]+)\]\(([^\s)]+)\)")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_FACT = re.compile(r"[-*] \*\*([^*:]{1,40}):?\*\*:? (.+)")
_RECORDS, _FACTS = 3, 2


def parse_sections(text: str) -> Any:
    """Return the records that sections of Markdown show: a heading, a line in bold, a list of `- **name**: value`."""
    is_list = _SECTION.match(text) and ("\n- **" in text or "\n* **" in text)
    rows = [_record(text[start:end]) for start, end in _sections(text)] if is_list else []
    return rows if len(rows) >= _RECORDS and None not in rows else None


def sections_span(text: str) -> tuple[int, int]:
    """Return where the first run of such sections in a text begins and ends."""
    run: list[tuple[int, int]] = []
    for span in _sections(text):
        if _record(text[slice(*span)]) is not None:
            run.append(span)
        elif len(run) >= _RECORDS:
            break
        else:
            run.clear()
    return (run[0][0], run[-1][1]) if run else (0, 0)


def _sections(text: str) -> list[tuple[int, int]]:
    return list(pairwise([*(found.start() for found in _SECTION.finditer(text)), len(text)]))


def _record(section: str) -> dict[str, Any] | None:
    head, *lines = (line.strip() for line in section.strip().split("\n"))
    heading = _SECTION.sub("", head)
    link = _LINK.fullmatch(heading)
    pairs: list[tuple[str, Any]] = [("heading", heading)] if link is None else [("heading", link[1]), ("url", link[2])]
    for line in filter(None, lines):
        if bold := _BOLD.fullmatch(line):
            pairs.append(("title", bold[1]))
        elif fact := _FACT.fullmatch(line):
            pairs.append((fact[1], number(fact[2])))
        else:
            return None
    row = dict(pairs)
    return row if len(row) == len(pairs) and len(row) >= _FACTS + 1 else None
