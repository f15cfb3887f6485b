"""Long strings lose their middle and say how much of it."""

from __future__ import annotations

import re
from typing import Final

_MARK: Final = re.compile(r"…\[([\d,]+) characters left out\]…")
_WORTH_KEEPING: Final = 16  # characters around a mark; fewer tell nothing


def shorten(text: str, room: int) -> str:
    """Cut a string to so many characters, mark included; where not even the mark fits, only its beginning is left."""
    if len(text) <= room:
        return text
    kept = room - len(_mark(len(text)))
    if kept < _WORTH_KEEPING:
        return text[: max(0, room - 1)] + "…"
    # The head says what it is, the tail how it ends: logs and traces need both.
    tail = kept // 3
    head = kept - tail
    return text[:head] + _mark(len(text) - kept) + text[len(text) - tail :]


def gone(before: str, after: str) -> int:
    """Tell how many characters a shortened string lacks."""
    for mark in _MARK.finditer(after):
        missing = int(mark[1].replace(",", ""))
        if len(before) - missing == len(after) - len(mark[0]) and before.startswith(after[: mark.start()]):
            return missing
    return len(before) - len(after) + 1


def _mark(count: int) -> str:
    return f"…[{count:,} characters left out]…"
