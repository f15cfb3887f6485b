"""Find what the cells of a column have in common, to write it once."""

from __future__ import annotations

import re
import struct
from collections import Counter, defaultdict
from itertools import repeat
from operator import ne
from typing import TYPE_CHECKING, Any, TypeVar

from shaping.encoders.table.cells import bares
from shaping.encoders.table.model import Leaf, Legend, Node

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from shaping.encoders.table.derive import TableContext

    Words = Mapping[int, list[str]]


Sliced = TypeVar("Sliced", str, list[Any])
_MOSTLY = 0.8  # of the times that must be of one day
SHARED_ROWS, _AFFIX = 4, 8  # rows and characters from which a common beginning and end is worth a pattern
_AFFIXES = re.compile(r"[^,{}\[\]=\"\s]*")
_DAY, _MONTH = re.compile(r"\d{4}-\d\d-\d\d(?=[T ]\d\d:|$)", re.ASCII), re.compile(r"^\d{4}-\d\d-", re.ASCII)
_DAYS, _SECONDS = len("2026-11-17T"), len("2026-11-17T10:20:30")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\dT", re.ASCII)
_LINK = re.compile(r"^.*[/=#]")
_ZONE = re.compile(r"(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?$", re.ASCII)
_OFFSET = re.compile(r"(?:000)?(?:Z|[+-]\d\d:?\d\d)?$", re.ASCII)
_ZONED = re.compile(r"(?:Z|[+-]\d\d:?\d\d)$", re.ASCII)
_END = re.compile(r"[./?#&].*")
_TAGGED_TIMES, _TAGGED_SAVING = 5, 200
_TAGGED_SIZE = 20  # characters from which a recurring cell is worth a tag
_FLOATS, _DIGITS = frozenset({float, int}), 9  # characters of a number of which no shorter one is the same float32

_LOG = 40  # rows from which a column may be the messages of a log: of fewer, whole sentences are easier to read
_TIMES, _SENTENCES_WORTH = 5, 150  # sentences of one kind, and characters that all of them must save
_WORDS, _SHARED = 3, 16  # words of a sentence, of which at least half are shared, and characters of these
_LONGEST = 600  # characters of a sentence; what is longer is a text
_SPLITS = 3  # words by which sentences that begin alike are told apart
_ODD = re.compile(r"[{}\x00-\x1f\x7f]")
_DIGIT = re.compile(r"\d")
# What stands around a word and is no part of it: `name=`, brackets and quotes.
_BEFORE = re.compile(r"(?:[A-Za-z_.-]+=)?[\"'(\[<]*")
_AFTER = re.compile(r"[\])>\"',;:.]*$")


def in_sentences(column: list[str], context: TableContext) -> tuple[dict[int, str], list[Legend]]:
    """Return the cells of rows whose sentences recur with other words, and the legend of those not written yet."""
    short: dict[int, str] = {}
    new: dict[str, str] = {}
    for template, rows in sentences(column).items():
        is_new = template not in context.tagged
        tag = context.tag(template)
        if is_new:
            new[tag] = template
        short |= {at: f"{tag} {words}" for at, words in rows.items()}
    return short, [Legend(new)] if new else []


def sentences(column: list[str]) -> dict[str, dict[int, str]]:
    """Return templates with `{}` for the words that differ, and for each the words of the rows that it stands for."""
    if (
        len(column) < _LOG
        or column[0].count(" ") + column[len(column) // 2].count(" ") + column[-1].count(" ") < _WORDS
    ):
        return {}
    groups: dict[tuple[int, str, str], list[int]] = defaultdict(list)
    for at, text in enumerate(column):
        if len(text) <= _LONGEST:
            first, _, rest = text.partition(" ")
            groups[rest.count(" "), _mask(first), _mask(rest[rest.rfind(" ") :])].append(at)
    found: dict[str, dict[int, str]] = {}
    for (spaces, *_), rows in groups.items():
        if len(rows) >= _TIMES and spaces + 2 >= _WORDS:
            words = {at: column[at].split(" ") for at in rows}
            found |= dict(_sentences(words, rows, _SPLITS))
    return found


def _mask(word: str) -> str:
    return "" if not word.isalpha() and _DIGIT.search(word) else word


def _sentences(words: Words, rows: list[int], splits: int) -> Iterator[tuple[str, dict[int, str]]]:
    """Return the template of rows with as many words, or of those of them that share more."""
    if len(rows) < _TIMES:
        return
    columns = list(zip(*(words[at] for at in rows), strict=True))
    differing = {at: len(set(each)) for at, each in enumerate(columns) if each.count(each[0]) < len(each)}
    shared = sum(len(column[0]) + 1 for at, column in enumerate(columns) if at not in differing)
    if differing and shared >= _SHARED and 2 * len(differing) <= len(columns):
        if found := _sentence(columns, differing, rows):
            yield found
        return
    few = {at: count for at, count in differing.items() if count * _TIMES <= len(rows)}
    if not few or not splits:
        return
    by = min(few, key=few.__getitem__)
    parts: dict[str, list[int]] = defaultdict(list)
    for row, word in zip(rows, columns[by], strict=True):
        parts[word].append(row)
    for part in parts.values():
        yield from _sentences(words, part, splits - 1)


def _sentence(
    columns: Sequence[tuple[str, ...]], differing: Collection[int], rows: list[int]
) -> tuple[str, dict[int, str]] | None:
    parts: list[str] = []
    values: list[list[str]] = []
    for at, column in enumerate(columns):
        if at not in differing:
            parts.append(column[0])
            continue
        before, after = _around_word(column)
        inner = [word[len(before) : len(word) - len(after)] for word in column]
        if not all(inner) or any("," in word for word in inner):
            return None
        parts.append(f"{before}{{}}{after}")
        values.append(inner)
    template = " ".join(parts)
    if template.count("{}") > len(values) or _ODD.search("".join([template.replace("{}", ""), *map("".join, values)])):
        return None
    saved = (len(template) - 2 * len(values) - 4) * len(rows) - len(template)
    like_json = template[0] == '"' or (template[0] == "[" and template[-1] == "]")
    if saved < _SENTENCES_WORTH or like_json or template != template.strip(" "):
        return None
    return template, {row: " ".join(each) for row, each in zip(rows, zip(*values, strict=True), strict=True)}


def _around_word(column: tuple[str, ...]) -> tuple[str, str]:
    """Return what stands around the word in all rows alike."""
    befores = {found[0] for word in column if (found := _BEFORE.match(word))}
    afters = {found[0] for word in column if (found := _AFTER.search(word))}
    before = befores.pop() if len(befores) == 1 else ""
    after = afters.pop() if len(afters) == 1 else ""
    return before, after


def pattern(column: list[str]) -> tuple[str, list[str]] | None:
    """Return what all times or links of a column begin and end with, and what is between, where that is much.

    A few times of other days stay whole.
    """
    first = column[0]
    is_time = _DAY.match(first) is not None
    if len(column) < SHARED_ROWS or not (is_time or "://" in first or first[:1] == "/"):
        return None
    start, end = _of_times(column) if is_time else _of_links(column)
    if len(start) + len(end) < _AFFIX or not _AFFIXES.fullmatch(start + end):
        return None
    before, after = len(start), len(end)
    # All links have both; a few times may have neither.
    between = [
        text[before : len(text) - after] if not is_time or (text.startswith(start) and text.endswith(end)) else text
        for text in column
    ]
    around = f"{start}{{}}{end}"
    # What looks like a whole time is read as one.
    has_whole = is_time and any(map(_TIME.match, between))
    if not all(between) or (has_whole and [around_cell(around, cell) for cell in between] != column):
        return None
    return around, bares(between)


def around_cell(around: str, cell: str) -> str:
    """Return a cell with what a pattern has around it; a whole time under one with a date or a zone is itself."""
    is_whole = _TIME.match(cell) and (_DATE.match(around) or _ZONED.search(cell))
    return cell if is_whole else around.replace("{}", cell, 1)


def _of_times(column: list[str]) -> tuple[str, str]:
    """Return the date, or the month, and the zone that most times have, and nothing where many have others."""
    date, times = _most(text[:_DAYS] for text in column)
    if times >= _MOSTLY * len(column) and _DATE.match(date):
        return date, _zone([text for text in column if text.startswith(date)], len(column))
    month = _edges(_MONTH, _beginning(min(column), max(column)))
    if month:
        hours, zones = {text[10:] for text in column}, set(_endings(_ZONE, column))
        return month, (hours if len(hours) == 1 else zones).pop() if len(zones) == 1 else ""
    return "", _zone(column, len(column))


def _zone(times: list[str], rows: int) -> str:
    """Return the end that most rows have, with or without the fractions of a second."""
    for which in (_ZONE, _OFFSET):
        zone, count = _most(_endings(which, times))
        if count >= _MOSTLY * rows:
            return zone
    return ""


def _most(texts: Iterable[str]) -> tuple[str, int]:
    return Counter(texts).most_common(1)[0]


def _endings(which: re.Pattern[str], times: list[str]) -> Iterable[str]:
    # Most times are written to the second, in UTC.
    if {text[_SECONDS:] for text in times} == {"Z"}:
        return repeat("Z", len(times))
    return map(_ending, repeat(which), times)


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


def legend(cells: list[str], distinct: set[str]) -> list[str]:
    """Return the long cells of a column that recur so often that a tag may stand for them; times stay times."""
    if len(distinct) > len(cells) - _TAGGED_TIMES + 1 or max(map(len, distinct)) < _TAGGED_SIZE:
        return []
    counts = Counter(cells)
    often = [
        cell
        for cell, times in counts.items()
        if times >= _TAGGED_TIMES and len(cell) >= _TAGGED_SIZE and not _TIME.match(cell)
    ]
    saved = sum((counts[cell] - 1) * len(cell) for cell in often)
    return often if saved > _TAGGED_SAVING else []


def as_float32(column: list[Any], kinds: set[type]) -> list[float] | None:
    """Return floats with the digits that they need as a float32, where all of them are one and most get shorter."""
    if len(column) < 2 * SHARED_ROWS or not kinds <= _FLOATS:
        return None
    try:
        single = struct.unpack(f"{len(column)}f", struct.pack(f"{len(column)}f", *column))
    except (OverflowError, struct.error):
        return None
    if list(single) != column:
        return None
    short = [_shortest(value) if type(value) is float and len(repr(value)) > _DIGITS else value for value in column]
    return short if 2 * sum(map(ne, column, short)) > len(column) else None


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
    if len(lists) < SHARED_ROWS or not all(each and set(map(type, each)) == {str} for each in lists):
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


def shortened(leaf: Leaf, context: TableContext) -> list[Node]:
    """Return a column of strings without what all begin and end with, or with tags for what recurs in it."""
    strings = leaf.strings or []
    if around := pattern(strings):
        return [Leaf(leaf.name, around[1], around[0])]
    short, legends = in_sentences(strings, context)
    left = [cell for at, cell in enumerate(leaf.cells) if at not in short] if short else leaf.cells
    often = legend(left, set(left) if short else leaf.distinct)
    if not short and not often:
        return [leaf]
    new = {context.tag(cell): cell for cell in often if cell not in context.tagged}
    cells = [short.get(at) or context.tagged.get(cell, cell) for at, cell in enumerate(leaf.cells)]
    return [*legends, *([Legend(new)] if new else []), Leaf(leaf.name, cells)]
