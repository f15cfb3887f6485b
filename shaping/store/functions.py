"""SQL functions that SQLite's own time limit cannot interrupt, written so that each ends in time and stays small."""

from __future__ import annotations

import re
import time
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    import regex

_DISTINCT: Final = 1_000  # different characters that trim takes away
_PATTERN_SECONDS: Final = 0.2
_PATTERN, _REPEATS = 1_000, 10_000  # characters of a pattern, and what its counted repetitions multiply to
_REPEATED: Final = re.compile(r"\{(?:\d*,)?(\d+),?\}")


class TooLargeError(Exception):
    """A function was asked for more than it may make."""


def add_functions(connection: sqlite3.Connection, deadline: Callable[[], float]) -> None:
    """Put our own in the place of SQLite's, for which searching in a long text is quadratic."""

    def timely(function: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*arguments: Any) -> Any:
            if time.monotonic() > deadline():
                raise TimeoutError
            return None if None in arguments else function(*map(_text, arguments))

        return checked

    trims = {"trim": str.strip, "ltrim": str.lstrip, "rtrim": str.rstrip}
    functions: list[tuple[str, int, Callable[..., Any]]] = [
        ("regexp", 2, _regexp),
        ("instr", 2, _instr),
        ("replace", 3, _replace),
    ]
    functions += [(name, count, partial(_trim, strip)) for name, strip in trims.items() for count in (1, 2)]
    for name, count, function in functions:
        connection.create_function(name, count, timely(function), deterministic=True)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _instr(text: str, wanted: str) -> int:
    return text.find(wanted) + 1


def _replace(text: str, old: str, new: str) -> str:
    return text.replace(old, new) if old else text


def _trim(strip: Callable[[str, str], str], text: str, characters: str = " ") -> str:
    distinct = "".join(set(characters))
    if len(distinct) > _DISTINCT:
        raise TooLargeError
    return strip(text, distinct)


def _regexp(pattern: str, text: str) -> bool:
    """Match as SQLite's REGEXP operator does: anywhere in the text."""
    return compile_pattern(pattern).search(text, timeout=_PATTERN_SECONDS) is not None


def compile_pattern(pattern: str) -> regex.Pattern[str]:
    """Compile a regular expression; repetitions that would take much memory are refused."""
    import regex  # noqa: PLC0415 (40 ms, for the few queries that use it)

    counts = [int(number) for number in _REPEATED.findall(pattern)]
    if len(pattern) > _PATTERN or prod(max(count, 1) for count in counts) > _REPEATS:
        raise TooLargeError
    return regex.compile(pattern)
