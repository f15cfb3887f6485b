"""Find columns that follow from others, or whose cells have much in common, so that it is written once."""

from __future__ import annotations

import re
import struct
from collections import Counter
from itertools import compress
from typing import TYPE_CHECKING, Any, TypeVar

from shaping.encoders.table.cells import MISSING, Missing, bare, name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Sliced = TypeVar("Sliced", str, list[Any])

_WORTH = 24  # characters that a template must save beyond its own
_LITERAL = 8  # characters without which a template is no shorter to read than what it says
_SHORT = 4  # characters from which one column found in another is no coincidence in two rows
_TEXTS = frozenset({str, int})
_SOURCES = _TEXTS | {Missing}
_SEPARATOR = re.compile(r"[/:]")
_OPERATORS = "/?&#+;.,!|@"  # with which a placeholder of a URI template (RFC 6570) begins, and none of ours
_ODD_LITERAL = re.compile(r"[\x00-\x1f\x7f]|\{(?![" + re.escape(_OPERATORS) + "])")
PLACEHOLDER = re.compile(r"\{(?![" + re.escape(_OPERATORS) + r"])([^{}]+)\}")

_MOSTLY = 0.8  # of the times that must be of one day
_ROWS, _AFFIX = 4, 8  # rows and characters from which a common beginning and end is worth a pattern
_AFFIXES = re.compile(r"[^,{}\[\]=\"\s]*")
_DAY, _MONTH = re.compile(r"\d{4}-\d\d-\d\d(?=[T ]\d\d:|$)", re.ASCII), re.compile(r"^\d{4}-\d\d-", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", re.ASCII)
_DATE = re.compile(r"^\d{4}-\d\d-\d\dT", re.ASCII)
_LINK = re.compile(r"^.*[/=#]")
_ZONE = re.compile(r"(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?$", re.ASCII)
_OFFSET = re.compile(r"(?:000)?(?:Z|[+-]\d\d:?\d\d)?$", re.ASCII)
_ZONED = re.compile(r"(?:Z|[+-]\d\d:?\d\d)$", re.ASCII)
_END = re.compile(r"[./?#&].*")

_TAGGED_TIMES, _TAGGED_SAVING = 5, 200
_TAGGED_WORD, _TAGGED_SENTENCE = 24, 40  # characters from which a recurring cell is worth a tag


def templates(columns: Mapping[str, list[Any]], prefix: str, outer: Mapping[str, list[Any]]) -> dict[str, str]:
    """Return the members that are another one with something around it in every record, as templates.

    Sources are members of the same record, and `outer` ones by their paths. A source is never derived itself, so that
    nobody has to follow two steps.
    """
    strings = {key: found for key, column in columns.items() if (found := _strings(column)) is not None}
    sizes = {key: sum(map(len, filter(None, column))) for key, column in strings.items()}
    sources = {path: column for path, column in outer.items() if len(column) == len(next(iter(columns.values())))}
    for key, column in strings.items():
        if (column[0] != column[-1] or len(set(column)) > 1) and name(key) == key and is_source(prefix + key):
            sources[prefix + key] = column
    derived: dict[str, str] = {}
    for key in sorted(strings, key=sizes.__getitem__):
        if sizes[key] < _WORTH or type(next(filter(_is_there, columns[key]))) is not str:
            continue
        own = sources.pop(prefix + key, None)
        template = _template(strings[key], sources)
        if template and sizes[key] - len(template) - len(key) > _WORTH:
            derived[key] = template
        elif own is not None:
            sources[prefix + key] = own
    return derived


def outer_sources(columns: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the members by which records are told apart, for templates of what is nested in them."""
    found = {}
    for key, column in columns.items():
        if type(column[0]) in _TEXTS and name(key) == key and is_source(key) and set(map(type, column)) <= _TEXTS:
            texts = list(map(str, column))
            if len(set(texts)) == len(texts):
                found[key] = texts
    return found


def is_source(path: str) -> bool:
    """Return whether a path may stand in a placeholder."""
    return path[0] not in _OPERATORS and "{" not in path and "}" not in path


def _is_there(value: Any) -> bool:
    return value is not MISSING


def _strings(column: list[Any]) -> list[str | None] | None:
    """Return a column of strings or whole numbers as strings, None where one is missing; or None."""
    if type(column[0]) not in _SOURCES:
        return None
    kinds = set(map(type, column))
    if kinds == {str}:
        return column
    if not kinds <= _SOURCES or len(kinds - {Missing}) != 1:
        return None
    return [None if value is MISSING else str(value) for value in column]


def _template(target: list[str | None], sources: Mapping[str, list[str | None]]) -> str | None:
    present = [at for at, text in enumerate(target) if text is not None]
    first, last = present[0], present[-1]
    one, other = str(target[first]), str(target[last])
    absent = len(present) < len(target)
    near: dict[str, list[str | None]] = {}
    for key, source in sources.items():
        begin, end = source[first], source[last]
        if not begin or not end or begin not in one or end not in other:
            continue
        if absent and any((text is None) != (known is None) for text, known in zip(target, source, strict=True)):
            continue
        if not absent and None in source:
            continue
        if len(present) > 2 or len(begin) >= _SHORT:
            near[key] = source
    for key in sorted(near, key=lambda key: -len(str(near[key][first]))):
        if found := _around(target, near[key], key, first):
            return found
    return _of_several(target, near, first) if len(near) > 1 else None


def _around(target: list[str | None], source: list[str | None], key: str, first: int) -> str | None:
    """Return the template of one source, where it is found everywhere alike."""
    text, known = str(target[first]), str(source[first])
    for parts in (text.split(known), text.rsplit(known, 1)):
        if not any(map(_ODD_LITERAL.search, parts)) and all(
            known is None or known.join(parts) == text for known, text in zip(source, target, strict=True)
        ):
            return _written([part for literal in parts for part in (literal, key)][:-1])
    return None


def _of_several(target: list[str | None], sources: Mapping[str, list[str | None]], first: int) -> str | None:
    """Return the template of several sources, the longest taken first."""
    parts: list[tuple[str, bool]] = [(str(target[first]), False)]
    for key in sorted(sources, key=lambda key: -len(str(sources[key][first]))):
        known = str(sources[key][first])
        if len(known) >= _SHORT:
            parts = [piece for part in parts for piece in ((part,) if part[1] else _cut(part[0], known, key))]
    literals = [text for text, is_source in parts if not is_source]
    if sum(is_source for _, is_source in parts) < 2 or any(map(_ODD_LITERAL.search, literals)):
        return None
    for at, text in enumerate(target):
        made = "".join(str(sources[part][at]) if is_source else part for part, is_source in parts)
        if text is not None and made != text:
            return None
    return _written([f"{{{part}}}" if is_source else part for part, is_source in parts], keys=False)


def _cut(text: str, known: str, key: str) -> Iterator[tuple[str, bool]]:
    before, found, after = text.partition(known)
    yield before, False
    if found:
        yield key, True
        yield after, False


def _written(parts: Sequence[str], *, keys: bool = True) -> str | None:
    """Return a template's parts, every second a key, as text; one that could be misread is none."""
    text = "".join(f"{{{part}}}" if keys and at % 2 else part for at, part in enumerate(parts))
    literal = PLACEHOLDER.sub("", text)
    # Links and the like: a name or a title is worth its place in the row.
    if len(literal) < _LITERAL or not ("://" in literal or (keys and _SEPARATOR.search(literal))):
        return None
    return None if text[0] in ' "' or text[-1] in ' "' else text


def pattern(column: list[str]) -> tuple[str, list[str]] | None:
    """Return what all times or links of a column begin and end with, and what is between, where that is much.

    A few times of other days stay whole.
    """
    first = column[0]
    is_time = _DAY.match(first) is not None
    if len(column) < _ROWS or not (is_time or "://" in first or first[:1] == "/"):
        return None
    start, end = _of_times(column) if is_time else _of_links(column)
    if len(start) + len(end) < _AFFIX or not _AFFIXES.fullmatch(start + end):
        return None
    between = [
        text[len(start) : len(text) - len(end)] if text.startswith(start) and text.endswith(end) else text
        for text in column
    ]
    around = f"{start}{{}}{end}"
    same = all(around_cell(around, cell) == text for cell, text in zip(between, column, strict=True))
    return (around, list(map(bare, between))) if same and all(between) else None


def around_cell(around: str, cell: str) -> str:
    """Return a cell with what a pattern has around it; a whole time under one with a date or a zone is itself."""
    is_whole = _TIME.match(cell) and (_DATE.match(around) or _ZONED.search(cell))
    return cell if is_whole else around.replace("{}", cell, 1)


def _of_times(column: list[str]) -> tuple[str, str]:
    """Return the date, or the month, and the zone that most times have, and nothing where many have others."""
    dates = Counter(_edges(_DATE, text) for text in column)
    date, times = dates.most_common(1)[0]
    if date and times >= _MOSTLY * len(column):
        of_day = [text for text in column if text.startswith(date)]
        for which in (_ZONE, _OFFSET):
            zone, times = Counter(_ending(which, text) for text in of_day).most_common(1)[0]
            if times >= _MOSTLY * len(column):
                return date, zone
        return date, ""
    month = _edges(_MONTH, _beginning(min(column), max(column)))
    if month:
        zones = {_ending(_ZONE, text) for text in column}
        return month, zones.pop() if len(zones) == 1 else ""
    for which in (_ZONE, _OFFSET):
        zone, times = Counter(_ending(which, text) for text in column).most_common(1)[0]
        if times >= _MOSTLY * len(column):
            return "", zone
    return "", ""


def _edges(which: re.Pattern[str], text: str) -> str:
    found = which.search(text)
    return found[0] if found else ""


def _ending(which: re.Pattern[str], text: str) -> str:
    """Return the end of a time; to look for it from the start of the text would take ten times as long."""
    found = which.search(text, max(16, len(text) - 24))  # after the date, the hour and the minute
    return found[0] if found else ""


def _of_links(column: list[str]) -> tuple[str, str]:
    """Return what all links begin and end with, each of their parts whole."""
    start = _edges(_LINK, _beginning(min(column), max(column)))
    backwards = [text[len(start) :][::-1] for text in column]
    return start, _edges(_END, _beginning(min(backwards), max(backwards))[::-1])


def _beginning(least: Sliced, most: Sliced) -> Sliced:
    """Return what the least and the greatest of many, and so all of them, begin with."""
    size = next((at for at, (one, other) in enumerate(zip(least, most, strict=False)) if one != other), len(least))
    return least[:size]


def legend(cells: list[str]) -> list[str]:
    """Return the long cells of a column that recur so often that a tag may stand for them; times stay times."""
    if len(cells) < _TAGGED_TIMES or sum(map(len, cells)) < _TAGGED_WORD * _TAGGED_TIMES:
        return []
    counts = Counter(cells)
    often = [
        cell
        for cell, times in counts.items()
        if times >= _TAGGED_TIMES
        and not _TIME.match(cell)
        and len(cell) >= (_TAGGED_SENTENCE if " " in cell else _TAGGED_WORD)
    ]
    saved = sum((counts[cell] - 1) * len(cell) for cell in often)
    return often if saved > _TAGGED_SAVING else []


def as_float32(column: list[Any]) -> list[float] | None:
    """Return floats with the digits that they need as a float32, where all of them are one and most get shorter."""
    if len(column) < 2 * _ROWS or not {float} <= set(map(type, column)) <= {float, int}:
        return None
    try:
        single = struct.unpack(f"{len(column)}f", struct.pack(f"{len(column)}f", *column))
    except (OverflowError, struct.error):
        return None
    if list(single) != column:
        return None
    short = [_shortest(value) if type(value) is float else value for value in column]
    longer = list(compress(column, (a != b for a, b in zip(column, short, strict=True))))
    return short if 2 * len(longer) > len(column) else None


def _shortest(value: float) -> float:
    """Return the number with the fewest digits that is this one as a float32."""
    for digits in range(1, 9):
        short = float(f"{value:.{digits}g}")
        if to_float32(short) == value:
            return short
    return value


def to_float32(value: float) -> float:
    """Return the nearest float32."""
    (single,) = struct.unpack("f", struct.pack("f", value))
    return float(single)


def common_items(lists: Sequence[list[Any]], *, ordered: bool) -> tuple[list[Any], list[list[Any]]] | None:
    """Return the strings that all lists have, and the others of each; `ordered` ones must come first everywhere."""
    if len(lists) < _ROWS or not all(each and set(map(type, each)) == {str} for each in lists):
        return None
    if ordered:
        shared = _beginning(min(lists), max(lists))
        rest = [each[len(shared) :] for each in lists]
    else:
        if any(len(set(each)) < len(each) for each in lists):
            return None
        every = set(lists[0]).intersection(*lists)
        shared = [item for item in lists[0] if item in every]
        rest = [[item for item in each if item not in every] for each in lists]
    return (shared, rest) if sum(map(len, shared)) > 2 * _AFFIX else None
