"""A server that runs as a child process, and lines over pipes: read without looking at any byte twice."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
import threading
from collections import deque
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

from shaping.proxy.spawn import signal_group, spawn
from shaping.proxy.upstream import START_SECONDS, Log, ServerFactory, Upstream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from subprocess import Popen

    from shaping.proxy.messages import Message


# Closing its input asks a server to leave; clients give us two seconds for the whole way to its end.
_LEAVE_SECONDS = 0.7
_TERMINATE_SECONDS = 0.5
# The exit code of a child whose output has ended is a moment away, and on a busy machine a long one.
_EXIT_CODE_SECONDS = 5.0
_LAST_WORDS_SECONDS = 2.0  # only where a descendant holds its log open, or on a machine as busy
_POLL_SECONDS = 0.02
_LAST_LINES = 5
# Bytes that nobody has taken yet; beyond twice that the writer at the other end has to wait.
_MOST_WAITING = 4 * 1024 * 1024


class PipeReader(asyncio.StreamReader):
    """The lines that come out of a pipe."""

    transport: asyncio.BaseTransport | None = None

    def __init__(self) -> None:
        super().__init__(limit=_MOST_WAITING)
        self.ended = asyncio.Event()

    def feed_eof(self) -> None:
        """Note the end, which comes before the last lines are taken."""
        super().feed_eof()
        self.ended.set()

    def close(self) -> None:
        """Read no more."""
        if self.transport is not None:
            self.transport.close()
        self.feed_eof()

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield each line without its line break, until the pipe is closed; the last may have none."""
        parts: list[bytes] = []  # of a line whose end has not come yet
        while data := await self.read(_MOST_WAITING):
            first, *rest = data.split(b"\n")
            parts.append(first)
            for part in rest:
                if line := b"".join(parts):
                    yield line
                parts = [part]
        if line := b"".join(parts):
            yield line


class PipeWriter:
    """A pipe that lines are written to, or a file, for which nobody has to wait."""

    def __init__(self, writer: asyncio.StreamWriter | BinaryIO) -> None:
        self._writer = writer

    async def send(self, line: bytes) -> None:
        """Write a line and wait while the reader is slow; raise OSError where nobody reads any more."""
        self._writer.write(line + b"\n")
        if isinstance(self._writer, asyncio.StreamWriter):
            await self._writer.drain()
        else:
            self._writer.flush()

    def close(self) -> None:
        """Close the pipe after what was written."""
        self._writer.close()


async def open_reader(file: Any) -> PipeReader:
    """Read the lines of a pipe."""
    reader = PipeReader()
    loop = asyncio.get_running_loop()
    reader.transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    return reader


async def open_writer(file: Any) -> PipeWriter:
    """Write lines to a pipe, or to a file that takes them at once."""
    if not _is_pipe(file.fileno()):
        return PipeWriter(file)
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
    return os.fdopen(source, "rb", 0), os.fdopen(taken, "wb")


def _is_pipe(number: int) -> bool:
    """Return whether a descriptor can be waited for; a file or the null device cannot."""
    mode = os.fstat(number).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _pumped(file: int) -> int:
    source, target = os.pipe()
    threading.Thread(target=_copy, args=(file, target), daemon=True).start()
    return source


def _copy(source: int, target: int) -> None:
    with os.fdopen(source, "rb", 0) as given, os.fdopen(target, "wb", 0) as taken:
        while data := given.read(65536):
            taken.write(data)


@dataclass(slots=True)
class Child:
    """The transport to a child process; it survives chatter on the child's output and knows how the child ended."""

    command: Sequence[str]
    name: str
    log: Log
    env: Mapping[str, str] | None = None
    cwd: str | None = None
    process: Popen[bytes] | None = None
    exit_code: int | None = None
    last_lines: deque[bytes] = field(default_factory=lambda: deque(maxlen=_LAST_LINES))
    _writer: PipeWriter | None = None
    _readers: list[PipeReader] = field(default_factory=list)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def open(self, upstream: Upstream) -> None:
        """Start the process and read what it writes; raise OSError where it cannot be started."""
        process = self.process = self.process or spawn(self.command, self.env, self.cwd)
        out, err = await open_reader(process.stdout), await open_reader(process.stderr)
        self._readers = [out, err]
        self._writer = await open_writer(process.stdin)
        self._tasks = [
            asyncio.create_task(self._read(out, upstream)),
            asyncio.create_task(self._read_log(err)),
            asyncio.create_task(self._watch(process, out)),
        ]

    async def send(self, message: Message) -> None:
        """Write a message; one to a child that is gone is lost, and the end of its output tells so."""
        if self._writer is not None:
            with contextlib.suppress(OSError, RuntimeError):
                await self._writer.send(message.line)

    async def close(self) -> None:
        """Ask the child to leave, and make it and its process group leave."""
        if self.process is None:
            return
        if self._writer is not None:
            self._writer.close()
        for number, seconds in ((signal.SIGTERM, _LEAVE_SECONDS), (signal.SIGKILL, _TERMINATE_SECONDS)):
            if await self._has_ended(seconds):
                break
            signal_group(self.process.pid, number)
        await self._has_ended(_TERMINATE_SECONDS)
        # Descendants that outlive their parent would hold our pipes, and so us, open.
        signal_group(self.process.pid, signal.SIGKILL)
        for reader in self._readers:
            reader.close()
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()

    def note(self, line: bytes) -> None:
        """Log a line that is no message."""
        if line.strip():
            self.last_lines.append(line)
            self.log(self.name, line)

    async def _read(self, reader: PipeReader, upstream: Upstream) -> None:
        async for line in reader.lines():
            if not await upstream.received_line(line):
                # Some servers print to the stream that carries the protocol; that is log, not a broken connection.
                self.note(line)
        if await self._has_ended(_EXIT_CODE_SECONDS):
            # Its last words on the other stream say why.
            await asyncio.wait({self._tasks[1]}, timeout=_LAST_WORDS_SECONDS)
        await upstream.lost(self)

    async def _read_log(self, reader: PipeReader) -> None:
        async for line in reader.lines():
            self.note(line)

    async def _watch(self, process: Popen[bytes], out: PipeReader) -> None:
        """Notice an end that leaves the pipes open: a descendant may hold them and will never answer."""
        await _exited(process)
        # What it wrote before it ended is still read.
        await asyncio.sleep(_LEAVE_SECONDS)
        out.close()

    async def _has_ended(self, seconds: float) -> bool:
        assert self.process is not None  # noqa: S101 (nothing waits for a process before it is started)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await _exited(self.process)
        self.exit_code = self.process.poll()
        return self.exit_code is not None


def command_server(
    command: Sequence[str],
    name: str | None = None,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    seconds: float | None = None,
    process: Popen[bytes] | None = None,
) -> ServerFactory:
    """Make the upstream server that is started as a child process; the first may have been started already."""
    own_name = name or PurePath(command[0]).stem
    started = [process] if process is not None else []

    def make(log: Log) -> Upstream:
        def connect() -> Child:
            return Child(command, own_name, log, env, cwd, started.pop() if started else None)

        return Upstream(own_name, connect, seconds or START_SECONDS, named=name is not None)

    return make


async def _exited(process: Popen[bytes]) -> None:
    """Wait for the process alone, whoever holds its pipes."""
    handle = _handle(process)
    if handle is None:
        while process.poll() is None:  # noqa: ASYNC110 (nothing tells of it on this system)
            await asyncio.sleep(_POLL_SECONDS)
        return
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(handle, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


def _handle(process: Popen[bytes]) -> int | None:
    if process.poll() is not None:
        return None
    try:
        return os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # another system, an old kernel or a sandbox
        return None
