"""Lists without records: regular times and numbers by start and step, runs of equal values, lists of lists as rows."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from itertools import groupby
from json import JSONDecodeError, JSONDecoder
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import orjson

from shaping.encoders.table.cells import MISSING, bare, cell, name, quoted, read_cell
from shaping.encoders.table.header import TableError, read_path, split_cells

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from shaping.response import Json

_LONG = 12  # elements from which a list may be a series
_SHORTER = 0.75  # of its JSON that a series must stay below
_SCALARS = frozenset({int, float, bool, type(None), str})
_NUMBERS = frozenset({int, float, bool, type(None)})
_MOST_LISTS, _MOST_ROWS = 24, 60  # of parallel lists that are columns of a table
_TIMES = ("time", "date", "timestamp", "datetime", "day", "hour", "x", "t")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?)(.*)", re.ASCII)
_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
_STEPPED = re.compile(r"from (.+?) to .+? every (-?\d+)(?: (day|hour|minute|second)s?)?", re.ASCII)
_SERIES = re.compile(r"\[(\d+)\] (?:in runs: |pairs, first |(?=from ))")
_TIMES_RUN = re.compile(r" x(\d+)", re.ASCII)
_TO, _FOLLOW = " to ", 2  # steps from which values that follow each other are written as the first and the last
_NUMBERED = re.compile(r'("?(?:[^"\\]*[^"\\\d])?)(0|[1-9]\d{0,14})("?)', re.ASCII)
_HEADED = re.compile(r"\[(\d+)\] strings, each == line says how those after it begin:")
_HEAD = re.compile(r"[^\x00-\x1f\x7f ](?:[^\x00-\x1f\x7f]*[^\x00-\x1f\x7f ])?|")
_SEPARATORS = "/:."  # of paths, of keys and of names in modules
_ROWS = re.compile(r"\[(\d+)\] lists:")
_COLUMNS = re.compile(r", (\d+) lists as columns, (\d+) rows:")
_scan = JSONDecoder().raw_decode


def write_series(values: list[Any]) -> str | None:
    """Return a long list as its length and what it consists of, where that is much shorter than JSON."""
    if len(values) < _LONG:
        return None
    kinds = set(map(type, values))
    if kinds == {list}:
        return _pairs(values)
    if not kinds <= _SCALARS:
        return None
    if stepped := _steps(values):
        return f"[{len(values)}] {stepped}"
    runs = _runs(values)
    return f"[{len(values)}] in runs: {runs}" if len(runs) < _SHORTER * len(quoted(values)) else None


def read_series(rest: str) -> Any:
    """Return the list that the rest of a label line stands for, or MISSING where it stands for something else."""
    found = _SERIES.match(rest)
    if found is None:
        return MISSING
    values = _read_pairs(rest, found.end()) if "pairs" in found[0] else _read_values(rest, found.end(), int(found[1]))
    if len(values) != int(found[1]):
        raise TableError(f"expected {found[1]} values, got {len(values)} of {rest!r}")
    return values


def write_lists(label: str, value: Json, indent: int) -> list[str]:
    """Return a list of lists as rows, or parallel lists as columns, or nothing."""
    if type(value) is list and len(value) >= _LONG and set(map(type, value)) == {str}:
        return _headed(label, value, indent)  # type: ignore[arg-type]
    if type(value) is list and len(value) > 1 and set(map(type, value)) == {list}:
        kinds = {type(item) for each in value for item in each}  # type: ignore[union-attr]
        return _written(f"{label}[{len(value)}] lists:", value, indent) if all(value) and kinds <= _SCALARS else []
    if type(value) is dict and len(value) > 2 and (found := _parallel(value)):
        first = next((key for key in found if key.lower() in _TIMES), next(iter(found)))
        ordered = {first: found[first], **found}
        rows = [list(map(name, ordered)), *zip(*ordered.values(), strict=True)]
        lines = _written(f"{label}, {len(found)} lists as columns, {len(rows) - 1} rows:", rows[1:], indent)
        return [lines[0], f"{' ' * indent}{','.join(map(name, ordered))}", *lines[1:]]
    return []


def read_lists(rest: str, take: Callable[[], str]) -> Any:
    """Return the lists that a label line announces, or MISSING; `take` gives the next line."""
    if found := _HEADED.fullmatch(rest):
        return _read_headed(int(found[1]), take)
    if found := _ROWS.fullmatch(rest):
        return [list(map(read_cell, split_cells(take()))) for _ in range(int(found[1]))]
    if found := _COLUMNS.fullmatch(rest):
        names = list(_names(take()))
        rows = [list(map(read_cell, split_cells(take()))) for _ in range(int(found[2]))]
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return MISSING


def _headed(label: str, values: list[str], indent: int) -> list[str]:
    """Return paths or keys below what they begin with, or nothing where that is not much shorter."""
    pad, most = " " * indent, _SHORTER * len(quoted(values))  # type: ignore[arg-type]
    for separator in _SEPARATORS:
        heads = [value[: value.rfind(separator) + 1] for value in values]
        if not all(map(_HEAD.fullmatch, set(heads))):
            continue
        lines = [f"{pad}{label}[{len(values)}] strings, each == line says how those after it begin:"]
        for head, group in groupby(zip(heads, values, strict=True), itemgetter(0)):
            tails = ",".join(bare(value[len(head) :]) for _, value in group)
            lines += [f"{pad}== {head}".rstrip(), pad + tails]
        if sum(map(len, lines)) + len(lines) < most:
            return lines
    return []


def _read_headed(count: int, take: Callable[[], str]) -> list[str]:
    found: list[str] = []
    while len(found) < count:
        head = take()[len("== ") :]
        cells = split_cells(take())
        found += [head + (orjson.loads(each) if each[:1] == '"' else each) for each in cells]
    return found


def _written(label: str, rows: Sequence[Any], indent: int) -> list[str]:
    pad = " " * indent
    return [f"{pad}{label}", *(f"{pad}{','.join(map(cell, row))}" for row in rows)]


def _parallel(value: dict[str, Json]) -> dict[str, list[Any]] | None:
    """Return an object of lists of one length that are better read as columns than one after the other."""
    lists = [each for each in value.values() if type(each) is list]
    if len(lists) < len(value) or not 3 < len(lists[0]) <= _MOST_ROWS or len(lists) > _MOST_LISTS:
        return None
    if len(set(map(len, lists))) > 1 or any(not set(map(type, each)) <= _SCALARS for each in lists):
        return None
    return value  # type: ignore[return-value]


def _names(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        path, at = read_path(text, at)
        yield ".".join(map(str, path))
        at += 1


def _pairs(values: list[list[Any]]) -> str | None:
    """Return pairs of a regular time and a value."""
    if set(map(len, values)) != {2} or any(type(value) not in _SCALARS for _, value in values):
        return None
    stepped = _steps([first for first, _ in values])
    return (
        f"[{len(values)}] pairs, first {stepped}, second: {_runs([second for _, second in values])}"
        if stepped
        else None
    )


def _read_pairs(rest: str, at: int) -> list[Any]:
    found = _STEPPED.match(rest, at)
    if found is None or not rest.startswith(", second: ", found.end()):
        raise TableError(f"expected a start, a step and values, got {rest!r}")
    second = list(_read_runs(rest, found.end() + len(", second: ")))
    return [list(pair) for pair in zip(_stepped(found, len(second)), second, strict=True)]


def _read_values(rest: str, at: int, count: int) -> list[Any]:
    if found := _STEPPED.fullmatch(rest, at):
        return list(_stepped(found, count))
    return list(_read_runs(rest, at))


def _runs(values: list[Any]) -> str:
    """Return values as JSON, one that comes several times in a row once, with how many times."""
    texts = quoted(values)[1:-1].split(",") if set(map(type, values)) <= _NUMBERS else list(map(quoted, values))
    counted = [(text, len(list(same))) for text, same in groupby(texts)]
    if len(counted) == len(texts):
        return ",".join(first_to_last(texts))
    return ",".join(f"{text} x{times}" if times > 1 else text for text, times in counted)


def first_to_last(texts: list[str]) -> Iterator[str]:
    """Return numbers, or texts that end with one: of several that follow each other the first and the last."""
    at = 0
    while at < len(texts):
        end = _last_of_run(texts, at)
        yield from [f"{texts[at]} to {texts[end]}"] if end - at >= _FOLLOW else texts[at : end + 1]
        at = end + 1


def _last_of_run(texts: list[str], at: int) -> int:
    # What does not end with a digit is told from the rest far quicker than by a search of it.
    if at + 1 == len(texts) or not texts[at][-2:].rstrip('"')[-1:].isdigit():
        return at
    first, second = _NUMBERED.fullmatch(texts[at]), _NUMBERED.fullmatch(texts[at + 1])
    if first is None or second is None:
        return at
    step = int(second[2]) - int(first[2])
    if step not in {1, -1}:
        return at
    end, number = at, int(first[2])
    while end + 1 < len(texts) and texts[end + 1] == f"{first[1]}{number + step}{first[3]}":
        end, number = end + 1, number + step
    return end


def _read_runs(text: str, at: int) -> Iterator[Any]:
    while at < len(text):
        try:
            value, at = _scan(text, at)
        except JSONDecodeError as error:
            raise TableError(f"expected JSON at {at + 1} of {text!r}") from error
        if text.startswith(_TO, at):
            last, at = _scan(text, at + len(_TO))
            yield from _between(value, last)
            at += 1
            continue
        times = _TIMES_RUN.match(text, at)
        yield from [value] * (int(times[1]) if times else 1)
        at = (times.end() if times else at) + 1


def _between(first: Any, last: Any) -> Iterator[Any]:
    one, other = _NUMBERED.fullmatch(quoted(first)), _NUMBERED.fullmatch(quoted(last))
    if one is None or other is None or (one[1], one[3]) != (other[1], other[3]):
        raise TableError(f"expected numbers that follow each other, got {first!r} to {last!r}")
    start, end = int(one[2]), int(other[2])
    step = 1 if end >= start else -1
    for number in range(start, end + step, step):
        yield read_cell(f"{one[1]}{number}{one[3]}")


def _steps(values: list[Any]) -> str | None:
    """Return regular numbers or times as their first, their last and what is between two of them."""
    first, second, last = values[0], values[1], values[-1]
    kinds = set(map(type, values))
    if kinds == {int}:
        step = second - first
        regular = step and last == first + step * (len(values) - 1) and values == list(range(first, last + step, step))
        return f"from {first} to {last} every {step}" if regular else None
    if kinds != {str} or not (one := _TIME.fullmatch(first)) or not (other := _TIME.fullmatch(second)):
        return None
    try:
        seconds = int((_at(other[1]) - _at(one[1])).total_seconds())
    except ValueError:
        return None
    if seconds <= 0:
        return None
    unit, size = next((unit, size) for unit, size in _UNITS if seconds % size == 0)
    text = f"from {first} to {last} every {seconds // size} {unit}{'s' if seconds // size > 1 else ''}"
    found = _STEPPED.fullmatch(text)
    return text if found and values == list(_stepped(found, len(values))) else None


def _stepped(found: re.Match[str], count: int) -> Iterator[Any]:
    start, step, unit = found.groups()
    if unit is None:
        yield from range(int(start), int(start) + int(step) * count, int(step))
        return
    time = _TIME.fullmatch(start)
    if time is None:
        raise TableError(f"expected a time, got {start!r}")
    seconds = int(step) * dict(_UNITS)[unit]
    begin, form = _at(time[1]), time[1]
    for index in range(count):
        try:
            at = begin + timedelta(seconds=seconds * index)
        except OverflowError:
            return
        yield at.isoformat(form[10] if len(form) > 10 else "T")[: len(form)] + time[2]


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text)
