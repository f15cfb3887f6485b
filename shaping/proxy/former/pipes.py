"""This process's own pipes as a server's transport, without the threads that plain files would need for every line."""

from __future__ import annotations

import asyncio
import math
import os
import stat
from abc import ABC, abstractmethod
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

import anyio
import mcp_types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

_LINE_LIMIT = 256 * 1024 * 1024
_GRACE_SECONDS = 0.3


@asynccontextmanager
async def own_pipes() -> AsyncIterator[tuple[Any, Any]]:
    """Serve over standard input and output; where they are not pipes, as the SDK does."""
    if not all(_is_pipe(number) for number in (0, 1)):
        async with stdio_server() as streams:
            yield streams
        return
    inbound, outbound = _claimed()
    heard = await listening(inbound)
    said = await speaking(outbound, heard.hang_up)
    try:
        yield heard, said
    finally:
        heard.hang_up()
        await said.aclose()


@asynccontextmanager
async def until_left(read: Any) -> AsyncIterator[Any]:
    """Pass on what a client says, and end what is under way when it has left: a handshake would not notice."""
    async with anyio.create_task_group() as tasks:
        with anyio.CancelScope() as scope:
            if isinstance(read, Heard):
                tasks.start_soon(_follow, read.left.wait, scope)
                yield read
            else:
                inner, outer = anyio.create_memory_object_stream[Any](math.inf)
                tasks.start_soon(_follow, lambda: _copied(read, inner), scope)
                async with outer:
                    yield outer
        tasks.cancel_scope.cancel()


async def _follow(leave: Callable[[], Any], scope: anyio.CancelScope) -> None:
    await leave()
    # Time for what was asked last; to begin an end that takes the servers along within two seconds.
    await anyio.sleep(_GRACE_SECONDS)
    scope.cancel()


async def _copied(read: Any, inner: Any) -> None:
    async with inner:
        async for item in read:
            await inner.send(item)


def _is_pipe(number: int) -> bool:
    """Say whether a descriptor can be waited for; a file or the null device cannot."""
    mode = os.fstat(number).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _claimed() -> tuple[int, int]:
    """Keep the two ends of the wire to ourselves: a stray print must not land between two messages."""
    wire = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return wire


async def listening(end: int) -> Heard:
    """Listen at the reading end of a pipe."""
    reader = _Reader()
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(end, "rb", 0))
    return Heard(reader, transport)


async def speaking(end: int, hang_up: Callable[[], None]) -> Said:
    """Speak into the writing end of a pipe."""
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(end, "wb", 0))
    # Nothing is left behind in a buffer when the last message has been written.
    transport.set_write_buffer_limits(0)
    return Said(asyncio.StreamWriter(transport, protocol, None, loop), hang_up)


class _Reader(asyncio.StreamReader):
    """A reader that tells of the end as soon as it comes, whether or not anybody reads."""

    def __init__(self) -> None:
        super().__init__(_LINE_LIMIT)
        self.left = anyio.Event()

    def feed_eof(self) -> None:
        super().feed_eof()
        self.left.set()


class _Stream(ABC):
    """What the SDK wants of either end, besides its messages."""

    @abstractmethod
    async def aclose(self) -> None:
        """Take part no more."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class Heard(_Stream):
    """The client's messages, read when they are asked for: a stream between two tasks would cost turns of the loop."""

    def __init__(self, reader: _Reader, source: asyncio.ReadTransport) -> None:
        self._reader = reader
        self._source = source
        self.left = reader.left
        self.hang_up = source.close

    async def receive(self) -> SessionMessage | Exception:
        """Give the next message, or what is wrong with it."""
        try:
            line = await self._reader.readline()
            if line:
                text = line.decode(errors="replace")
                return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(text, by_name=False))
        except ValueError as problem:  # not a message, or a line beyond all measure
            return problem
        raise anyio.EndOfStream

    async def aclose(self) -> None:
        """Hear no more."""
        self._source.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class Said(_Stream):
    """Our messages to the client, each written whole before the next."""

    def __init__(self, writer: asyncio.StreamWriter, hang_up: Callable[[], None]) -> None:
        self._writer = writer
        self._hang_up = hang_up
        self._done = False

    async def send(self, message: SessionMessage) -> None:
        """Send a message, waiting while the client is slow to read; one that reads no more has left."""
        if self._done:
            raise anyio.ClosedResourceError
        line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            self._writer.write(f"{line}\n".encode())
            await self._writer.drain()
        except ConnectionError:
            self._hang_up()

    async def aclose(self) -> None:
        """Say no more; what was said is still on its way."""
        self._done = True
        self._writer.close()
