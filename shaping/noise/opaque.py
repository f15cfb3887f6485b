"""Values that only a machine compares go: checksums, etags, node ids, cursors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shaping.noise.columns import all_codes, all_match
from shaping.noise.names import meaning

if TYPE_CHECKING:
    from shaping.noise.batch import Batch

_HEX = re.compile(r"(?:sha\d+[:-])?[0-9a-f]{64,}", re.IGNORECASE)


def opaque(batch: Batch) -> None:
    """Drop the members of records that tell a reader nothing, where another one identifies the record."""
    # One of a kind is an answer: the checksum of the file that was asked for.
    if len(batch.rows) == 1:
        return
    for key in batch.opaque:
        if _may_go(key, batch) and _all_codes(key, batch):
            batch.drop[key] = "opaque"
    for key in batch.hex:
        if not meaning(key).identifies and _may_go(key, batch) and _all_match(_HEX, key, batch):
            batch.drop[key] = "opaque"


def _may_go(key: str, batch: Batch) -> bool:
    return key not in batch.arguments and batch.identified_without(key)


def _all_codes(key: str, batch: Batch) -> bool:
    values = batch.texts(key)
    return values is not None and all_codes(values)


def _all_match(pattern: re.Pattern[str], key: str, batch: Batch) -> bool:
    values = batch.texts(key)
    return values is not None and all_match(pattern, values)
