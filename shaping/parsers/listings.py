"""What commands list line by line (commits, files, matches in files), and records that Markdown lists as sections."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from shaping.parsers.rows import has_code, matched, number
from shaping.parsers.yaml import looks_like_yaml

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
    first = text[:_HEAD].lstrip("\n").partition("\n")[0]
    measured = _MEASURED.fullmatch(first)
    if not measured and not _PATH.fullmatch(first):
        return None
    lines = text.strip("\n").split("\n")
    if len(lines) < _LINES or "/" not in text:
        return None
    if not measured:
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
_RULE = re.compile(r"^[ \t]*([-=*_])\1{2,}[ \t]*$", re.MULTILINE)
# A rule below a heading of its own, or between documents of YAML.
_NO_END = re.compile(r"(?:\A|\n\n)[^:\n]+\n[-=]{3,}\n|^\w+:$", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n\n(?=\S)")
_HEADED = re.compile(r"\n\n(?=\S)(?![^\n]*:(?:\*\*)? )")  # by no fact
# What a record begins with, or what stands before it. The first three begin a line: looked for with the line break
# before them, they are found ten times as fast.
_RULED = re.compile(r"\n[ \t]*([-=*_])\1{2,}[ \t]*$", re.MULTILINE)
_BEGINNINGS = (re.compile(r"\n#{2,4} "), re.compile(r"\n\d{1,3}[.)] "), _RULED, _PARAGRAPH)
_LINK = re.compile(r"\[([^]]+)\]\(([^\s)]+)\)")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_FACT = re.compile(
    r"^([ \t]*+)(?:[-*•] )?(?:\*\*([^*:\n]{1,40})(?::\*\*|\*\*:)|"
    r"((?:[^\x00-\x7f]{1,3} )?[^\W\d_][\w /().%&'-]{0,39}+):) +(\S.*)$",
    re.MULTILINE,
)
_COLON = re.compile(r":(?:\*\*)? ")  # the first colon of a fact
_RECORDS, _FACTS = 3, 2
_HEAD, _LONG = 4096, 32_000  # characters
_COMMON = 0.8  # of the records have a name that all are meant to have


def parse_sections(text: str) -> list[dict[str, Any]] | None:
    """Return records of a heading and lines of `name: value` each, as Markdown and numbered lists show them."""
    rows, start, end = _find_records(text)
    around = text[:start] + text[end:]
    return rows if rows and not _RULE.sub("", around).strip() else None


def sections_span(text: str) -> tuple[int, int]:
    """Return where the first run of such records in a text begins and ends."""
    _, start, end = _find_records(text)
    return start, end


def _find_records(text: str) -> tuple[list[dict[str, Any]], int, int]:
    """Return the first run of records that have names in common, with its beginning and its end."""
    nothing: tuple[list[dict[str, Any]], int, int] = ([], 0, 0)
    # A long text that does not begin with some, after a few sentences, is about something else.
    beginning = text[: text.rfind("\n", 0, _LONG) + 1] if len(text) > _LONG else ""
    if beginning and not _find_records(beginning)[0]:
        return nothing
    # No more is counted than is asked for: a long text has thousands.
    colons, paragraphs, rules = (len(text.split(part, _RECORDS * _FACTS)) - 1 for part in (":", "\n\n", "\n--"))
    if colons < _RECORDS * _FACTS or paragraphs + rules < _RECORDS - 1:
        return nothing
    # Rows of a database's client, which `parse_pairs` reads, and code, of which the first lines mostly tell.
    if text.startswith("1. row\n") or has_code(text[: text.rfind("\n", 0, _HEAD) + 1]):
        return nothing
    ways = [(one, starts) for one in _BEGINNINGS if len(starts := _starts(text, one)) >= _RECORDS - 1]
    facts = [(fact.start(), _name(fact)) for fact in _find_facts(text)] if ways else []
    names = {name for name, count in Counter(name for _, name in facts).items() if count >= _RECORDS}
    if len(names) < _FACTS:
        return nothing
    places = [at for at, name in facts if name in names]
    run = next((found for way in ways if (found := _first_run(text, *way, names, places))), nothing)
    return nothing if run is nothing or has_code(text) or looks_like_yaml(text) else run


def _find_facts(text: str) -> Iterator[re.Match[str]]:
    """Yield the facts of a text, of which most have few lines with such a colon."""
    end = 0
    while end >= 0 and (colon := _COLON.search(text, end)):
        if fact := _FACT.match(text, text.rfind("\n", 0, colon.start()) + 1):
            yield fact
        end = text.find("\n", colon.end())


def _starts(text: str, beginning: re.Pattern[str]) -> list[int]:
    """Return where records may begin so; those of paragraphs have a heading, and else are for `parse_pairs`."""
    if beginning is not _PARAGRAPH:
        starts = [found.start() for found in beginning.finditer(f"\n{text}")]
        return [] if beginning is _RULED and starts and _NO_END.search(text) else starts
    return [found.end() for found in _PARAGRAPH.finditer(text)] if _HEADED.search(text) else []


def _first_run(
    text: str, beginning: re.Pattern[str], starts: list[int], names: set[str], places: list[int]
) -> tuple[list[dict[str, Any]], int, int] | None:
    """Return the first run of records that begin so; facts with one of these names stand at these places."""
    run: list[tuple[int, int]] = []
    rows: list[dict[str, Any]] = []
    for span in pairwise(sorted({0, *starts, len(text)})):
        facts = bisect_left(places, span[1]) - bisect_left(places, span[0])
        row = _record(text[slice(*span)], names, apart=beginning is _RULED) if facts >= _FACTS else None
        if row is not None:
            if beginning is _PARAGRAPH and "heading" not in row:
                return None  # that is for `parse_pairs`
            run.append(span)
            rows.append(row)
        elif len(rows) >= _RECORDS:
            break
        else:
            run, rows = [], []
    common = Counter(name for row in rows for name in row if name in names)
    if len(rows) < _RECORDS or sum(count >= _COMMON * len(rows) for count in common.values()) < _FACTS:
        return None
    return rows, run[0][0], run[-1][1]


def _record(section: str, names: set[str], *, apart: bool) -> dict[str, Any] | None:
    """Return a heading, what has one of these names, and the text below; only values set `apart` have many lines."""
    lines = section.split("\n")
    for end in (0, -1):
        while lines and (not lines[end].strip() or _RULE.fullmatch(lines[end])):
            del lines[end]
    found = [(at, fact) for at, line in enumerate(lines) if (fact := _FACT.match(line)) and _name(fact) in names]
    facts = [(at, fact) for at, fact in found if fact[1] == found[0][1][1]]
    if len(facts) < _FACTS:
        return None
    above = [line.strip() for line in lines[: facts[0][0]] if line.strip()]
    pairs = _heading(above)
    ends = [at for at, _ in facts[1:]] + [len(lines)]
    for (at, fact), end in zip(facts, ends, strict=True):
        name, value = _name(fact), fact[4].rstrip()
        more = [line.removeprefix(fact[1]).rstrip() for line in lines[at + 1 : end]]
        if any(more) and not apart and end < len(lines):
            return None
        if any(more) and not apart and not more[0]:
            pairs += [(name, number(value)), ("text", "\n".join(more).strip("\n"))]
        else:
            pairs.append((name, "\n".join([value, *more]).rstrip() if any(more) else number(value)))
    row = dict(pairs)
    return row if len(above) <= 1 + ("title" in row) and len(row) == len(pairs) else None


def _name(fact: re.Match[str]) -> str:
    return str(fact[2] or fact[3])


def _heading(above: list[str]) -> list[tuple[str, Any]]:
    """Return what the lines above the facts say: a heading, which may be a link, and a title in bold."""
    if not above:
        return []
    heading = _SECTION.sub("", above[0])
    link = _LINK.fullmatch(heading)
    pairs = [("heading", heading.replace("**", ""))] if link is None else [("heading", link[1]), ("url", link[2])]
    bold = _BOLD.fullmatch(above[1]) if len(above) > 1 else None
    return [*pairs, ("title", bold[1])] if bold else pairs
