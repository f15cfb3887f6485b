"""A store for several machines."""

from __future__ import annotations

import math
import secrets
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from shaping.response import import_extra
from shaping.store.protocol import StoreError, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shaping.store.protocol import Stored

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
