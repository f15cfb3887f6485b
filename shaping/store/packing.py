"""How values lie in a store: compressed, with what is said about them in front."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

import orjson

from shaping.store.protocol import Stored, StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

# zlib at its fastest: 200 MB/s and a factor of 8 on the corpus; lzma gives 17 at 46 MB/s, a second for 50 MB.
_LEVEL: Final = 1
_PLAIN, _PACKED = b"0", b"1"
_SMALL: Final = 256  # bytes below which compressing saves nothing worth the time


def pack(payload: bytes, meta: Mapping[str, str]) -> bytes:
    """Give the bytes to store."""
    head = orjson.dumps(dict(meta))
    body = _PLAIN + payload if len(payload) < _SMALL else _PACKED + zlib.compress(payload, _LEVEL)
    return len(head).to_bytes(4, "big") + head + body


def unpack(packed: bytes) -> Stored:
    """Give back what was packed; bytes that were not are a StoreError."""
    try:
        end = 4 + int.from_bytes(packed[:4], "big")
        meta, kind, body = orjson.loads(packed[4:end]), packed[end : end + 1], packed[end + 1 :]
        return Stored(body if kind == _PLAIN else zlib.decompress(body), meta)
    except (ValueError, zlib.error) as fault:
        raise StoreError("what is stored there was not written by shaping, or was damaged") from fault
