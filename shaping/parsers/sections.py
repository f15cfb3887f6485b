"""Parts of a long text, so that a cut one can list what it left out: files of a diff, sections or times of a log."""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Final

from shaping.parsers.diff import DiffLines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Headings as test runners, build tools and CI services print them.
_HEADING: Final = re.compile(
    r"(?:##\[(?:group|section)\]|::group::|Step \d+/\d+ : |==> |(?:\[INFO\] )?([=_*-])\1{2,} )(?P<name>\S.*?)"
    r"(?: <==| \1{3,})?\s*"
)
_LEVEL: Final = re.compile(
    r"(?:^|[\s\[|:\"=(])(?P<level>TRACE|DEBUG|INFO|NOTICE|WARN|ERROR|CRITICAL|FATAL)(?:ING)?(?=[\s\]|:,\")]|$)"
    r"|\blevel\"?[=:] ?\"?(?P<named>[a-z]+)"
)
_TIME: Final = re.compile(
    r"(?:(?P<day>\d{4}[-/]\d\d[-/]\d\d)[T ]|(?P<month>[A-Z][a-z]{2} [ \d]\d) )?(?P<time>\d\d:\d\d:\d\d)"
)
_BEGINNING: Final = 120  # characters of a line in which its time and its level stand
_SAMPLE: Final = 200  # lines that are looked at to tell a log from another text
_NAMED: Final = 6  # sections that are named; the others are added up
_LONGEST: Final = 60  # characters of a section's name


class LogLines:
    """The lines of a log: under which heading each stands, or when it was written and at which level."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._headings = [(at, found["name"][:_LONGEST]) for at, line in enumerate(lines) if (found := _heading(line))]

    @classmethod
    def of(cls, lines: Sequence[str]) -> LogLines | None:
        """Read lines; None where they have neither headings nor times and levels."""
        log = cls(lines)
        some = [line[:_BEGINNING] for line in lines[:_SAMPLE] if line.strip()]
        marked = sum(1 for line in some if _TIME.search(line) or _LEVEL.search(line))
        return log if len(log._headings) > 1 or (some and marked * 2 >= len(some)) else None

    def list_missing(self, missing: Iterable[int]) -> str:
        """List the sections of missing lines, each with how many are missing; else their time and their levels."""
        gone = list(missing)
        return self._sections(gone) if len(self._headings) > 1 else self._times(gone)

    def _sections(self, missing: list[int]) -> str:
        found: Counter[str] = Counter()
        headings, name = iter([*self._headings, (len(self._lines), "")]), "the beginning"
        begins, following = next(headings)
        for at in missing:
            while at >= begins:
                name = following
                begins, following = next(headings)
            found[name] += 1
        told = [f"{name} {count:,}" for name, count in found.items()]
        if len(told) > _NAMED:
            others = list(found.values())[_NAMED:]
            told[_NAMED:] = [f"{len(others)} more {'section' if len(others) == 1 else 'sections'} {sum(others):,}"]
        return ", ".join(told)

    def _times(self, missing: list[int]) -> str:
        levels = Counter(level for at in missing if (level := self._levels[at]))
        told = [f"{level} {count:,}" for level, count in levels.most_common(_NAMED)]
        first, last = self._first_time(missing), self._first_time(reversed(missing))
        if first is None or last is None:
            return ", ".join(told)
        same_day = (first["day"], first["month"]) == (last["day"], last["month"])
        between = f"{first['time']}..{last['time']}" if same_day else f"{first[0]}..{last[0]}"
        return ", ".join([between, *told])

    def _first_time(self, lines: Iterable[int]) -> re.Match[str] | None:
        return next((found for at in lines if (found := _TIME.search(self._lines[at][:_BEGINNING]))), None)

    @cached_property
    def _levels(self) -> list[str | None]:
        found = (_LEVEL.search(line[:_BEGINNING]) for line in self._lines)
        return [each and (each["level"] or each["named"]).upper().replace("WARNING", "WARN") for each in found]


def sections_of(lines: Sequence[str]) -> DiffLines | LogLines | None:
    """Read the lines of a diff or a log; None for any other text."""
    return DiffLines.of(lines) or LogLines.of(lines)


def _heading(line: str) -> re.Match[str] | None:
    return _HEADING.fullmatch(line) if len(line) < 2 * _BEGINNING else None
