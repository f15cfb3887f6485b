"""This process's own pipes as a server's transport, without the threads that plain files would need for every line."""

from __future__ import annotations

import asyncio
import os
import stat
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcp.server.stdio import stdio_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_LINE_LIMIT = 256 * 1024 * 1024


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
    lines, texts = _Lines(reader), _Texts(writer)
    try:
        async with stdio_server(lines, texts) as streams:  # type: ignore[arg-type]  # it only iterates the one and writes the other
            yield streams
    finally:
        source.close()
        writer.close()


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

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        """Send a message, waiting while the client is slow to read."""
        self._writer.write(text.encode())
        await self._writer.drain()

    async def flush(self) -> None:
        """Do nothing: what is written is on its way."""
