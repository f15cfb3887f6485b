"""The output of test runners: tests that passed are listed by file, or counted."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PYTEST = re.compile(r"(\S+?\.py)::(\S+|\S+\[.*\]) (PASSED|SKIPPED|XFAIL)\s*(?:\[ *\d+%\])?")
_PASSED = re.compile(
    r"test .+ \.\.\. ok|\s*--- PASS: \S+ \([\d.]+s\)|=== (?:RUN|PAUSE|CONT) .*|\s*[✓✔√] .+|ok \d+ -? ?.*"
    r"|\S+ \([\w.]+\)(?: \.\.\.)? ok|PASS\s+\S+(?: \([\d.]+ ?m?s\))?"
)
_CASE = re.compile(r"(.+?)\[(.*)\]")
_MANY = 8  # lines in a row
_LONGEST = 500  # characters of the line of one test


def shorten_passed(text: str) -> str:
    """Return the output of a test run with its passed tests in few lines; a failed test stays where it is."""
    if "PASS" not in text and " ok" not in text and "ok " not in text and "✓" not in text and "✔" not in text:
        return text
    return "\n".join(_lines(text.split("\n")))


def _lines(lines: list[str]) -> Iterator[str]:
    for kind, group in groupby(lines, _kind):
        run = list(group)
        if kind is None or len(run) < _MANY:
            yield from run
        elif kind == "passed":
            yield f"[{len(run)} lines of passed tests]"
        else:
            verdict, path = kind.split(" ", 1)
            yield f"{verdict} {path}: {', '.join(_names(run))}"


def _kind(line: str) -> str | None:
    if len(line) > _LONGEST:
        return None
    if found := _PYTEST.fullmatch(line):
        return f"{found[3]} {found[1]}"
    return "passed" if _PASSED.fullmatch(line) else None


def _names(run: list[str]) -> Iterator[str]:
    """Return the names of tests, those that differ only by their parameters as one."""
    found = [match[2] for line in run if (match := _PYTEST.fullmatch(line))]
    for function, group in groupby(found, lambda name: case[1] if (case := _CASE.fullmatch(name)) else name):
        names = list(group)
        cases = [case[2] for name in names if (case := _CASE.fullmatch(name))]
        yield f"{function}[{' | '.join(cases)}]" if len(cases) == len(names) else ", ".join(names)
