"""Finding lines of a kept text, or values of kept data, without reading all of it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final

from shaping.errors import ToolError
from shaping.paths import join

if TYPE_CHECKING:
    import regex

_SHOWN: Final = 20
_AROUND: Final = 2  # lines of context on each side
_VALUE: Final = 160  # characters shown of a long value, around the hit
_SECONDS: Final = 2.0
_PATTERN, _REPEATS = 1_000, 10_000  # characters of a pattern, and what its counted repetitions multiply to
_REPEATED: Final = re.compile(r"\{(?:\d*,)?(\d+),?\}")


class TooLargeError(Exception):
    """A query or a search was asked for more than it may make."""


@dataclass(frozen=True, slots=True)
class Hits:
    """What was found: the hits that are shown, each with its position, and how many there are in all."""

    shown: list[dict[str, Any]]
    total: int
    lines: bool  # of a text, not of data
    first: int = 0  # how many hits come before those that are shown
    last: int = 0  # and the number of the last one that is


def search(value: Any, wanted: str, *, start: int = 0, most: int = _SHOWN) -> Hits:
    """Find a literal text, or a regular expression written as /pattern/, in a text's lines or in data's values.

    `start` is how many hits to pass over: those of the pages before.
    """
    if not wanted:
        raise ToolError("BAD_ARGUMENT", "search is empty; give a text, or /pattern/ for a regular expression")
    find = _finder(wanted)
    try:
        if isinstance(value, str):
            return _lines(value, find, start, most)
        return _values(value, find, start, most)
    except TimeoutError:
        message = f"the pattern took longer than {_SECONDS:g} seconds"
        raise ToolError("TIMEOUT", message, hint="Use a simpler pattern, or a literal text.", retryable=False) from None


def _finder(wanted: str) -> Callable[[str], tuple[int, int] | None]:
    if len(wanted) < 3 or not (wanted[0] == wanted[-1] == "/"):
        folded = wanted.casefold()

        def literal(text: str) -> tuple[int, int] | None:
            at = text.casefold().find(folded)
            return None if at < 0 else (at, at + len(wanted))

        return literal
    try:
        pattern = compile_pattern(wanted[1:-1])
    except TooLargeError:
        raise ToolError("BAD_ARGUMENT", "the pattern is too long, or repeats too often") from None
    except Exception as problem:  # noqa: BLE001 (the error's class is the library's, which is loaded with the first pattern)
        raise ToolError("BAD_ARGUMENT", f"{wanted} is not a regular expression: {problem}") from None

    deadline = time.monotonic() + _SECONDS

    def matched(text: str) -> tuple[int, int] | None:
        if (left := deadline - time.monotonic()) <= 0:
            raise TimeoutError
        found = pattern.search(text, timeout=left)
        return None if found is None else found.span()

    return matched


def _lines(text: str, find: Callable[[str], tuple[int, int] | None], start: int, most: int) -> Hits:
    lines = text.splitlines()
    found = [number for number, line in enumerate(lines) if find(line) is not None]
    shown: list[dict[str, Any]] = []
    last = -1
    for number in found[start : start + most]:
        begin, stop = max(number - _AROUND, last + 1), min(number + _AROUND + 1, len(lines))
        if begin >= stop:
            continue
        shown.append({"line": number + 1, "text": "\n".join(lines[begin:stop]), "from": begin + 1})
        last = stop - 1
    return Hits(shown, len(found), lines=True, first=start, last=min(start + most, len(found)))


def _values(value: Any, find: Callable[[str], tuple[int, int] | None], start: int, most: int) -> Hits:
    shown: list[dict[str, Any]] = []
    total = 0
    for path, scalar, record in _scalars(value):
        text = scalar if isinstance(scalar, str) else str(scalar)
        span = find(text)
        if span is None:
            continue
        total += 1
        if start < total <= start + most:
            hit = {"path": path, "value": scalar if len(text) <= _VALUE else _around(text, *span)}
            shown.append({**hit, "record": context} if (context := _context(record, scalar)) else hit)
    return Hits(shown, total, lines=False, first=start, last=min(start + most, total))


def _scalars(value: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the path of each string and number, the value itself, and the element of the outermost list it is in."""
    below: list[tuple[str, Any, Any]] = [("", value, None)]
    while below:
        where, item, record = below.pop()
        if type(item) is dict:
            below += [(join(where, key), member, record) for key, member in reversed(item.items())]
        elif type(item) is list:
            elements = ((at, item[at]) for at in range(len(item) - 1, -1, -1))
            below += [(f"{where}[{at}]", one, one if record is None else record) for at, one in elements]
        elif item is not None and type(item) is not bool:
            yield where, item, record


def _context(record: Any, found: Any) -> str:
    """Write the other values of the record that a value was found in, as far as there is room for whole ones."""
    named = record.items() if type(record) is dict else enumerate(record) if type(record) is list else ()
    told: list[str] = []
    for name, value in named:
        if type(value) in {str, int, float} and value is not found:
            one = f"{name}={value}" if type(record) is dict else str(value)
            if sum(map(len, told)) + len(one) <= _VALUE:
                told.append(one)
    return " ".join(told)


def _around(text: str, start: int, stop: int) -> str:
    room = max(_VALUE - (stop - start), 0) // 2
    low, high = max(start - room, 0), min(stop + room, start + _VALUE, len(text))
    return f"{'…' if low else ''}{text[low:high]}{'…' if high < len(text) else ''}"


def compile_pattern(pattern: str) -> regex.Pattern[str]:
    """Compile a regular expression; repetitions that would take much memory are refused."""
    import regex  # noqa: PLC0415 (40 ms, for the few queries that use it)

    counts = [int(number) for number in _REPEATED.findall(pattern)]
    if len(pattern) > _PATTERN or prod(max(count, 1) for count in counts) > _REPEATS:
        raise TooLargeError
    return regex.compile(pattern)
