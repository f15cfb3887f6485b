"""Questions asked of many values at once, in a fraction of the time that asking each of them takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_SIZE = 8
_CODE = re.compile(r"[\w+/=.:\"@-]{8,}")
_LETTERS = bytes(letter for letter in range(128) if re.match(r"[\w+/=.:\"@-]", chr(letter)))


def all_http(values: Sequence[Any]) -> bool:
    """Whether all values are strings that begin with `http`."""
    try:
        # What sorts between these two begins with the first of them.
        return bool(min(values) >= "http" and max(values) < "httq")
    except TypeError:  # one is something else
        return False


def all_match(pattern: re.Pattern[str], values: Sequence[str]) -> bool:
    """Whether all strings that are not empty match a pattern without blanks, line ends aside."""
    # Most long texts have a blank near their start.
    return all(not value or (" " not in value and pattern.fullmatch(value.replace("\n", ""))) for value in values)


def all_codes(values: Sequence[str]) -> bool:
    """Whether all strings that are not empty are what a machine made, without a blank in it."""
    joined = "\0".join(values)
    # Taking the letters of a code away from all of them leaves only what joins them.
    if joined.isascii() and len(joined.encode().translate(None, _LETTERS)) == len(values) - 1:
        return min(map(len, values)) >= _SIZE or all(len(value) >= _SIZE or not value for value in values)
    return all_match(_CODE, values)


def longest(values: Sequence[Any]) -> int:
    """Return how long the longest value is; where one has no length, only strings count."""
    try:
        return max(map(len, values), default=0)
    except TypeError:
        return max((len(value) for value in values if type(value) is str), default=0)
