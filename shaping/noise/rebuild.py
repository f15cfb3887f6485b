"""Records without what the rules took from them; what nothing was taken from is shared, not copied."""

from __future__ import annotations

from itertools import compress
from operator import is_not
from typing import TYPE_CHECKING

from shaping.noise.batch import MISSING

if TYPE_CHECKING:
    from collections.abc import Collection

    from shaping.noise.batch import Batch
    from shaping.response import Json


def rebuilt(batch: Batch) -> list[dict[str, Json]]:
    """Return the records as the rules left them; one that nothing was done to is the same object."""
    if not batch.drop:
        return _changed(batch)
    rows = _without(batch.drop, batch)
    for key, column in batch.replace.items():
        for row, value in zip(rows, column, strict=True):
            if value is MISSING:
                row.pop(key, None)
            else:
                row[key] = value
    return rows


def _changed(batch: Batch) -> list[dict[str, Json]]:
    came = batch.rows
    rows = list(came)
    for key, column in batch.replace.items():
        old = [row.get(key, MISSING) for row in came]
        for index in compress(range(len(rows)), map(is_not, old, column)):
            if rows[index] is came[index]:
                rows[index] = came[index].copy()
            if column[index] is MISSING:
                del rows[index][key]
            else:
                rows[index][key] = column[index]
    return rows


def _without(drop: Collection[str], batch: Batch) -> list[dict[str, Json]]:
    """Copy the records without some of their members, whichever way is less work."""
    kept = [key for key in batch.kinds if key not in drop]
    if batch.uniform and len(kept) < len(drop):
        return [{key: row[key] for key in kept} for row in batch.rows]
    rows = [row.copy() for row in batch.rows]
    for row in rows:
        for key in drop:
            if key in row:
                del row[key]
    return rows
