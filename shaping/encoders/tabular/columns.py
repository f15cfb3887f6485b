"""Records as columns, so that what follows costs per member and not per value."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from shaping.encoders.tabular.cells import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.types import Json

# Records with more different members than this, mostly absent, are maps; fewer are enough where all hold records.
_WIDE, _MAP, _FILLED = 24, 8, 0.34


def columns(rows: Sequence[dict[str, Json]]) -> dict[str, Sequence[Any]]:
    """Return each member's values, MISSING where a record has none."""
    shapes = dict.fromkeys(map(tuple, rows))
    if len(shapes) == 1:
        return dict(zip(next(iter(shapes)), zip(*(row.values() for row in rows), strict=True), strict=True))
    keys = dict.fromkeys(chain.from_iterable(shapes))
    return {key: [row.get(key, MISSING) for row in rows] for key in keys}


def are_maps(rows: Sequence[dict[str, Json]]) -> bool:
    """Tell objects keyed by values from records: many different members, few of them in any one."""
    present = [row for row in rows if row]
    keys = set(chain.from_iterable(present))
    if len(keys) <= _MAP or sum(map(len, present)) >= _FILLED * len(keys) * len(present):
        return False
    return len(keys) > _WIDE or all(type(item) is dict for row in present for item in row.values())
