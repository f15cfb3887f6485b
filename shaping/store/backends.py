"""What a store is, and two of them: in this process's memory, and in Redis for several machines.

A store keeps bytes for a stated time behind a ref, compressed, with what is known about them in front.
"""

from __future__ import annotations

import math
import os
import secrets
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, Final, Protocol

import orjson

from shaping.response import import_extra


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


_OVERHEAD: Final = 400  # bytes that Python itself needs for an entry, so that many small ones count too


class MemoryStore:
    """Keeps values in memory, up to so many bytes."""

    at_hand = True
    local = True

    def __init__(self, max_bytes: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.secret = secrets.token_bytes(32)
        self.max_bytes = max_bytes
        self._clock = clock
        self._kept: OrderedDict[str, tuple[bytes, float]] = OrderedDict()
        self._bytes = 0
        self._lock, self._pid = Lock(), os.getpid()

    def put(self, ref: str, payload: bytes, *, meta: Mapping[str, str], ttl: float) -> None:
        """Keep the payload, making room by forgetting what was used least recently."""
        packed = pack(payload, meta)
        if _size(packed) > self.max_bytes:
            raise StoreError(f"{len(packed)} bytes do not fit into a store of {self.max_bytes}")
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
        while self._bytes > self.max_bytes:
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


_PREFIX: Final = "shaping:"
_SECRET: Final = "shaping:secret"  # noqa: S105  the name of a key, not a secret
_TIMEOUT: Final = 2.0  # seconds; nobody waits for a write, and an expand had better fail than hang


class RedisStore:
    """Keeps values in Redis, which forgets them in time; how much it holds is its own `maxmemory`."""

    at_hand = False
    local = False

    def __init__(self, url: str) -> None:
        redis = import_extra("redis", "redis", "the redis store")
        self._errors = (redis.RedisError, OSError)
        self._client: Any = redis.Redis.from_url(url, socket_timeout=_TIMEOUT, socket_connect_timeout=_TIMEOUT)

    @cached_property
    def secret(self) -> bytes:
        """The key that every machine on this Redis shares."""
        with self._reach():
            self._client.set(_SECRET, secrets.token_bytes(32), nx=True)
            return bytes(self._client.get(_SECRET))

    def put(self, ref: str, payload: bytes, *, meta: Mapping[str, str], ttl: float) -> None:
        """Keep the payload for its time."""
        with self._reach():
            self._client.set(_PREFIX + ref, pack(payload, meta), px=max(1, math.ceil(ttl * 1000)))

    def get(self, ref: str) -> Stored | None:
        """Return what is kept behind the ref."""
        with self._reach():
            packed = self._client.get(_PREFIX + ref)
        return None if packed is None else unpack(packed)

    def close(self) -> None:
        """Close the connections; what is kept stays."""
        with self._reach():
            self._client.close()

    @contextmanager
    def _reach(self) -> Iterator[None]:
        try:
            yield
        except self._errors as fault:
            raise StoreError(f"redis cannot be used now: {type(fault).__name__}") from fault
