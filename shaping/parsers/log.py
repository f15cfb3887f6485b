"""Log lines that all begin alike: time, host, process, level, then the message."""

from __future__ import annotations

import re
from typing import Any

from shaping.parsers.rows import LARGEST, number

_LEVEL = r"(?P<level>(?i:trace|debug|info|notice|warn|warning|error|critical|fatal))"
_ISO = r"(?P<time>\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)"
_SYSLOG = r"(?P<host>[\w.-]+) (?P<process>[^\s:\[]+)(?:\[(?P<pid>\d+)\])?: (?P<message>.*)"
_ACCESS = (
    r'(?P<client>[\w.:-]+) (?P<ident>\S+) (?P<user>\S+) \[(?P<time>[^\]]+)\] "(?P<request>[^"]*)"'
    r' (?P<status>\d{3}) (?P<size>\d+|-)(?: "(?P<referrer>[^"]*)" "(?P<agent>[^"]*)")?'
)
_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"(?P<time>[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d) {_SYSLOG}",
        rf"{_ISO} {_SYSLOG}",
        _ACCESS,
        rf"\[?{_ISO}\]?\s+(?P<pid>\d+)\s+{_LEVEL}\s+(?P<logger>[\w.:-]+) (?P<message>.*)",
        rf"\[?{_ISO}\]?[ ,-]+\[?{_LEVEL}\]?:?\s+(?:\[(?P<logger>[\w.:/ -]+)\][: ]*\s*)?(?P<message>.*)",
        rf"\[?{_ISO}\]?[ ,-]+\[?(?P<logger>[\w.:/-]+)\]?[ ,-]+\[?{_LEVEL}\]?[:,-]?\s+(?P<message>.*)",
        rf"\[?{_ISO}\]?[ ,-]+(?P<message>\S.*)",
        rf"{_LEVEL}:(?P<logger>[\w.-]+):(?P<message>.*)",
    )
)
_LEAST = 8  # lines


def parse(text: str) -> list[dict[str, Any]] | None:
    """Return a record for each line, where every line has the same form."""
    first = text[:2000].split("\n", 1)[0]
    form = next((form for form in _FORMS if form.fullmatch(first)), None)
    if form is None or len(text) > LARGEST:
        return None
    lines = text.strip("\n").split("\n")
    if len(lines) < _LEAST:
        return None
    found: list[dict[str, Any]] = []
    for line in lines:
        match = form.fullmatch(line.rstrip("\r"))
        if match is None:
            return None
        found.append({name: number(said) for name, said in match.groupdict().items() if said is not None})
    return found
