"""Calls between processes and machines, over Redis pub/sub."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

CLAIM_SECONDS = 600
CLOSE_SECONDS = 5  # also while being cancelled: a connection must not outlive its listener


class RedisTransport:
    """Channels under a prefix; of several handlers on one channel, the first to claim a request serves it."""

    def __init__(self, url: str, *, prefix: str = "shaping:") -> None:
        try:
            from redis import asyncio as redis  # noqa: PLC0415  an extra, imported where it is used
        except ImportError:
            raise ImportError('calls over Redis need an extra: pip install "shaping[redis]"') from None
        self._redis: Any = redis.Redis.from_url(url)
        self._prefix = prefix

    async def publish(self, channel: str, message: bytes) -> int:
        """Send a message and say how many listeners it went to."""
        with _as_connection_errors():
            return int(await self._redis.publish(self._prefix + channel, message))

    @asynccontextmanager
    async def listen(self, channel: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Receive messages while the context is open."""
        pubsub = self._redis.pubsub()
        try:
            with _as_connection_errors():
                await pubsub.subscribe(self._prefix + channel)
                # The first message confirms the subscription: from here on nothing published is missed.
                await pubsub.get_message(timeout=5)
            yield self._messages(pubsub)
        finally:
            with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                await pubsub.aclose()

    @staticmethod
    async def _messages(pubsub: Any) -> AsyncIterator[bytes]:
        with _as_connection_errors():
            async for message in pubsub.listen():
                if message["type"] == "message":
                    yield message["data"]

    async def claim(self, request_id: str) -> bool:
        """Whether this handler is the first to ask for the request."""
        with _as_connection_errors():
            return bool(await self._redis.set(f"{self._prefix}claim:{request_id}", b"1", nx=True, ex=CLAIM_SECONDS))

    async def aclose(self) -> None:
        """Give the connections back."""
        await self._redis.aclose()


@contextmanager
def _as_connection_errors() -> Iterator[None]:
    """Raise what callers of any transport expect of a lost connection."""
    from redis.exceptions import RedisError  # noqa: PLC0415  an extra, imported where it is used

    try:
        yield
    except RedisError as fault:
        raise ConnectionError(type(fault).__name__) from fault
