"""Lines over pipes: read without looking at any byte twice, written with the reader's pace."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

# Lines that nobody has taken yet; beyond that the writer at the other end has to wait.
_MOST_WAITING = 8 * 1024 * 1024


class PipeReader(asyncio.Protocol):
    """The lines that come out of a pipe."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self._transport: Any = None
        self._parts: list[bytes] = []  # of a line whose end has not come yet
        self._lines: deque[bytes] = deque()
        self._waiting = 0
        self._paused = False
        self._wake: asyncio.Future[None] | None = None

    def connection_made(self, transport: Any) -> None:
        """Remember the transport, to make it pause."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Split what came into lines."""
        first, *rest = data.split(b"\n")
        self._parts.append(first)
        for part in rest:
            line = b"".join(self._parts) if len(self._parts) > 1 else self._parts[0]
            self._lines.append(line)
            self._waiting += len(line)
            self._parts = [part]
        if self._waiting > _MOST_WAITING and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        self._notify()

    def eof_received(self) -> None:
        """Handle the last line, which may have no line break."""
        self._finish()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (how a pipe ended makes no difference)
        """Handle the last line where the end was not reported before."""
        self._finish()

    def close(self) -> None:
        """Read no more."""
        if self._transport is not None:
            self._transport.close()
        self._finish()

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield each line without its line break, until the pipe is closed."""
        while True:
            while self._lines:
                line = self._lines.popleft()
                self._waiting -= len(line)
                if self._paused and self._waiting < _MOST_WAITING // 2:
                    self._paused = False
                    self._transport.resume_reading()
                if line:
                    yield line
            if self.ended.is_set():
                return
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake

    def _finish(self) -> None:
        if not self.ended.is_set():
            self._lines.append(b"".join(self._parts))
            self._parts = []
            self.ended.set()
        self._notify()

    def _notify(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)


class PipeWriter:
    """A pipe that lines are written to."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def send(self, line: bytes) -> None:
        """Write a line and wait while the reader is slow; raise OSError where nobody reads any more."""
        self._writer.write(line + b"\n")
        await self._writer.drain()

    def close(self) -> None:
        """Close the pipe after what was written."""
        self._writer.close()


async def open_reader(file: Any) -> PipeReader:
    """Read the lines of a pipe."""
    reader = PipeReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: reader, file)
    return reader


async def open_writer(file: Any) -> PipeWriter:
    """Write lines to a pipe."""
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, file)
    return PipeWriter(asyncio.StreamWriter(transport, protocol, None, loop))


def claim_standard_streams() -> tuple[Any, Any]:
    """Reserve standard input and output for messages, so that a stray print does not land between two of them."""
    given, taken = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    source = given if _is_pipe(given) else _pumped(given)
    target = taken if _is_pipe(taken) else _drained(taken)
    return os.fdopen(source, "rb", 0), os.fdopen(target, "wb", 0)


def _is_pipe(number: int) -> bool:
    """Return whether a descriptor can be waited for; a file or the null device cannot."""
    mode = os.fstat(number).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _pumped(file: int) -> int:
    source, target = os.pipe()
    threading.Thread(target=_copy, args=(file, target), daemon=True).start()
    return source


def _drained(file: int) -> int:
    source, target = os.pipe()
    # Not a daemon: what was written last must be in the file when the process ends.
    threading.Thread(target=_copy, args=(source, file)).start()
    return target


def _copy(source: int, target: int) -> None:
    with os.fdopen(source, "rb", 0) as given, os.fdopen(target, "wb", 0) as taken:
        while data := given.read(65536):
            taken.write(data)
