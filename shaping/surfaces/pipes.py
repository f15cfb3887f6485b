"""This process's own pipes as a server's transport, without the threads that plain files would need for every line."""

from __future__ import annotations

import asyncio
import math
import os
import stat
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.stdio import stdio_server

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
    reader, source = await _reader(inbound)
    writer = await _writer(outbound)
    lines, texts = _Lines(reader), _Texts(writer, source.close)
    try:
        async with stdio_server(lines, texts) as streams:  # type: ignore[arg-type]  # it only iterates the one and writes the other
            yield streams
    finally:
        source.close()
        writer.close()


@asynccontextmanager
async def until_left(read: Any) -> AsyncIterator[Any]:
    """Pass on what a client says, and end what is under way when it has left: a handshake would not notice."""
    inner, outer = anyio.create_memory_object_stream[Any](math.inf)

    async def listen(scope: anyio.CancelScope) -> None:
        async with inner:
            async for item in read:
                await inner.send(item)
        # Time for what was asked last; to begin an end that takes the servers along within two seconds.
        await anyio.sleep(_GRACE_SECONDS)
        scope.cancel()

    async with outer, anyio.create_task_group() as tasks:
        with anyio.CancelScope() as scope:
            tasks.start_soon(listen, scope)
            yield outer
        tasks.cancel_scope.cancel()


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


async def _reader(end: int) -> tuple[asyncio.StreamReader, asyncio.ReadTransport]:
    reader = asyncio.StreamReader(_LINE_LIMIT)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(end, "rb", 0))
    return reader, transport


async def _writer(end: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(end, "wb", 0))
    # Nothing is left behind in a buffer when the last message has been written.
    transport.set_write_buffer_limits(0)
    return asyncio.StreamWriter(transport, protocol, None, loop)


class _Lines:
    """The client's messages, line by line."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        line = await self._reader.readline()
        if not line:
            raise StopAsyncIteration
        return line.decode(errors="replace")


class _Texts:
    """Our messages to the client."""

    def __init__(self, writer: asyncio.StreamWriter, hang_up: Callable[[], None]) -> None:
        self._writer = writer
        self._hang_up = hang_up

    async def write(self, text: str) -> None:
        """Send a message, waiting while the client is slow to read; one that reads no more has left."""
        try:
            self._writer.write(text.encode())
            await self._writer.drain()
        except ConnectionError:
            self._hang_up()

    async def flush(self) -> None:
        """Do nothing: what is written is on its way."""
