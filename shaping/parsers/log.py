"""Log lines that all begin alike: time, host, process, level, then the message."""

from __future__ import annotations

import re
from typing import Any

from shaping.parsers.rows import number

_LEVELS = r"(?i:trace|debug|info|notice|warn|warning|error|severe|critical|fatal)"
_LEVEL = rf"(?P<level>{_LEVELS})"
_CLOCK = r"\d\d:\d\d:\d\d(?:\.\d+)?"
_TIMES = "|".join(
    (
        rf"\d{{4}}[-/]\d\d[-/]\d\d[T ]{_CLOCK}(?:,\d{{3}}(?=Z|[+-]\d\d))?(?:Z|[+-]\d\d:?\d\d)?",
        rf"\d\d/\d\d/\d\d {_CLOCK}",
        rf"(?:[A-Z][a-z]{{2}} )?[A-Z][a-z]{{2}} [ \d]\d {_CLOCK}(?: \d{{4}})?",
    )
)
# Thousandths after a comma are a member of their own, which in a row of cells is written as it stands here.
_TIME = rf"\[?(?P<time>{_TIMES})(?:,(?P<ms>\d{{3}}))?\]?"
_SYSLOG, _SYSLOG_OTHERS = (
    rf"{_TIME} (?!{_LEVELS} )(?P<host>[\w.-]+) {process}(?P<message>.*)"
    for process in (r"(?P<process>[^\s:\[]+)(?:\[(?P<pid>\d+)\])?: ", r"(?:(?P<process>[^:]{1,60}): )?")
)
_ACCESS = (
    r'(?P<client>[\w.:-]+) (?P<ident>\S+) (?P<user>\S+) \[(?P<time>[^\]]+)\] "(?P<request>[^"]*)"'
    r' (?P<status>\d{3}) (?P<size>\d+|-)(?: "(?P<referrer>[^"]*)" "(?P<agent>[^"]*)")?'
)
_GAP = r"(?: - |[ ,:-])\s*"
_LOGGER = r"(?P<logger>[A-Za-z_][\w$-]*(?:[./:][\w$<>-]+)*)"
_END = r"(?:\s+-\s+|:\s+|\s+(?=\[))"
_INNER = r"[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*"  # of brackets, which may hold others
_THREAD = rf"\[(?P<thread>{_INNER})\]"
_TAIL = rf"(?:{_GAP}+)?(?:\[(?P<context>{_INNER})\] ?)?(?:- )?(?P<message>.*)"
_FILE = r"(?:(?P<file>[\w./-]*\.log[\w.:-]*)[: ])?"
_FORMS = tuple(
    re.compile(form)
    for form in (
        _SYSLOG,
        _ACCESS,
        rf"{_FILE}{_TIME}(?:\s+(?P<pid>\d+))?{_GAP}+\[?{_LEVEL}\]?:?\s+(?:{_THREAD}(?:{_GAP})*)?(?:{_LOGGER}{_END})?{_TAIL}",
        rf"{_FILE}{_TIME}{_GAP}+{_THREAD}(?:{_GAP})*\[?{_LEVEL}\]?:?\s+(?:{_LOGGER}{_END})?{_TAIL}",
        rf"{_FILE}{_TIME}{_GAP}+\[?{_LOGGER}\]?(?:{_GAP})+\[?{_LEVEL}\]?(?:{_GAP}|:)+(?P<message>.*)",
        rf"{_TIME}(?:{_GAP})+(?P<message>\S.*)",
        rf"{_LEVEL}:(?P<logger>[\w.-]+):(?P<message>.*)",
    )
)
# A line among them that has a time but is written otherwise is a record too.
_SYSLOG_OTHER, _OTHER = re.compile(_SYSLOG_OTHERS), _FORMS[-2]
_LEAST, _MOST = 8, 0.5  # lines that begin so, and the part of all lines that may follow from the one before


def parse_log(text: str) -> list[dict[str, Any]] | None:
    """Return a record for each line that begins with a time; a line that does not belongs to the message above it."""
    first = text[:2000].split("\n", 1)[0]
    form = next((form for form in _FORMS if form.fullmatch(first)), None)
    if form is None:
        return None
    found: list[dict[str, Any]] = []
    lines = text.strip("\n").split("\n")
    other = _SYSLOG_OTHER if form is _FORMS[0] else _OTHER
    for line in lines:
        match = form.fullmatch(line.rstrip("\r")) or other.fullmatch(line.rstrip("\r"))
        if match is not None:
            found.append({name: number(said.rstrip()) for name, said in match.groupdict().items() if said is not None})
        elif "message" in found[-1]:
            found[-1]["message"] = f"{found[-1]['message']}\n{line}"
        else:
            return None
    if len(found) < max(_LEAST, _MOST * len(lines)):
        return None
    # In brackets stands a thread where a logger follows, and else the logger.
    return found if any("logger" in row for row in found) else [_renamed(row) for row in found]


def _renamed(row: dict[str, Any]) -> dict[str, Any]:
    return {"logger" if name == "thread" else name: value for name, value in row.items()}
