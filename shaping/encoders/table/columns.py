"""Records as columns, so that what follows costs per member and not per value."""

from __future__ import annotations

from itertools import repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from shaping.encoders.table.cells import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.response import Json

# Records with more different members than this, mostly absent, are maps; fewer are enough where all hold records.
_WIDE, _MAP, _FILLED = 24, 8, 0.34


def columns(rows: Sequence[dict[str, Json]]) -> dict[str, list[Any]]:
    """Return each member's values, MISSING where a record has none."""
    first = rows[0]
    if len(first) > 1 and set(map(len, rows)) == {len(first)}:
        try:
            return dict(zip(first, map(list, zip(*map(itemgetter(*first), rows), strict=True)), strict=True))
        except KeyError:  # as many members, but others
            pass
    return {key: list(map(dict.get, rows, repeat(key), repeat(MISSING))) for key in _keys(rows)}


def _keys(rows: Sequence[dict[str, Json]]) -> list[str]:
    """Return all members' names in the order they come, a later one where its record has it between others."""
    missing = set().union(*rows)
    keys: list[str] = []
    # The first few records mostly have them all.
    for row in rows:
        if missing and not missing.isdisjoint(row):
            missing.difference_update(row)
            keys = _with_new(keys, row)
    return keys


def _with_new(keys: list[str], row: dict[str, Json]) -> list[str]:
    """Return names with those that only this record has."""
    known = set(keys)
    behind: dict[str | None, list[str]] = {}
    last: str | None = None
    new: list[str] = []
    for key in row:
        if key not in known:
            new.append(key)
            continue
        behind[last] = new
        last, new = key, []
    return [*behind.get(None, ()), *(name for key in keys for name in (key, *behind.get(key, ()))), *new]


def are_maps(rows: Sequence[dict[str, Json]]) -> bool:
    """Tell objects keyed by values from records: many different members, few of them in any one."""
    keys = set().union(*rows)
    if len(keys) <= _MAP:
        return False
    present = [row for row in rows if row]
    if sum(map(len, present)) >= _FILLED * len(keys) * len(present):
        return False
    return len(keys) > _WIDE or all(type(item) is dict for row in present for item in row.values())
