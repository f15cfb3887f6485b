"""Lists of one length in one object are the columns of a table: they line up, and are cut so that they still do."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHORTEST: Final = 4  # elements: shorter lists are often as long as each other by chance
_AXES: Final = ("time", "date", "timestamp", "timestamps", "index")


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
