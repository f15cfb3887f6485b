"""The default store: this process's memory, least recently used first out."""

from __future__ import annotations

import os
import secrets
import time
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Final

from shaping.store.protocol import StoreError, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shaping.store.protocol import Stored

_OVERHEAD: Final = 400  # bytes that Python itself needs for an entry, so that many small ones count too


class MemoryStore:
    """Keeps values in memory, up to so many bytes."""

    at_hand = True
    local = True

    def __init__(self, max_bytes: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.secret = secrets.token_bytes(32)
        self.max_bytes = self._max_bytes = max_bytes
        self._clock = clock
        self._kept: OrderedDict[str, tuple[bytes, float]] = OrderedDict()
        self._bytes = 0
        self._lock, self._pid = Lock(), os.getpid()

    def put(self, ref: str, payload: bytes, *, meta: Mapping[str, str], ttl: float) -> None:
        """Keep the payload, making room by forgetting what was used least recently."""
        packed = pack(payload, meta)
        if _size(packed) > self._max_bytes:
            raise StoreError(f"{len(packed)} bytes do not fit into a store of {self._max_bytes}")
        with self._own_lock():
            self._drop(ref)
            self._kept[ref] = packed, self._clock() + ttl
            self._bytes += _size(packed)
            self._make_room()

    def get(self, ref: str) -> Stored | None:
        """Return what is kept behind the ref while its time lasts."""
        with self._own_lock():
            found = self._kept.get(ref)
            if found is None:
                return None
            if found[1] <= self._clock():
                self._drop(ref)
                return None
            self._kept.move_to_end(ref)
        return unpack(found[0])

    def close(self) -> None:
        """Forget everything."""
        with self._own_lock():
            self._kept.clear()
            self._bytes = 0

    def _make_room(self) -> None:
        now = self._clock()
        while self._bytes > self._max_bytes:
            # What has expired goes before what is merely old; a full scan only happens when the store is full.
            expired = [ref for ref, (_, expires) in self._kept.items() if expires <= now]
            for ref in expired or [next(iter(self._kept))]:
                self._drop(ref)

    def _drop(self, ref: str) -> None:
        old = self._kept.pop(ref, None)
        if old is not None:
            self._bytes -= _size(old[0])

    def _own_lock(self) -> Lock:
        # A lock that another thread held while the process forked would stay locked in the child.
        if self._pid != os.getpid():
            self._lock, self._pid = Lock(), os.getpid()
        return self._lock


def _size(packed: bytes) -> int:
    return len(packed) + _OVERHEAD
