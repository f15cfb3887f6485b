"""How events get from one side of a call to the other: within a process, unless another transport is given."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from anyio.streams.memory import MemoryObjectSendStream

BUFFER = 256


class Transport(Protocol):
    """Messages by channel: whoever listens gets each of them, in order."""

    async def publish(self, channel: str, message: bytes) -> int:
        """Send a message and say how many listeners it went to."""
        ...

    def listen(self, channel: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Receive messages while the context is open; the iteration ends or raises when the connection is lost."""
        ...

    async def claim(self, request_id: str) -> bool:
        """Whether the request is this listener's to serve, where several listen."""
        ...


class InProcess:
    """Memory streams; a listener that falls behind holds its publishers back."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[MemoryObjectSendStream[bytes]]] = {}

    async def publish(self, channel: str, message: bytes) -> int:
        """Send a message to everyone who listens now."""
        reached = 0
        for stream in [*self._listeners.get(channel, ())]:
            try:
                await stream.send(message)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                continue
            reached += 1
        return reached

    @asynccontextmanager
    async def listen(self, channel: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Receive messages while the context is open."""
        send, receive = anyio.create_memory_object_stream[bytes](BUFFER)
        self._listeners.setdefault(channel, []).append(send)
        try:
            with receive:
                yield receive
        finally:
            send.close()
            self._listeners[channel].remove(send)
            if not self._listeners[channel]:
                del self._listeners[channel]

    async def claim(self, request_id: str) -> bool:  # noqa: ARG002  whoever asks first in a process is the only one
        """Say yes: in one process there is one handler a channel."""
        return True

    async def disconnect(self, channel: str) -> None:
        """End every listener of a channel, as a lost connection would."""
        for stream in [*self._listeners.get(channel, ())]:
            await stream.aclose()
