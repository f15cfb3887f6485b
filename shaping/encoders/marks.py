"""Lines of a text that come again: the first of them is marked, and the others are written as its mark.

`&3: MTU 1500` is a line that comes again, `&3` is that line again, `&3-7` are the lines from `&3:` to `&7:`, one after
the other, and `&3 x4` is a line four times. A legend stands above the text. Every line keeps its place.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Final

from shaping.encoders.templates import indent_of
from shaping.parsers.terminal import error_lines, find_traces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Lines = Sequence[str]

LEGEND: Final = "(&1-3 = the lines marked &1: to &3:, again)"
_PAYS: Final = 24  # characters that a mark must save
_LEAST: Final = 0.1  # of the characters of a text is what marks must save
_WORD = re.compile(r"[^\W_]")
_MARKED = re.compile(r"&(\d+): (.*)")
_AGAIN = re.compile(r"&(\d+)(?:-(\d+))?(?: x(\d+))?")
_ONLY_AGAIN = re.compile(rf"{_AGAIN.pattern}(?: {_AGAIN.pattern})*")


def mark(lines: Lines) -> list[str]:
    """Return the lines with marks for those that come again, or none where few do.

    An error and a heading stay as they are, because they say what the others are about.
    """
    often = _often(lines)
    size = sum(map(len, lines)) + len(lines)
    # More than that no marks save, and most texts are ruled out by it.
    if sum(more * (len(line) + 1) - len("&1: ") for line, more in often.items()) < _LEAST * size:
        return []
    errors = error_lines(lines)
    frames = set[int]().union(*(trace.lines for trace in find_traces(lines, errors)))
    kept = (_headings(lines) - frames).union(errors)
    again = _often(line for at, line in enumerate(lines) if at not in kept)
    marks: dict[str, int] = {}
    written: list[str] = []
    run: list[int] = []  # the marks of lines that come again, one below the other
    for at, line in enumerate(lines):
        if at not in kept and line in marks:
            run.append(marks[line])
            continue
        if run:
            written += _again(run)
            run = []
        if at not in kept and line in again:
            marks[line] = len(marks) + 1
            written.append(f"&{marks[line]}: {line}")
        else:
            written.append(line)
    written += _again(run)
    return written if sum(map(len, written)) + len(written) < (1 - _LEAST) * size else []


def _often(lines: Iterable[str]) -> dict[str, int]:
    """Return the lines that come again so often that a mark pays, and how many times more."""
    # A line that is drawn costs a token or two, however long it is.
    more = ((line, times - 1) for line, times in Counter(lines).items() if times > 1 and _WORD.search(line))
    return {line: times for line, times in more if times * len(line.strip()) >= _PAYS}


def unmark(lines: Lines) -> Iterator[str]:
    """Return the lines that were marked, each at its place."""
    marked: dict[int, str] = {}
    for line in lines:
        if found := _MARKED.fullmatch(line):
            marked[int(found[1])] = found[2]
            yield found[2]
        elif _ONLY_AGAIN.fullmatch(line):
            for first, last, times in _AGAIN.findall(line):
                for _ in range(int(times or 1)):
                    yield from (marked[number] for number in range(int(first), int(last or first) + 1))
        else:
            yield line


def _headings(lines: Lines) -> set[int]:
    """Return the first lines of paragraphs, and those above a line that is indented more."""
    indents = [len(indent_of(line)) for line in lines]
    first = {at for at, before in enumerate(["", *lines[:-1]]) if not before.strip()}
    return first.union(at for at, line in enumerate(lines[1:]) if line.strip() and indents[at + 1] > indents[at])


def _again(run: Sequence[int]) -> Iterator[str]:
    """Write marks in a line, those that follow each other as the first and the last of them."""
    parts: list[list[int]] = []  # the first mark, the last one, and how many times
    for number, same in groupby(run):
        times = len(list(same))
        if parts and times == 1 and parts[-1][1:] == [number - 1, 1]:
            parts[-1][1] = number
        else:
            parts.append([number, number, times])
    if parts:
        yield " ".join(
            f"&{first}" + (f"-{last}" if last > first else "") + (f" x{times}" if times > 1 else "")
            for first, last, times in parts
        )
