"""Which tools a name or pattern stands for, and which of several wins."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_TOKEN = re.compile(r"\*+|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)


def is_pattern(text: str) -> bool:
    """Say whether a text can stand for more than one tool."""
    return any(char in text for char in "*?[")


def ranked(tool: str, patterns: Iterable[str]) -> list[str]:
    """List the patterns that match a tool, weakest first: longer beats shorter, later beats equal, exact beats all."""
    matching = [pattern for pattern in patterns if fits(tool, pattern)]
    return sorted(matching, key=lambda pattern: (pattern == tool, len(pattern)))


def fits(tool: str, pattern: str) -> bool:
    """Say whether a name or pattern stands for a tool."""
    # `kubectl get *` is for `kubectl get -n prod pods` too, whose name ends where its options begin.
    return tool == pattern or fnmatchcase(tool, pattern) or fnmatchcase(tool, pattern.removesuffix(" *"))


def overlap(one: str, other: str) -> bool:
    """Say whether some tool's name matches both patterns."""
    left, right = _TOKEN.findall(one), _TOKEN.findall(other)

    @cache
    def meet(i: int, j: int) -> bool:
        if i == len(left) or j == len(right):
            return all(token[0] == "*" for token in left[i:] + right[j:])
        if left[i][0] == "*":
            return meet(i + 1, j) or meet(i, j + 1)
        if right[j][0] == "*":
            return meet(i, j + 1) or meet(i + 1, j)
        return _share(left[i], right[j]) and meet(i + 1, j + 1)

    return meet(0, 0)


def _share(one: str, other: str) -> bool:
    if len(one) == 1 and one != "?":
        return fnmatchcase(one, other)
    if len(other) == 1 and other != "?":
        return fnmatchcase(other, one)
    return True  # two classes, or a class and '?': a warning too many beats one too few
