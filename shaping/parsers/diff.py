"""The files of a unified diff, so that a cut one can list what it left out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_GIT: Final = re.compile(r'diff --git "?a/.+ "?b/(.+?)"?\s*$')
_NAMED: Final = 6  # files that are named; the others are added up
_LONGEST: Final = 80  # characters of a file's name, the end of it


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
        hunk = any(line.startswith("@@ -") and _HUNK.match(line) for line in lines)
        return cls(lines) if hunk and any(line.startswith("+++ ") for line in lines) else None

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
    return file if len(file) <= _LONGEST else f"…{file[1 - _LONGEST :]}"
