"""SQL functions that SQLite's own time limit cannot interrupt, written so that each ends in time and stays small."""

from __future__ import annotations

import re
import time
from math import prod
from typing import TYPE_CHECKING, Any, Final

import orjson

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    import regex

_WIDTH: Final = 1_000  # characters that one directive of printf may be padded to
_LISTED: Final = 1_000_000  # characters of a list that json_group_array makes
_PATTERN_SECONDS: Final = 0.2
_PATTERN, _REPEATS = 1_000, 10_000  # characters of a pattern, and what its counted repetitions multiply to
_REPEATED: Final = re.compile(r"\{(?:\d*,)?(\d+),?\}")
_DIRECTIVE: Final = re.compile(r"%([-+ 0#,]*)(\d*)(?:\.(\d+))?(?:ll|l)?([diufeEgGxXosc%])")


class TooLargeError(Exception):
    """A function was asked for more than it may make."""


def add_functions(connection: sqlite3.Connection, deadline: Callable[[], float]) -> None:
    """Put our own in the place of SQLite's: printf pads without end, and searching in a long text is quadratic."""

    def timely(function: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*arguments: Any) -> Any:
            if time.monotonic() > deadline():
                raise TimeoutError
            return function(*arguments)

        return checked

    for name in ("printf", "format"):
        connection.create_function(name, -1, timely(_printf), deterministic=True)
    connection.create_function("regexp", 2, timely(_regexp), deterministic=True)
    connection.create_function("instr", 2, timely(_instr), deterministic=True)
    connection.create_function("replace", 3, timely(_replace), deterministic=True)
    for name, left, right in (("trim", True, True), ("ltrim", True, False), ("rtrim", False, True)):
        connection.create_function(name, 1, timely(_trimmer(left, right)), deterministic=True)
        connection.create_function(name, 2, timely(_trimmer(left, right)), deterministic=True)
    connection.create_aggregate("json_group_array", 1, _JsonArray)  # type: ignore[arg-type]  # its step may take anything


def _text(value: Any) -> str:
    return (
        value
        if isinstance(value, str)
        else value.decode("utf-8", "replace")
        if isinstance(value, bytes)
        else str(value)
    )


def _printf(form: Any = None, *values: Any) -> str | None:
    """Format as C's printf does, within a width; `,` separates thousands."""
    if form is None:
        return None
    left = list(values)

    def write(directive: re.Match[str]) -> str:
        flags, width, precision, kind = directive.groups()
        if kind == "%":
            return "%"
        if int(width or 0) > _WIDTH or int(precision or 0) > _WIDTH:
            raise TooLargeError
        value = left.pop(0) if left else (0 if kind not in "sc" else "")
        if kind in "diuxXo":
            value = int(float(value or 0)) if not isinstance(value, int) else value
        elif kind in "feEgG":
            value = float(value or 0)
        else:
            value = "" if value is None else _text(value)
            value = value[:1] if kind == "c" else value
        if "," in flags and kind in "dif":
            return f"{value:{width},.{precision or 6}f}" if kind == "f" else f"{value:{width},d}"
        point = f".{precision}" if precision is not None else ""
        return f"%{flags.replace(',', '')}{width}{point}{'s' if kind == 'c' else kind}" % value

    return _DIRECTIVE.sub(write, _text(form))


def _instr(text: Any, wanted: Any) -> int | None:
    return None if text is None or wanted is None else _text(text).find(_text(wanted)) + 1


def _replace(text: Any, old: Any, new: Any) -> str | None:
    if text is None or old is None or new is None:
        return None
    return _text(text).replace(_text(old), _text(new)) if old != "" else _text(text)


def _trimmer(left: bool, right: bool) -> Callable[..., str | None]:
    def trim(text: Any, characters: Any = " ") -> str | None:
        if text is None or characters is None:
            return None
        found, gone = _text(text), frozenset(_text(characters))
        start, end = 0, len(found)
        while left and start < end and found[start] in gone:
            start += 1
        while right and end > start and found[end - 1] in gone:
            end -= 1
        return found[start:end]

    return trim


def _regexp(pattern: Any, text: Any) -> bool | None:
    """Match as SQLite's REGEXP operator does: anywhere in the text."""
    if pattern is None or text is None:
        return None
    return compile_pattern(_text(pattern)).search(_text(text), timeout=_PATTERN_SECONDS) is not None


def compile_pattern(pattern: str) -> regex.Pattern[str]:
    """Compile a regular expression; repetitions that would take much memory are refused."""
    import regex  # noqa: PLC0415 (40 ms, for the few queries that use it)

    counts = [int(number) for number in _REPEATED.findall(pattern)]
    if len(pattern) > _PATTERN or prod(max(count, 1) for count in counts) > _REPEATS:
        raise TooLargeError
    return regex.compile(pattern)


class _JsonArray:
    """json_group_array with a bound, which SQLite's own has only at its end."""

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._size = 0

    def step(self, value: Any) -> None:
        self._size += len(value) + 3 if isinstance(value, (str, bytes)) else 8
        if self._size > _LISTED:
            raise TooLargeError
        self._values.append(_text(value) if isinstance(value, bytes) else value)

    def finalize(self) -> str:
        return orjson.dumps(self._values).decode()
