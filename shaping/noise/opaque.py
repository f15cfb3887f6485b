"""Values that only a machine compares go: checksums, etags, node ids, cursors, base64."""

from __future__ import annotations

import re
from base64 import b64decode
from typing import TYPE_CHECKING

from shaping.noise.names import meaning

if TYPE_CHECKING:
    from shaping.noise.batch import Batch

_BLOB = re.compile(r"[A-Za-z0-9+/_-]{200,}={0,2}")
_HEX = re.compile(r"(?:sha\d+[:-])?[0-9a-f]{64,}", re.IGNORECASE)
_CODE = re.compile(r"[\w+/=.:\"@-]{8,}")


def opaque(batch: Batch) -> None:
    """Drop the members of records that tell a reader nothing, where another one identifies the record."""
    # One of a kind is an answer: the checksum of the file that was asked for.
    named = batch.opaque if len(batch.rows) > 1 else ()
    for key in named:
        if _may_go(key, batch) and _all_match(_CODE, key, batch):
            batch.drop[key] = "opaque"
    for key in batch.hex if len(batch.rows) > 1 else ():
        if not meaning(key).identifies and _may_go(key, batch) and _all_match(_HEX, key, batch):
            batch.drop[key] = "opaque"
    for key in batch.long:
        if _may_go(key, batch) and _all_match(_BLOB, key, batch) and not _is_asked_for(key, batch):
            batch.drop[key] = "opaque"


def _may_go(key: str, batch: Batch) -> bool:
    return key not in batch.arguments and batch.identified_without(key)


def _all_match(pattern: re.Pattern[str], key: str, batch: Batch) -> bool:
    values = batch.texts(key)
    return values is not None and all(not value or pattern.fullmatch(value) for value in values)


def _is_asked_for(key: str, batch: Batch) -> bool:
    """Tell whether the one record's blob is a text in base64: a file somebody wants to read."""
    if len(batch.rows) > 1:
        return False
    head = str(batch.rows[0][key])[:400].replace("-", "+").replace("_", "/")
    try:
        return b64decode(head[: len(head) // 4 * 4]).decode().count("\0") == 0
    except ValueError:
        return False
