"""This process's own pipes as a server's transport, without the threads that plain files would need for every line."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcp.server.stdio import stdio_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_LINE_LIMIT = 256 * 1024 * 1024


@asynccontextmanager
async def own_pipes() -> AsyncIterator[tuple[Any, Any]]:
    """Serve over standard input and output; where they are not pipes, as the SDK does."""
    wire = _claimed()
    try:
        lines = _Lines(await _reader(wire[0]))
        texts = _Texts(await _writer(wire[1]))
    except (ValueError, OSError, NotImplementedError):
        _released(wire)
        async with stdio_server() as streams:
            yield streams
        return
    async with stdio_server(lines, texts) as streams:  # type: ignore[arg-type]  # it only iterates the one and writes the other
        yield streams


def _claimed() -> tuple[int, int]:
    """Keep the two ends of the wire to ourselves: a stray print must not land between two messages."""
    wire = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return wire


def _released(wire: tuple[int, int]) -> None:
    for number, end in enumerate(wire):
        os.dup2(end, number)
        os.close(end)


async def _reader(end: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(_LINE_LIMIT)
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(os.dup(end), "rb", 0))
    return reader


async def _writer(end: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(os.dup(end), "wb", 0)
    )
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
