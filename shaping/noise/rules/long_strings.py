"""Long strings: what a program printed is shortened as a text would be, others are cut to their head."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from shaping.encoders import encode
from shaping.noise.records import LONG, NoiseRule, Records
from shaping.noise.text import reduce_text
from shaping.noise.vocabulary import CODE_MARKS, meaning
from shaping.parsers import EXACT, FORMATS, parse_if_cheaper

if TYPE_CHECKING:
    from collections.abc import Callable

    from shaping.response import Json


_WORDS = bytes(range(65, 91)) + bytes(range(97, 123)) + bytes(range(128, 256)) + b" "
_HEAD_CODE = 96
_HEAD, _SHORTEST_HEAD, _HEADS = 1000, 200, 60_000  # of prose: the most, the least, and what all heads together may take
_LOOK, _SOME = 1500, 6  # characters of a string, and strings of a column, that tell what it is
_LONG_ENUMERATION, _ENUMERATION = 4 * LONG, re.compile(r"[\d,;: .-]+")
_OTHERS, _MANY_OTHERS = 3, 6  # other members from which code, and from which prose, is not the point of its record


def long_strings(records: Records) -> None:
    """Cut long strings of records that have more to say than the string."""
    for key in records.untouched("long"):
        values = records.texts(key)
        if values is None or meaning(key).diagnostic:
            continue
        if (limits := _limits(key, values, records)) is not None:
            records.replace_texts(key, partial(_shortened_over, *limits), "bulk")


def _shortened_over(limit: int, head: int, text: str) -> str:
    """Return the head of a text over the limit, ended at a word where one ends near, and how long the whole is."""
    if len(text) <= limit:
        return text
    cut = text[:head]
    edge = max(cut.rfind(" "), cut.rfind("\n"))
    kept = cut[:edge] if edge > head * 0.6 else cut
    return f"{kept.rstrip()} …[{len(text)} characters]"


def is_prose(text: str) -> bool:
    """Return whether a text is sentences, not code: by how much of it is letters and single spaces."""
    sample = text[:_LOOK].encode()
    other = len(sample.translate(None, _WORDS)) + 2 * sample.count(b"  ")
    return other < 0.2 * len(sample)


def _limits(key: str, values: list[str], records: Records) -> tuple[int, int] | None:
    """Return from which length on to cut and what to leave, or None where the strings are the point."""
    others = records.other_members(key)
    if others >= _OTHERS and all(map(_is_enumeration, values)):
        return _LONG_ENUMERATION, _HEAD_CODE
    if len(records.rows) == 1 or not records.listed:
        beside = others >= _OTHERS and not meaning(key).prose and _any_table(records)
        return (LONG, _HEAD_CODE) if beside else None
    long = [value for value in values if len(value) > LONG]
    some = long[:: len(long) // _SOME + 1]
    if _mostly(_is_diff, some):
        return None
    elsewhere = _any_table(records) or _are_outliers(values)
    if others >= _OTHERS and elsewhere and _mostly(_is_code, some):
        return LONG, _HEAD_CODE
    head = max(_SHORTEST_HEAD, min(_HEAD, _HEADS // len(values)))
    return (head * 12 // 5, head) if others >= _MANY_OTHERS else None


def _mostly(test: Callable[[str], bool], values: list[str]) -> bool:
    return sum(map(test, values)) > 0.7 * len(values)


def _are_outliers(values: list[str]) -> bool:
    """Whether most strings are short and a few are very long."""
    sizes = sorted(map(len, values))
    return 8 * sizes[len(sizes) // 2] < sizes[-1]


def _is_diff(text: str) -> bool:
    return "@@ -" in text[:400]


def _is_enumeration(text: str) -> bool:
    """Whether a string lists numbers and ranges of them, as scanners list the ports that they try."""
    return len(text) > _LONG_ENUMERATION and _ENUMERATION.fullmatch(text) is not None


def _is_code(text: str) -> bool:
    return not is_prose(text) and any(mark in text for mark in CODE_MARKS)


def _any_table(records: Records) -> bool:
    return any(map(_is_table, records.rows[:_SOME]))


def _is_table(row: dict[str, Json]) -> bool:
    """Whether a record's point is a list of records in it."""
    return any(type(value) is list and len(value) > 2 and type(value[0]) is dict for value in row.values())


LONG_STRINGS = NoiseRule("bulk", frozenset({"long"}), long_strings)


_ROWS = tuple(name for name in FORMATS if name not in EXACT)
_GROUPS = frozenset({"boilerplate", "bulk"})
_LINES = 8  # of a text that may have something to shorten


def printed(records: Records) -> None:
    """Write rows that stand in a long text as a table, and passed tests and the frames of libraries as their number."""
    for key in filter(_is_printed, records.untouched("long")):
        records.replace_texts(key, _shortened, "boilerplate")


def _is_printed(key: str) -> bool:
    return meaning(key).printed


def _shortened(text: str) -> str:
    if text.count("\n") < _LINES:
        return text
    found = parse_if_cheaper(text, _ROWS, as_lines=False)
    if found is not None:
        return encode(found.value).text
    reduced, omissions = reduce_text(text, _GROUPS)
    return reduced if omissions else text


PRINTED = NoiseRule("boilerplate", frozenset({"long"}), printed, _is_printed)
