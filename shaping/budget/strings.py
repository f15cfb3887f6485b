"""Long strings lose their middle and say how much of it."""

from __future__ import annotations

import re
from typing import Final

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


def gone(before: str, after: str) -> int:
    """Tell how many characters a shortened string lacks."""
    for mark in _MARK.finditer(after):
        missing = int(mark[1].replace(",", ""))
        if len(before) - missing == len(after) - len(mark[0]) and before.startswith(after[: mark.start()]):
            return missing
    return len(before) - len(after) + 1


def _mark(count: int) -> str:
    return f"…[{count:,} characters left out]…"


# Both edges only ever move inwards, to the nearest place of the best kind that is in reach, and every better kind of
# place is one of the worse kind too: so more room never shows less, which is what the search for a budget needs.
def _head(text: str, size: int) -> int:
    """Give where a head of at most so many characters ends: after a line, else outside of a word or a number."""
    line = text.rfind("\n", size - 1 - min(size * 3 // 10, _LINE_NEAR), size) + 1
    return line or _between(text, range(size, max(size - _WORD_NEAR, 1) - 1, -1), size)


def _tail(text: str, size: int) -> int:
    """Give where a tail of at most so many characters begins: with a line, else outside of a word or a number."""
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
