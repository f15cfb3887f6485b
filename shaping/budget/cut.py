"""Cutting a value: to limits of elements and characters, or to so many bytes, list tails first, then strings."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.budget.cut_text import FEW, LineChoice, choose_by_characters, missing_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from shaping.budget.fit import Budget

_EMPTY: Final = 2  # bytes of [] or {}
_MARK: Final = 40  # bytes of a string that is all mark
_WORTH_OPENING: Final = 24  # bytes below which a piece of a list's only element tells nothing
_HEAD: Final = 4  # elements of a column that it is worth showing for
_HEAD_BYTES: Final = 128  # and how large they may be for that
_WIDE: Final = 32  # members above which an object is a map, and measured coarsely
_IDENTIFIES: Final = ("id", "key", "name", "number", "sha", "slug", "code", "ref", "title", "status", "path", "type")
_SHORTEST: Final = 4  # elements: shorter lists are often as long as each other by chance
_AXES: Final = ("time", "date", "timestamp", "timestamps", "index")
_MARKED: Final = re.compile(r"…\[([\d,]+) characters left out\]…")
_WORTH_KEEPING: Final = 16  # characters around a mark; fewer tell nothing
_LINE_NEAR: Final = 120  # characters that an edge gives up for whole lines, and at most a fifth of all that is kept
_WORD_NEAR: Final = 24  # characters that are given up for whole words; what is longer is no word
_LINES: Final = 40  # from which a text is cut at the ends of lines
_APART: Final = frozenset(',;|"()[]{}<>')  # between values, as a blank is; a dot or a dash may be inside one
# No text has more than so many bytes a token in practice; what lies beyond is not looked at.
_BYTES_A_TOKEN: Final = 32
_LEVELS: Final = frozenset({"level", "levelname", "loglevel", "lvl", "severity", "severitytext"})
_ERRORS: Final = frozenset({"error", "err", "severe", "critical", "crit", "fatal", "panic", "alert", "emerg"})
_SAMPLE: Final = 8  # records of a list that tell whether it is a log
_FOR_ERRORS: Final = 0.75  # of the room of a log: its beginning is to be seen too


class ErrorRows:
    """Finds the records of a log that report errors, and remembers which rows of it a cut list holds."""

    def __init__(self) -> None:
        self._errors: dict[int, list[int]] = {}
        self._kept: dict[int, tuple[list[Any], Sequence[int]]] = {}

    def of(self, value: list[Any]) -> list[int]:
        """Return the indexes of the records whose level is an error; none where the list is no log."""
        if id(value) not in self._errors:
            names = {name for row in value[:_SAMPLE] if type(row) is dict for name in row if _is_level(name)}
            self._errors[id(value)] = [
                at
                for at, row in enumerate(value if names else ())
                if type(row) is dict and any(str(row.get(name)).lower() in _ERRORS for name in names)
            ]
        return self._errors[id(value)]

    def choose(self, value: list[Any], cost: Callable[[Any], int], room: int) -> list[int]:
        """Return the rows there is room for: those that report errors, and the first ones."""
        errors = _affordable_rows(self.of(value), lambda at: cost(value[at]), room * _FOR_ERRORS)
        left, known = room - sum(cost(value[at]) for at in errors), set(errors)
        first = _affordable_rows(range(len(value)), lambda at: 0 if at in known else cost(value[at]), left)
        return sorted(known.union(first))

    def places(self, kept: list[Any]) -> Sequence[int]:
        """Return which rows of the whole list a cut one holds."""
        return self._kept[id(kept)][1] if id(kept) in self._kept else range(len(kept))

    def keep(self, value: list[Any], chosen: Sequence[int], rows: list[Any]) -> list[Any]:
        """Remember which rows of a list are kept: the list may be a cut one itself."""
        places = self.places(value)
        self._kept[id(rows)] = rows, [places[at] for at in chosen]
        return rows


def _affordable_rows(rows: Sequence[int], cost: Callable[[int], int], room: float) -> list[int]:
    spent = takewhile(lambda so_far: so_far <= room, accumulate(map(cost, rows)))
    return [at for at, _ in zip(rows, spent, strict=False)]


def _is_level(name: str) -> bool:
    return name.lower().replace("_", "").removeprefix("log.") in _LEVELS


class TreeCutter:
    """Cuts one value to different sizes, remembering what it measured; `whole` has the full text of cut strings."""

    def __init__(self, sizes: Sizes, whole: Mapping[int, str], errors: ErrorRows) -> None:
        self._sizes = sizes
        self._errors = errors
        self._whole = whole
        self._choices: dict[int, LineChoice] = {}

    def to(self, value: Any, room: int) -> Any:
        """Return as much of the value as goes into the room; what fits is handed on as it is."""
        if self._sizes.of(value, room) <= room or value in ([], {}):
            return value
        if isinstance(value, dict):
            return self._object(value, room)
        if isinstance(value, list):
            return self._list(value, room)
        return self._text(self._whole.get(id(value), value), max(room - 2, 0)) if isinstance(value, str) else value

    def _text(self, text: str, room: int) -> str:
        if text.count("\n") < _LINES or len(text) <= room:
            return shorten(text, room)
        if id(text) not in self._choices:
            self._choices[id(text)] = choose_by_characters(text)
        cut = self._choices[id(text)].within(room)
        return cut.text if cut.shown >= FEW and len(cut.text) <= room else shorten(text, room)

    def _list(self, value: list[Any], room: int) -> list[Any]:
        if self._errors.of(value) and (chosen := self._errors.choose(value, self._sizes.element, room - _EMPTY)):
            return self._errors.keep(value, chosen, [value[at] for at in chosen])
        # From the end: tools sort best first, and a stable head keeps cursors valid.
        shown = max(self._sizes.fitting(value, room), 0)
        left = room - self._sizes.head(value, shown)
        if left < max(_WORTH_OPENING, room // 2):
            return value[:shown]
        # Most of the room would stay empty: a part of the next element is better than nothing of it.
        part = self.to(value[shown], left)
        return value[:shown] if part in ({}, []) else [*value[:shown], part]

    def _object(self, value: dict[str, Any], room: int) -> dict[str, Any]:
        # In a wide object no member can have more than a few shares, so none is measured further than that.
        cap = room if len(value) <= _WIDE else max(4 * room // len(value), 256)
        sizes = {key: self._sizes.of(member, cap) for key, member in value.items()}
        needs = {key: _need(key, member, sizes[key], room, wide=len(value) > _WIDE) for key, member in value.items()}
        table = columns(value)
        needs |= {key: min(sizes[key], self._head(value[key])) for key in table}
        kept = _affordable(needs, room - _EMPTY, table)
        shares = _shares(value, sizes, {key: needs[key] for key in kept}, room - _EMPTY)
        rows = self._rows({key: value[key] for key in table if key in shares}, shares)
        return {key: rows.get(key) or self.to(value[key], shares[key]) for key in value if key in shares}

    def _head(self, column: list[Any]) -> int:
        return min(self._sizes.head(column, _HEAD), _HEAD_BYTES)

    def _rows(self, table: Mapping[str, list[Any]], shares: Mapping[str, int]) -> dict[str, list[Any]]:
        """Cut the columns to one length, with the room of all; none where there is no room for a part of a row."""
        room = sum(shares[key] for key in table)
        shown, left = self._sizes.rows(table.values(), room)
        if left < max(_WORTH_OPENING, room // 2) or all(shown == len(column) for column in table.values()):
            return _heads(table, shown)
        part = self.to({key: column[shown] for key, column in table.items()}, left)
        if len(part) < len(table):
            return _heads(table, shown)
        return {key: [*column[:shown], part[key]] for key, column in table.items()}


def _heads(table: Mapping[str, list[Any]], shown: int) -> dict[str, list[Any]]:
    # What is whole stays the same object: what is the same is not compared.
    return {key: column if shown == len(column) else column[:shown] for key, column in table.items()} if shown else {}


def _need(key: str, member: Any, size: int, room: int, *, wide: bool) -> int:
    """Return the fewest bytes that a member is worth showing in."""
    if _matters(key) and size <= room // 4:
        return size
    least = _EMPTY if isinstance(member, (dict, list)) else min(size, _MARK) if isinstance(member, str) else size
    # Wide objects are maps: better some members whole than all of them empty.
    return max(least, min(size, room // 8)) if wide else least


def _affordable(needs: Mapping[str, int], room: int, table: Collection[str]) -> list[str]:
    """Choose the members there is room for: those that identify or tell of an error, then the others in order."""
    kept = []
    for key in sorted(needs, key=lambda key: not (_matters(key) or (key in table and is_axis(key)))):
        needed = len(key) + 4 + needs[key]
        if needed <= room:
            room -= needed
            kept.append(key)
    return kept


def _shares(value: Mapping[str, Any], sizes: Mapping[str, int], needs: Mapping[str, int], room: int) -> dict[str, int]:
    """Divide the room: what is small gets all it needs, what is large shares the rest by weight."""
    left = room - sum(len(key) + 4 + need for key, need in needs.items())
    weight = sum(_weight(value[key]) for key in needs)
    shares: dict[str, int] = {}
    for key in sorted(needs, key=lambda key: (sizes[key] - needs[key]) / _weight(value[key])):
        more = min(sizes[key] - needs[key], left * _weight(value[key]) // weight)
        shares[key] = needs[key] + more
        left -= more
        weight -= _weight(value[key])
    return shares


def _weight(member: Any) -> int:
    # A string is worth as much room as four lists: a list's tail is more of the same.
    return 1 if isinstance(member, list) else 2 if isinstance(member, dict) else 4


def _matters(key: str) -> bool:
    name = key.lower()
    return name.endswith(_IDENTIFIES) or "error" in name or name == "message"


def columns(value: Mapping[str, Any]) -> tuple[str, ...]:
    """Name the members that are columns of one table: most of the object's lists, and all of one length."""
    lengths = {key: len(member) for key, member in value.items() if isinstance(member, list) and member}
    if len(lengths) < 2:
        return ()
    length, many = Counter(lengths.values()).most_common(1)[0]
    found = tuple(key for key in lengths if lengths[key] == length)
    # Records say themselves what they are of; beside one list of plain values they may be as many by chance.
    plain = sum(not isinstance(value[key][0], dict) for key in found)
    return found if length >= _SHORTEST and plain > 1 and 2 * many > len(lengths) else ()


def is_axis(key: str) -> bool:
    """Whether a column tells where on the axis a row is, so that the others say nothing without it."""
    return key.lower().endswith(_AXES)


class Sizes:
    """Sizes of one value's parts; each element of a list is written once, and remembered."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}
        self._heads: dict[int, list[int]] = {}  # of each list, how large its first none, one, two, … elements are

    def of(self, value: Any, cap: int) -> int:
        """Return the size of a value, or any number above the cap as soon as it is clear that it is larger."""
        if isinstance(value, dict):
            return self._object(value, cap)
        if isinstance(value, list):
            return self._list(value, cap)
        return scalar(value)

    def element(self, value: Any) -> int:
        """Return the size of a list's element, comma included."""
        if not isinstance(value, (dict, list)):
            return scalar(value) + 1
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = _written(value) + 1
        return known

    def head(self, value: list[Any], shown: int) -> int:
        """Return the size of a list's first elements, or of all where it has no more."""
        heads = self._heads.setdefault(id(value), [2])
        for item in value[len(heads) - 1 : shown]:
            heads.append(heads[-1] + self.element(item))
        return heads[min(shown, len(value))]

    def fitting(self, value: list[Any], room: int) -> int:
        """Return how many of a list's first elements fit into the room."""
        heads = self._heads.setdefault(id(value), [2])
        while heads[-1] <= room and len(heads) <= len(value):
            heads.append(heads[-1] + self.element(value[len(heads) - 1]))
        return bisect_right(heads, room) - 1

    def rows(self, table: Collection[list[Any]], room: int) -> tuple[int, int]:
        """Return how many first rows of parallel lists fit into the room, and what room is left."""

        def size(rows: int) -> int:
            return sum(self.head(column, rows) for column in table)

        length, most = len(next(iter(table), ())), 1
        # Doubled, not measured to the end: a table may be far larger than any room.
        while most < length and size(most) <= room:
            most *= 2
        shown = bisect_right(range(min(most, length) + 1), room, key=size) - 1
        return shown, room - size(shown)

    def _list(self, value: list[Any], cap: int) -> int:
        return self.head(value, self.fitting(value, cap) + 1)

    def _object(self, value: dict[str, Any], cap: int) -> int:
        total = 2
        for key, member in value.items():
            total += len(key) + 4 + self.of(member, cap - total)
            if total > cap:
                break
        return total


def scalar(value: Any) -> int:
    """Return the size of a string, a number, a boolean or null."""
    return len(value) + 2 if isinstance(value, str) else len(str(value))


def _written(value: Any) -> int:
    try:
        return len(orjson.dumps(value))
    except (TypeError, ValueError, RecursionError):  # deeper than orjson goes: measured by its text
        return len(str(value))


def shorten(text: str, room: int) -> str:
    """Cut a string to so many characters, mark included; where not even the mark fits, only its beginning is left."""
    if len(text) <= room:
        return text
    kept = room - len(_left_out(len(text)))
    if kept < _WORTH_KEEPING:
        return text[: _head_end(text, max(0, room - 1))] + "…"
    # The head says what it is, the tail how it ends: logs and traces need both.
    tail = kept // 3
    head, rest = _head_end(text, kept - tail), _tail_start(text, tail)
    return text[:head] + _left_out(rest - head) + text[rest:]


def gone(before: str, after: str) -> tuple[int, int]:
    """Return where a shortened string was first cut, and how many characters it lacks."""
    if places := missing_lines(before, after):
        lines = before.split("\n")
        sizes = [sum(map(len, lines[place.start : place.stop])) + len(place) for place in places]
        return sum(map(len, lines[: places[0].start])) + places[0].start, sum(sizes)
    for mark in _MARKED.finditer(after):
        missing = int(mark[1].replace(",", ""))
        if len(before) - missing == len(after) - len(mark[0]) and before.startswith(after[: mark.start()]):
            return mark.start(), missing
    return len(after) - 1, len(before) - len(after) + 1


def _left_out(count: int) -> str:
    return f"…[{count:,} characters left out]…"


# Both edges only ever move inwards, to the nearest place of the best kind that is in reach, and every better kind of
# place is one of the worse kind too: so more room never shows less, which is what the search for a budget needs.
def _head_end(text: str, size: int) -> int:
    """Return where a head of at most so many characters ends: after a line, else outside of a word or a number."""
    line = text.rfind("\n", size - 1 - min(size * 3 // 10, _LINE_NEAR), size) + 1
    return line or _between(text, range(size, max(size - _WORD_NEAR, 1) - 1, -1), size)


def _tail_start(text: str, size: int) -> int:
    """Return where a tail of at most so many characters begins: with a line, else outside of a word or a number."""
    start = len(text) - size
    line = text.find("\n", start - 1, start + min(size * 3 // 5, _LINE_NEAR)) + 1
    return line or _between(text, range(start, min(start + _WORD_NEAR, len(text) - 1) + 1), start)


def _between(text: str, places: range, otherwise: int) -> int:
    return next((at for at in places if not (_in_value(text[at - 1]) and _in_value(text[at]))), otherwise)


def _in_value(sign: str) -> bool:
    return sign not in _APART and not sign.isspace()


class Trim:
    """Applies max_items and max_string to as much of a value as a token budget can show."""

    def __init__(self, budget: Budget, errors: ErrorRows) -> None:
        self._budget = budget
        self._errors = errors
        self._left = float("inf") if budget.max_tokens is None else budget.max_tokens * _BYTES_A_TOKEN
        self.whole: dict[int, str] = {}  # the full text of each string that was cut, by the cut one's id
        self._alive: list[str] = []  # so that no id is used twice

    def value(self, value: Any) -> Any:
        """Return the value with its lists and strings within the limits; the same object where they are."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return self._list(value)
        if isinstance(value, dict):
            new = {key: self.value(member) for key, member in value.items()}
            return new if any(new[key] is not member for key, member in value.items()) else value
        return value

    def _list(self, value: list[Any]) -> list[Any]:
        new, most = list[Any](), self._budget.max_items
        errors = self._errors.of(value)
        chosen = self._errors.choose(value, lambda _: 1, most) if errors and most else range(len(value))[:most]
        for item in map(value.__getitem__, chosen):
            if self._left <= 0 and new:
                break
            self._left -= 1
            new.append(self.value(item))
        same = len(new) == len(value) and all(a is b for a, b in zip(new, value, strict=True))
        return value if same else self._errors.keep(value, chosen[: len(new)], new) if errors else new

    def _text(self, text: str) -> str:
        limit = self._budget.max_string
        new = text if limit is None else shorten(text, limit)
        self._left -= len(new) + 2
        if new is not text:
            self.whole[id(new)] = text
            self._alive.append(new)
        return new
