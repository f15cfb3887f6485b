"""Records as columns, so that what follows costs per member and not per value."""

from __future__ import annotations

from collections import Counter
from itertools import chain, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from shaping.encoders.table.cells import MISSING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from shaping.response import Json

# Records with more different members than this, mostly absent, are maps; fewer are enough where all hold records.
_WIDE, _MAP, _FILLED = 24, 8, 0.34
_COMMON = 0.55  # of the cells that records of one kind fill
_FEW = 5  # columns that most rows leave empty and that a reader still counts right
_SELDOM, _RARELY = 0.5, 0.25  # of the rows
_LONG = 300  # characters of a string that is too long to stand beside a name in brackets


def columns(rows: Sequence[dict[str, Json]], without: Collection[str] = ()) -> dict[str, list[Any]]:
    """Return each member's values, MISSING where a record has none."""
    first = rows[0]
    if len(first) > 1 and not without and set(map(len, rows)) == {len(first)}:
        try:
            return dict(zip(first, map(list, zip(*map(itemgetter(*first), rows), strict=True)), strict=True))
        except KeyError:  # as many members, but others
            pass
    keys = [key for key in dict.fromkeys(chain.from_iterable(rows)) if key not in without]
    return {key: list(map(dict.get, rows, repeat(key), repeat(MISSING))) for key in keys}


def are_maps(rows: Sequence[dict[str, Json]]) -> bool:
    """Return whether objects are keyed by values, unlike records: many different members, few of them in any one."""
    keys = set().union(*rows)
    if len(keys) <= _MAP:
        return False
    present = [row for row in rows if row]
    if sum(map(len, present)) >= _FILLED * len(keys) * len(present):
        return False
    return len(keys) > _WIDE or all(type(item) is dict for row in present for item in row.values())


def are_ragged(rows: Sequence[dict[str, Json]], rarely: float = _RARELY) -> bool:
    """Return whether records have little in common: as columns, most cells of members that are not rare are empty."""
    present = [row for row in rows if row]
    counts = Counter(chain.from_iterable(present))
    often = [times for times in counts.values() if times >= rarely * len(present)]
    return len(counts) > _MAP and (not often or sum(often) < _COMMON * len(often) * len(present))


def rare_members(rows: Sequence[dict[str, Json]]) -> set[str]:
    """Return the members that so few records have that they are better written with their names."""
    if len(rows) <= _FEW or min(map(len, rows)) == len(set().union(*rows)):
        return set()
    counts = Counter(chain.from_iterable(rows))
    seldom = {key for key, times in counts.items() if times < _SELDOM * len(rows)}
    if len(seldom) <= _FEW:
        return set()
    nested = _nested_or_long(rows, seldom)
    # So many kinds of nested records would each need a column: they are no worse to read as JSON.
    short = seldom - nested if len(nested) <= _WIDE else seldom
    rarely = {key for key in short if counts[key] < _RARELY * len(rows)}
    return rarely if len(seldom) - len(rarely) <= _FEW else short


def _nested_or_long(rows: Sequence[dict[str, Json]], keys: set[str]) -> set[str]:
    """Return the members that have records below them, or long strings; all others fit into a line."""
    return {
        key
        for row in rows
        for key, value in row.items()
        if key in keys
        and (
            (type(value) is dict and value)
            or (type(value) is list and value and type(value[0]) is dict)
            or (type(value) is str and len(value) > _LONG)
        )
    }
