"""The limits that hold for every list and every string; a long string loses its middle and says how much of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from shaping.budget.fitting import Budget

_MARK: Final = re.compile(r"…\[([\d,]+) characters left out\]…")
_WORTH_KEEPING: Final = 16  # characters around a mark; fewer tell nothing
_LINE_NEAR: Final = 120  # characters that an edge gives up for whole lines, and at most a fifth of all that is kept
_WORD_NEAR: Final = 24  # characters that are given up for whole words; what is longer is no word
_APART: Final = frozenset(',;|"()[]{}<>')  # between values, as a blank is; a dot or a dash may be inside one


def shorten(text: str, room: int) -> str:
    """Cut a string to so many characters, mark included; where not even the mark fits, only its beginning is left."""
    if len(text) <= room:
        return text
    kept = room - len(_mark(len(text)))
    if kept < _WORTH_KEEPING:
        return text[: _head(text, max(0, room - 1))] + "…"
    # The head says what it is, the tail how it ends: logs and traces need both.
    tail = kept // 3
    head, rest = _head(text, kept - tail), _tail(text, tail)
    return text[:head] + _mark(rest - head) + text[rest:]


def gone(before: str, after: str) -> tuple[int, int]:
    """Return where a shortened string was cut, and how many characters it lacks."""
    for mark in _MARK.finditer(after):
        missing = int(mark[1].replace(",", ""))
        if len(before) - missing == len(after) - len(mark[0]) and before.startswith(after[: mark.start()]):
            return mark.start(), missing
    return len(after) - 1, len(before) - len(after) + 1


def _mark(count: int) -> str:
    return f"…[{count:,} characters left out]…"


# Both edges only ever move inwards, to the nearest place of the best kind that is in reach, and every better kind of
# place is one of the worse kind too: so more room never shows less, which is what the search for a budget needs.
def _head(text: str, size: int) -> int:
    """Return where a head of at most so many characters ends: after a line, else outside of a word or a number."""
    line = text.rfind("\n", size - 1 - min(size * 3 // 10, _LINE_NEAR), size) + 1
    return line or _between(text, range(size, max(size - _WORD_NEAR, 1) - 1, -1), size)


def _tail(text: str, size: int) -> int:
    """Return where a tail of at most so many characters begins: with a line, else outside of a word or a number."""
    start = len(text) - size
    line = text.find("\n", start - 1, start + min(size * 3 // 5, _LINE_NEAR)) + 1
    return line or _between(text, range(start, min(start + _WORD_NEAR, len(text) - 1) + 1), start)


def _between(text: str, places: range, otherwise: int) -> int:
    for inside in (_in_value, _in_word):
        found = next((at for at in places if not (inside(text[at - 1]) and inside(text[at]))), None)
        if found is not None:
            return found
    return otherwise


def _in_value(sign: str) -> bool:
    return sign not in _APART and not sign.isspace()


def _in_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


# No text has more than so many bytes a token in practice; what lies beyond is not looked at.
_BYTES_A_TOKEN: Final = 32


class Trim:
    """Applies max_items and max_string to as much of a value as a token budget can show."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
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
        new: list[Any] = []
        for item in value[: self._budget.max_items]:
            if self._left <= 0 and new:
                break
            self._left -= 1
            new.append(self.value(item))
        same = len(new) == len(value) and all(a is b for a, b in zip(new, value, strict=True))
        return value if same else new

    def _text(self, text: str) -> str:
        limit = self._budget.max_string
        new = text if limit is None else shorten(text, limit)
        self._left -= len(new) + 2
        if new is not text:
            self.whole[id(new)] = text
            self._alive.append(new)
        return new
