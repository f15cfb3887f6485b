"""A server started as a child process: its pipes, its log lines, and its end."""

from __future__ import annotations

import asyncio
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
from pydantic_core import from_json

from shaping.errors import scrub
from shaping.proxy.former.head_start import opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from anyio.abc import ByteReceiveStream, ByteSendStream, Process
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp import ClientSession
    from typing_extensions import Unpack

    from shaping.proxy.former.head_start import HeadStart

# Closing its input asks a server to leave; the whole way to its death must stay under two seconds.
_LEAVE_SECONDS = 0.7
_TERMINATE_SECONDS = 0.5
# The exit code of a child whose output has ended is a moment away, and on a busy machine a long one.
_MOURN_SECONDS = 5.0
_LINE_LIMIT = 256 * 1024 * 1024
_ANSWER = {"jsonrpc", "id", "result"}
_LAST_LINES = 5
_LINE_SHOWN = 200
_LOOK_SECONDS = 0.25
_HAS_HANDLES = hasattr(os, "pidfd_open")


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
        early: HeadStart | None = None,
    ) -> None:
        self.command = list(command)
        self.name = name
        self.env = dict(env or {})
        self.cwd = cwd
        self.log = log
        self.early = early
        self.alive = False
        self.problem: OSError | None = None
        self.exit_code: int | None = None
        self._last: deque[str] = deque(maxlen=_LAST_LINES)

    @property
    def words(self) -> list[str]:
        """The last lines that the child printed beside its answers, without secrets."""
        return list(self._last)

    @property
    def obituary(self) -> str:
        """Say how the child ended, in its own last words where it had any."""
        ended = "closed its output" if self.exit_code is None else f"ended with exit code {self.exit_code}"
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
            tasks.start_soon(self._watch, process, inbound)
            try:
                async with options.session_class(read, write, **session_kwargs) as session:
                    yield session
            finally:
                with anyio.CancelScope(shield=True):
                    await self._stop(process)
                tasks.cancel_scope.cancel()

    async def _opened(self) -> Process:
        begun = self.early.take() if self.early is not None else None
        return begun or await opened(self.command, env=self.env, cwd=self.cwd)

    async def _start(self) -> Process:
        # Given up in the middle, asyncio would kill the process alone and leave what it has started meanwhile.
        opening = asyncio.ensure_future(self._opened())
        try:
            process = await asyncio.shield(opening)
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True), contextlib.suppress(OSError):
                await self._stop(await opening)
            raise
        except OSError as problem:
            self.problem = problem
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
            await self._mourn(process)

    async def _watch(self, process: Process, inbound: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        """Notice an end that leaves the pipes open: a descendant may hold them and will never answer."""
        await _exited(process)
        # What it wrote before it died is still read.
        await anyio.sleep(_LEAVE_SECONDS)
        await self._mourn(process)
        await inbound.aclose()

    async def _mourn(self, process: Process) -> None:
        self.alive = False
        await _ended(process, _MOURN_SECONDS)
        self.exit_code = process.returncode

    def _parsed(self, line: bytes) -> SessionMessage | None:
        if not line.lstrip().startswith(b"{"):
            # Some servers print to the stream that carries the protocol; that is log, not a broken connection.
            self._note(line)
            return None
        try:
            return SessionMessage(_message(line))
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
        text = scrub(text)
        self._last.append(text[:_LINE_SHOWN])
        print(f"[{self.name}] {text}", file=self.log or sys.stderr, flush=True)

    async def _stop(self, process: Process) -> None:
        self.alive = False
        await stop(process)
        if self.exit_code is None:
            self.exit_code = process.returncode


async def stop(process: Process) -> None:
    """Ask a process to leave, and make it leave, with all that it started."""
    with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await cast("ByteSendStream", process.stdin).aclose()
    for sign, patience in ((signal.SIGTERM, _LEAVE_SECONDS), (signal.SIGKILL, _TERMINATE_SECONDS)):
        if await _ended(process, patience):
            break
        _signal_tree(process, sign)
    await _ended(process, _TERMINATE_SECONDS)
    # Descendants that outlive their parent would hold our pipes, and so us, open.
    _signal_tree(process, signal.SIGKILL)
    with anyio.move_on_after(_TERMINATE_SECONDS):
        await process.aclose()


def _message(line: bytes) -> mcp_types.JSONRPCMessage:
    """Read a message; an answer, which may be long, as one, and not as each of the four kinds until one fits."""
    data = from_json(line)
    if data.keys() == _ANSWER:
        return mcp_types.JSONRPCResponse.model_validate(data, by_name=False)
    return mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)


async def _ended(process: Process, patience: float) -> bool:
    with anyio.move_on_after(patience):
        while process.returncode is None:  # noqa: ASYNC110 - wait() also waits for the pipes, which descendants may hold
            await anyio.sleep(0.01)
    return process.returncode is not None


async def _exited(process: Process) -> None:
    """Wait for the process alone; its own wait() also waits for the pipes."""
    handle = _handle(process) if _HAS_HANDLES else None
    if handle is None:
        while process.returncode is None:  # noqa: ASYNC110 - nothing tells of it on this system
            await anyio.sleep(_LOOK_SECONDS)
        return
    try:
        await anyio.wait_readable(handle)
    finally:
        os.close(handle)


def _handle(process: Process) -> int | None:
    try:
        return os.pidfd_open(process.pid)
    except OSError:  # it is gone already, or an old kernel or a sandbox knows no such call
        return None


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
