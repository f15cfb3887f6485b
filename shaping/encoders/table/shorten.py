"""Find what the cells of a column have in common, to write it once."""

from __future__ import annotations

import re
import struct
from collections import Counter
from operator import eq, ne
from typing import TYPE_CHECKING, Any, TypeVar

from shaping.encoders.table.cells import bares, quoted
from shaping.encoders.table.model import BEGIN, HAVE, Leaf, Legend, Node
from shaping.encoders.templates import PLACE, Kind, alike

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shaping.encoders.table.derive import TableContext


Sliced = TypeVar("Sliced", str, list[Any])
_MOSTLY = 0.8  # of the times that must be of one day
SHARED_ROWS, _AFFIX = 4, 8  # rows and characters from which a common beginning and end is worth a pattern
_AFFIXES = re.compile(r"[^,{}\[\]=\"\s]*")
_DAY, _MONTH = re.compile(r"\d{4}-\d\d-\d\d(?=[T ]\d\d:|$)", re.ASCII), re.compile(r"^\d{4}-\d\d-", re.ASCII)
_DAYS, _MINUTES, _SECONDS = len("2026-11-17T"), len("2026-11-17T10:20"), len("2026-11-17T10:20:30")
_ENDING = 24  # characters that the fraction and the zone of a time take at most
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\dT", re.ASCII)
_LINK = re.compile(r"^.*[/=#]")
# Each way begins with a character of its own, to which a search skips: it takes a fifth of the time.
_ZONE = re.compile(r"\.\d+(?:Z|[+-]\d\d:?\d\d)?$|Z$|\+\d\d:?\d\d$|-\d\d:?\d\d$", re.ASCII)
_OFFSET = re.compile(r"000(?:Z|[+-]\d\d:?\d\d)?$|Z$|\+\d\d:?\d\d$|-\d\d:?\d\d$", re.ASCII)
_ZONED = re.compile(r"(?:Z|[+-]\d\d:?\d\d)$", re.ASCII)
_END = re.compile(r"[./?#&].*")
RECURRING = 4  # rows that have what another one has, from which a tag may stand for it
_TAGGED_SAVING = 120
_TAGGED_SIZE = 20  # characters from which a recurring cell is worth a tag
_SUBNORMAL = 2.0**-126  # below it a float32 has fewer digits
_FLOATS, _DIGITS = frozenset({float, int}), 9  # characters of a number of which no shorter one is the same float32

SENTENCE_ROWS = 40  # from which a column may be the messages of a log: of fewer, whole sentences are easier to read
_SENTENCES_WORTH = 150  # characters that all sentences of one kind must save
_WORDS, _SHARED = 3, 16  # words of three sentences at least, and characters that all sentences of a kind share
_LONGEST = 600  # characters of a sentence; what is longer is a text


def in_sentences(column: list[str], context: TableContext) -> tuple[dict[int, str], list[Legend]]:
    """Return the cells of rows whose sentences recur with other words, and the legend of those not written yet."""
    # The words of a few rows tell that most columns have no sentences.
    if len(column) < SENTENCE_ROWS or sum(column[at].count(" ") for at in (0, len(column) // 2, -1)) < _WORDS:
        return {}, []
    chosen = [
        at for at, text in enumerate(column) if len(text) <= _LONGEST and text.isprintable() and text.strip() == text
    ]
    short: dict[int, str] = {}
    new: dict[str, str] = {}
    for kind in filter(_is_sentence, (group.kind() for group in alike(column, chosen, exact=True))):
        is_new = kind.template not in context.tagged
        tag = context.tag(kind.template)
        if is_new:
            new[tag] = kind.template
        short |= {at: f"{tag} {words}" for at, words in kind.rows.items()}
    return short, [Legend(new)] if new else []


def _is_sentence(kind: Kind) -> bool:
    """Return whether at least half of a template's words are the same in all rows, and it can stand in a cell."""
    template, (first, *rest) = kind.template, PLACE.split(kind.template)
    shared, places = len(first) + sum(map(len, rest[1::2])), rest[::2]
    if "" not in places or shared < _SHARED or kind.saved < _SENTENCES_WORTH:
        return False
    if template[0] == '"' or (template[0] == "[" and template[-1] == "]"):  # like JSON
        return False
    return 2 * len(places) <= len(template.split()) and not any("," in words for words in kind.rows.values())


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
    # What looks like a whole time is read as one, and nothing else is.
    has_whole = (is_time and any(map(eq, between, column))) or any(map(_TIME.match, between))
    if not all(between) or (has_whole and [around_cell(around, cell) for cell in between] != column):
        return None
    return around, bares(between)


def around_cell(around: str, cell: str) -> str:
    """Return a cell with what a pattern has around it; a whole time under one with a date or a zone is itself."""
    is_whole = _TIME.match(cell) and (_DATE.match(around) or _ZONED.search(cell))
    return cell if is_whole else around.replace("{}", cell, 1)


def _of_times(column: list[str]) -> tuple[str, str]:
    """Return the date, or the month, and the zone that most times have, and nothing where many have others."""
    date, times = most_common([text[:_DAYS] for text in column])
    if times >= _MOSTLY * len(column) and _DATE.match(date):
        return date, _zone([text for text in column if text.startswith(date)], len(column))
    month = _edges(_MONTH, _beginning(min(column), max(column)))
    if month:
        hours, zones = {text[10:] for text in column}, set(endings(_ZONE, column))
        return month, (hours if len(hours) == 1 else zones).pop() if len(zones) == 1 else ""
    return "", _zone(column, len(column))


def _zone(times: list[str], rows: int) -> str:
    """Return the end that most rows have, with or without the fractions of a second."""
    for which in (_ZONE, _OFFSET):
        zone, count = most_common(endings(which, times))
        if count >= _MOSTLY * rows:
            return zone
    return ""


def most_common(texts: list[str]) -> tuple[str, int]:
    """Return the text that more than half of all are, and how often it comes; any where none is so common."""
    middle = sorted(texts)[len(texts) // 2]
    return middle, texts.count(middle)


def endings(which: re.Pattern[str], times: Sequence[str], start: int = _MINUTES) -> list[str]:
    """Return the end of each time: after `start`, and near the end, because a search of the whole takes far longer."""
    # Most times are written to the second, in UTC.
    if {text[_SECONDS:] for text in times} == {"Z"}:
        return ["Z"] * len(times)
    return [found[0] if (found := which.search(text, max(start, len(text) - _ENDING))) else "" for text in times]


def _edges(which: re.Pattern[str], text: str) -> str:
    found = which.search(text)
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
    if len(distinct) > len(cells) - RECURRING or max(map(len, distinct)) < _TAGGED_SIZE:
        return []
    counts = Counter(cells)
    often = [
        cell
        for cell, times in counts.items()
        if times > RECURRING and len(cell) >= _TAGGED_SIZE and cell[0] != "{" and not _TIME.match(cell)
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
    # But for the smallest, no two numbers of six digits are the same float32: with fewer there is no other.
    for digits in range(6 if abs(value) > _SUBNORMAL else 1, 9):
        short = float(f"{value:.{digits}g}")
        if to_float32(short) == value:
            return short
    return value


def to_float32(value: float) -> float:
    """Return the nearest float32."""
    (single,) = struct.unpack("f", struct.pack("f", value))
    return float(single)


def common_items(lists: Sequence[list[Any]], *, ordered: bool) -> tuple[str, list[list[Any]]] | None:
    """Say which strings all lists have, and give the others of each; `ordered` ones must come first everywhere."""
    if len(lists) < SHARED_ROWS or not all(each and set(map(type, each)) == {str} for each in lists):
        return None
    shared, said = _beginning(min(lists), max(lists)), BEGIN
    rest = [each[len(shared) :] for each in lists]
    if not ordered and all(len(set(each)) == len(each) for each in lists):
        every = set(lists[0]).intersection(*lists)
        if len(every) > len(shared):
            shared, said = [item for item in lists[0] if item in every], HAVE
            rest = [[item for item in each if item not in every] for each in lists]
    return (f"{said}{quoted(shared)}", rest) if sum(map(len, shared)) > 2 * _AFFIX else None


def shortened(leaf: Leaf, context: TableContext) -> list[Node]:
    """Return a column without what all its strings begin and end with, or with tags for what recurs in it."""
    strings = leaf.strings or []
    if strings and (around := pattern(strings)):
        return [Leaf(leaf.name, around[1], around[0])]
    said, legends = in_sentences(strings, context)
    if not said and not legend(leaf.cells, leaf.distinct):
        return [leaf]
    cells, legends = tagged(leaf.cells, said, legends, context)
    return [*legends, Leaf(leaf.name, cells)]


def tagged(
    cells: list[str], sentences: Mapping[int, str], legends: Sequence[Legend], context: TableContext
) -> tuple[list[str], list[Legend]]:
    """Return cells with their sentences and with tags for what recurs in the others, and the legend of all of them."""
    left = [cell for at, cell in enumerate(cells) if at not in sentences] if sentences else cells
    often = legend(left, set(left)) if left else []
    if not (sentences or often):
        return cells, [*legends]
    new = {context.tag(cell): cell for cell in often if cell not in context.tagged}
    short = [sentences.get(at) or context.tagged.get(cell, cell) for at, cell in enumerate(cells)]
    return short, [*legends, *([Legend(new)] if new else [])]
