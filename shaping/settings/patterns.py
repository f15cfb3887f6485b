"""Patterns for the names of tools: which of them match a tool, and which one is the strongest."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import lru_cache

_WILDCARDS = re.compile(r"\*|\?|\[!?\]?[^\]]*\]")


def is_pattern(text: str) -> bool:
    """Return whether a text is a glob pattern."""
    return any(char in text for char in "*?[")


def ranked(tool: str, patterns: Iterable[str]) -> list[str]:
    """List the patterns that match a tool, weakest first: longer beats shorter, later beats equal, exact beats all.

    A tool of a server is called `server/tool`: a pattern with a slash is for the whole name, one without for the tool.
    """
    matching = [pattern for pattern in patterns if is_for(tool, pattern)]
    own = tool.rpartition("/")[2]
    return sorted(matching, key=lambda pattern: (pattern == tool, pattern == own, len(pattern)))


def is_for(tool: str, pattern: str) -> bool:
    """Return whether a name or pattern is for a tool, with or without its server's name."""
    server, slash, own = tool.rpartition("/")
    if slash and "/" not in pattern and is_for(own, pattern):
        return True
    # A proxy in front of several servers writes the server's name before a tool's name that two of them have.
    if slash and own.startswith(f"{server}_") and is_for(f"{server}/{own.removeprefix(f'{server}_')}", pattern):
        return True
    # `kubectl get *` is for `kubectl get -n prod pods` too, whose name ends where its options begin.
    return tool == pattern or _matches_glob(tool, pattern) or _matches_glob(tool, pattern.removesuffix(" *"))


def _matches_glob(name: str, pattern: str) -> bool:
    return _compiled(pattern).match(name) is not None


@lru_cache(maxsize=16384)  # `fnmatch` remembers 256
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))


def may_overlap(one: str, other: str) -> bool:
    """Return whether a name may match both patterns, as far as what is before and behind their wildcards tells."""
    (head, tail), (other_head, other_tail) = _ends(one), _ends(other)
    heads = head.startswith(other_head) or other_head.startswith(head)
    return heads and (tail.endswith(other_tail) or other_tail.endswith(tail))


@lru_cache(maxsize=1024)
def _ends(pattern: str) -> tuple[str, str]:
    head, *_, tail = _WILDCARDS.split(pattern)
    return head, tail
