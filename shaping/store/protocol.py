"""What a store is: bytes kept for a stated time behind a ref, compressed, with what is known about them in front."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping


class StoreError(Exception):
    """A store that cannot be read or written now: full, slow, broken or out of reach."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What a store gives back: the bytes that were put, and what was said about them."""

    payload: bytes
    meta: Mapping[str, str]


class Store(Protocol):
    """Where originals wait to be asked back; every method may raise StoreError, and none may lose what it accepted."""

    @property
    def at_hand(self) -> bool:
        """Whether the secret is known without leaving the process."""

    @property
    def local(self) -> bool:
        """Whether it is in this process or in a file of this machine."""

    @property
    def secret(self) -> bytes:
        """The key for refs and cursors: as long-lived and as widely shared as what is stored."""

    def put(self, ref: str, payload: bytes, *, meta: Mapping[str, str], ttl: float) -> None:
        """Keep the payload for `ttl` seconds; the same ref again replaces it and starts its time anew."""

    def get(self, ref: str) -> Stored | None:
        """Return what is kept behind the ref, or None where nothing is or its time is over."""

    def close(self) -> None:
        """Let go of files and connections; what is kept stays as long as the store itself does."""


# zlib at its fastest: 200 MB/s and a factor of 8 on the corpus; lzma gives 17 at 46 MB/s, a second for 50 MB.
_LEVEL: Final = 1
_PLAIN, _PACKED = b"0", b"1"
_SMALL: Final = 256  # bytes below which compressing saves nothing worth the time


def pack(payload: bytes, meta: Mapping[str, str]) -> bytes:
    """Return the bytes to store."""
    head = orjson.dumps(dict(meta))
    body = _PLAIN + payload if len(payload) < _SMALL else _PACKED + zlib.compress(payload, _LEVEL)
    return len(head).to_bytes(4, "big") + head + body


def unpack(packed: bytes) -> Stored:
    """Return what was packed; bytes that were not packed raise StoreError."""
    try:
        end = 4 + int.from_bytes(packed[:4], "big")
        meta, kind, body = orjson.loads(packed[4:end]), packed[end : end + 1], packed[end + 1 :]
        return Stored(body if kind == _PLAIN else zlib.decompress(body), meta)
    except (ValueError, zlib.error) as fault:
        raise StoreError("what is stored there was not written by shaping, or was damaged") from fault
