"""Stack traces: frames of libraries between the first and the last of a run are counted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shaping.noise.vocabulary import LIBRARY_FRAMES, LIBRARY_PACKAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

_PYTHON = re.compile(r'\s*File "([^"]+)", line \d+, in .+')
_LIBRARY = re.compile(LIBRARY_FRAMES)
_AT = re.compile(rf"\s+at (?:.*(?:{LIBRARY_FRAMES}).*|(?:{LIBRARY_PACKAGES})[\w.$/]*\(.*\))")
_LONGEST = 1000  # characters of the line of one frame
_LEAST = 4  # frames in a row that are worth a line of their own


def shorten_traces(text: str) -> str:
    """Return a text whose stack traces name the frames of the user's own code, and those next to it."""
    if "\n" not in text or ('File "' not in text and "\n\tat " not in text and "\n    at " not in text):
        return text
    return "\n".join(_lines(_frames(text.split("\n"))))


def _frames(lines: list[str]) -> Iterator[tuple[bool, list[str]]]:
    """Return the lines frame by frame, each with whether it is a library's; a Python frame has its code below it."""
    at = 0
    while at < len(lines):
        found = _PYTHON.fullmatch(lines[at])
        if found is None:
            yield len(lines[at]) <= _LONGEST and bool(_AT.fullmatch(lines[at])), [lines[at]]
            at += 1
            continue
        end = at + 1
        indent = len(lines[at]) - len(lines[at].lstrip())
        while end < len(lines) and len(lines[end]) - len(lines[end].lstrip()) > indent and end < at + 4:
            end += 1
        yield bool(_LIBRARY.search(found[1])), lines[at:end]
        at = end


def _lines(frames: Iterator[tuple[bool, list[str]]]) -> Iterator[str]:
    run: list[list[str]] = []
    for library, lines in frames:
        if library:
            run.append(lines)
            continue
        yield from _shortened(run)
        run = []
        yield from lines
    yield from _shortened(run)


def _shortened(run: list[list[str]]) -> Iterator[str]:
    # The first is what the user's own code called, and the last is where it happened.
    if len(run) < _LEAST:
        for frame in run:
            yield from frame
        return
    indent = run[0][0][: len(run[0][0]) - len(run[0][0].lstrip())]
    yield from run[0]
    yield f"{indent}[{len(run) - 2} frames of libraries]"
    yield from run[-1]
