"""Values that only a machine compares go: checksums, etags, node ids, cursors, base64."""

from __future__ import annotations

import re
from base64 import b64decode
from typing import TYPE_CHECKING

from shaping.native import rules as native
from shaping.noise.columns import all_codes, all_match
from shaping.noise.names import meaning

if TYPE_CHECKING:
    from shaping.noise.batch import Batch

_BLOB = re.compile(r"[A-Za-z0-9+/_-]{200,}={0,2}")
_HEX = re.compile(r"(?:sha\d+[:-])?[0-9a-f]{64,}", re.IGNORECASE)


def opaque(batch: Batch) -> None:
    """Drop the members of records that tell a reader nothing, where another one identifies the record."""
    # One of a kind is an answer: the checksum of the file that was asked for.
    if len(batch.rows) > 1:
        for key in batch.opaque:
            if _may_go(key, batch) and _all_codes(key, batch):
                batch.drop[key] = "opaque"
        for key in batch.hex:
            if not meaning(key).identifies and _may_go(key, batch) and _all_match(_HEX, key, batch):
                batch.drop[key] = "opaque"
    for key in batch.long:
        if _all_match(_BLOB, key, batch) and _may_go(key, batch):
            _blob(key, batch)


def _blob(key: str, batch: Batch) -> None:
    """Drop encoded bytes; the one file that was asked for is read where it is text."""
    text = _text_of(str(batch.rows[0][key])) if len(batch.rows) == 1 else None
    if text is None:
        batch.drop[key] = "opaque"
    else:
        batch.replace[key] = [text]
        batch.cut[key] = 1, "boilerplate"


def _may_go(key: str, batch: Batch) -> bool:
    return key not in batch.arguments and batch.identified_without(key)


def _all_codes(key: str, batch: Batch) -> bool:
    values = batch.texts(key)
    return values is not None and all_codes(values)


def _all_match(pattern: re.Pattern[str], key: str, batch: Batch) -> bool:
    if native is not None and key not in batch.replace and native.spaced(batch.rows, key):
        return False
    values = batch.texts(key)
    return values is not None and all_match(pattern, values)


def _text_of(blob: str) -> str | None:
    """Return the text that base64 holds, or None where it holds something else."""
    plain = blob.replace("\n", "").replace("-", "+").replace("_", "/")
    try:
        text = b64decode(plain + "=" * (-len(plain) % 4), validate=True).decode()
    except ValueError:
        return None
    return None if "\0" in text else text
