"""Parts of a long text, so that a cut one can list what it left out: files of a diff, sections or times of a log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final

from shaping.parsers.terminal import matcher, without_surrogates

_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_GIT: Final = re.compile(r'diff --git "?a/.+ "?b/(.+?)"?\s*$')
_NAMED: Final = 6  # files or sections that are named; the others are added up
_LONGEST_NAME: Final = 80  # characters of a file's name, the end of it


_begins_diff = matcher(r"(?m)^(?:diff --git |@@ -[0-9]|--- \S.*\n\+\+\+ \S)")


def is_diff(text: str) -> bool:
    """Whether a text is a diff or a patch, which somebody may apply as it is."""
    return _begins_diff(without_surrogates(text))


class DiffLines:
    """The lines of a diff, each with the file that it changes and whether it adds or removes a line there."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._marks: list[tuple[str, str]] = []  # the file, and "+", "-" or nothing
        self._file, self._old, self._new = "", 0, 0
        for at, line in enumerate(lines):
            following = lines[at + 1] if at + 1 < len(lines) else ""
            self._marks.append((self._file, self._sign(line, following)))

    @classmethod
    def of(cls, lines: Sequence[str]) -> DiffLines | None:
        """Read lines; None where they are no diff."""
        text = "\n" + "\n".join(lines)
        return cls(lines) if "\n+++ " in text and any(map(_HUNK.match, lines)) else None

    def list_missing(self, missing: Iterable[int]) -> str:
        """List the files of missing lines, each with how many added and removed lines of it are missing."""
        found: dict[str, list[int]] = {}
        for at in missing:
            file, sign = self._marks[at]
            if sign:
                found.setdefault(file, [0, 0])[sign == "-"] += 1
        told = [f"{_short(file)} +{added} -{removed}" for file, (added, removed) in found.items()]
        if len(told) > _NAMED:
            others = list(found.values())[_NAMED:]
            added, removed = sum(one[0] for one in others), sum(one[1] for one in others)
            told[_NAMED:] = [f"{len(others)} more {'file' if len(others) == 1 else 'files'} +{added} -{removed}"]
        return ", ".join(told)

    def _sign(self, line: str, following: str) -> str:
        """Return the sign of a line, and move on in the hunk."""
        if named := _GIT.match(line):
            self._file, self._old, self._new = named[1], 0, 0
        elif hunk := _HUNK.match(line):
            self._old, self._new = (1 if count is None else int(count) for count in hunk.groups())
        elif self._old > 0 or self._new > 0:
            return self._change(line)
        elif line.startswith("--- ") and following.startswith("+++ "):
            self._file = _name(following) if _name(following) != "/dev/null" else _name(line)
        return ""

    def _change(self, line: str) -> str:
        sign = line[:1]
        if sign == "\\":  # no end of line at the end of a file
            return ""
        self._old -= sign != "+"
        self._new -= sign != "-"
        return sign if sign in {"+", "-"} else ""


def _name(line: str) -> str:
    return re.sub(r"^[ab]/", "", line[4:].partition("\t")[0].strip().strip('"'))


def _short(file: str) -> str:
    return file if len(file) <= _LONGEST_NAME else f"…{file[1 - _LONGEST_NAME :]}"


# Headings as test runners, build tools and CI services print them.
_HEADING: Final = re.compile(
    r"(?:##\[(?:group|section)\]|::group::|Step \d+/\d+ : |==> |(?:\[INFO\] )?([=_*-])\1{2,} )(?P<name>\S.*?)"
    r"(?: <==| \1{3,})?\s*"
)
_HEADING_STARTS: Final = frozenset("#:S=[_*-")
# It begins with one of a few letters, which the engine searches for ten times faster than for what stands before it.
_LEVEL: Final = re.compile(
    r"[TDINWECF](?<![^\s\[|:\"=(].)"
    r"(?:(?<=T)RACE|(?<=D)EBUG|(?<=I)NFO|(?<=N)OTICE|(?<=W)ARN|(?<=E)RROR|(?<=C)RITICAL|(?<=F)ATAL)(?:ING)?(?=[\s\]|:,\")]|$)"
)
_NAMED_LEVEL: Final = re.compile(r"level(?<!\wlevel)\"?[=:] ?\"?([a-z]+)")
_TIME: Final = re.compile(
    r"(?:(?P<day>\d{4}[-/]\d\d[-/]\d\d)[T ]|(?P<month>[A-Z][a-z]{2} [ \d]\d) )?(?P<time>\d\d:\d\d:\d\d)"
)
_BEGINNING: Final = 120  # characters of a line in which its time and its level stand
_SAMPLE: Final = 60  # lines that are looked at to tell a log from another text
_LONGEST: Final = 60  # characters of a section's name


class LogLines:
    """The lines of a log: under which heading each stands, or when it was written and at which level."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._headings = [
            (at, found["name"][:_LONGEST])
            for at, line in enumerate(lines)
            if line[:1] in _HEADING_STARTS and len(line) < 2 * _BEGINNING and (found := _HEADING.fullmatch(line))
        ]

    @classmethod
    def of(cls, lines: Sequence[str]) -> LogLines | None:
        """Read lines; None where they have neither headings nor times and levels."""
        log = cls(lines)
        some = [line[:_BEGINNING] for line in lines[:_SAMPLE] if line.strip()]
        marked = sum(1 for line in some if _TIME.search(line) or _level_of(line))
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
        levels = Counter(map(self._levels.__getitem__, missing))
        del levels[""]
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
    def _levels(self) -> list[str]:
        return list(map(_level_of, self._lines))


def _level_of(line: str) -> str:
    """Return the level at the beginning of a line, or nothing."""
    head = line[:_BEGINNING]
    found = _LEVEL.search(head)
    if "level" in head and (named := _NAMED_LEVEL.search(head, 0, found.start() if found else _BEGINNING)):
        return named[1].upper().replace("WARNING", "WARN")
    return found[0].removesuffix("ING") if found else ""


def sections_of(lines: Sequence[str]) -> DiffLines | LogLines | None:
    """Read the lines of a diff or a log; None for any other text."""
    return DiffLines.of(lines) or LogLines.of(lines)
