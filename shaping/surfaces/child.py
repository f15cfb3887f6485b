"""A server started as a child process: its pipes, its log lines, and its end."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TextIO, cast

import anyio
import mcp_types
from anyio.streams.buffered import BufferedByteReceiveStream
from fastmcp.client.transports.base import ClientTransport, SessionKwargs, TransportOptions
from mcp.shared.message import SessionMessage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from anyio.abc import ByteReceiveStream, ByteSendStream, Process
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp import ClientSession
    from typing_extensions import Unpack

# Closing its input asks a server to leave; the whole way to its death must stay under two seconds.
_LEAVE_SECONDS = 0.7
_TERMINATE_SECONDS = 0.5
_LINE_LIMIT = 256 * 1024 * 1024


class Child(ClientTransport):
    """A transport over a child's pipes that outlives chatter on its output and says why the child is gone."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        name: str,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        log: TextIO | None = None,
    ) -> None:
        self.command = list(command)
        self.name = name
        self.env = dict(env or {})
        self.cwd = cwd
        self.log = log
        self.alive = False
        self._last: deque[str] = deque(maxlen=1)
        self._exit: int | None = None

    @property
    def obituary(self) -> str:
        """Say how the child ended, in its own last words where it had any."""
        ended = "could not be started" if self._exit is None else f"ended with exit code {self._exit}"
        words = f": {self._last[-1]}" if self._last else ""
        return f"the server {self.name!r} {ended}{words}"

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Unpack[SessionKwargs]
    ) -> AsyncIterator[ClientSession]:
        """Start the child and talk to it until the session is left."""
        options = transport_options or TransportOptions()
        process = await self._start()
        inbound, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, outbound = anyio.create_memory_object_stream[SessionMessage](0)
        async with inbound, read, write, outbound, anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, process, inbound)
            tasks.start_soon(self._write, process, outbound)
            tasks.start_soon(self._relay_log, process)
            try:
                async with options.session_class(read, write, **session_kwargs) as session:
                    yield session
            finally:
                with anyio.CancelScope(shield=True):
                    await self._stop(process)
                tasks.cancel_scope.cancel()

    async def _start(self) -> Process:
        try:
            process = await anyio.open_process(
                self.command, env={**os.environ, **self.env}, cwd=self.cwd, start_new_session=True
            )
        except OSError as problem:
            self._last.append(str(problem))
            raise
        self.alive = True
        return process

    async def _read(self, process: Process, inbound: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        async with inbound:
            async for line in _lines(process.stdout):
                message = self._parsed(line)
                if message is None:
                    continue
                try:
                    await inbound.send(message)
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    break
            self.alive = False
            with anyio.move_on_after(_LEAVE_SECONDS):
                self._exit = await process.wait()

    def _parsed(self, line: bytes) -> SessionMessage | None:
        if not line.lstrip().startswith(b"{"):
            # Some servers print to the stream that carries the protocol; that is log, not a broken connection.
            self._note(line)
            return None
        try:
            return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError:
            self._note(line)
            return None

    async def _write(self, process: Process, outbound: MemoryObjectReceiveStream[SessionMessage]) -> None:
        stdin = cast("ByteSendStream", process.stdin)
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            async with outbound:
                async for message in outbound:
                    line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await stdin.send(line.encode() + b"\n")

    async def _relay_log(self, process: Process) -> None:
        async for line in _lines(process.stderr):
            self._note(line)

    def _note(self, line: bytes) -> None:
        text = line.decode(errors="replace").rstrip()
        if not text:
            return
        self._last.append(text[:200])
        print(f"[{self.name}] {text}", file=self.log or sys.stderr, flush=True)

    async def _stop(self, process: Process) -> None:
        self.alive = False
        with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await cast("ByteSendStream", process.stdin).aclose()
        for sign, patience in ((signal.SIGTERM, _LEAVE_SECONDS), (signal.SIGKILL, _TERMINATE_SECONDS)):
            if await _ended(process, patience):
                break
            _signal_tree(process, sign)
        await _ended(process, _TERMINATE_SECONDS)
        self._exit = process.returncode
        # Descendants that outlive their parent would hold our pipes, and so us, open.
        _signal_tree(process, signal.SIGKILL)
        with anyio.move_on_after(_TERMINATE_SECONDS):
            await process.aclose()


async def _ended(process: Process, patience: float) -> bool:
    with anyio.move_on_after(patience):
        while process.returncode is None:  # noqa: ASYNC110 - wait() also waits for the pipes, which descendants may hold
            await anyio.sleep(0.01)
    return process.returncode is not None


def _signal_tree(process: Process, sign: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, sign)


async def _lines(stream: ByteReceiveStream | None) -> AsyncIterator[bytes]:
    buffered = BufferedByteReceiveStream(cast("ByteReceiveStream", stream))
    with contextlib.suppress(
        anyio.EndOfStream, anyio.IncompleteRead, anyio.ClosedResourceError, anyio.BrokenResourceError
    ):
        while True:
            yield await buffered.receive_until(b"\n", _LINE_LIMIT)
