"""One upstream server of one client, a child process or remote, connected again with a backoff after it was lost."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import PurePath
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from shaping.child import signal_group, spawn
from shaping.proxy import outage
from shaping.proxy.messages import (
    Message,
    PipeReader,
    PipeWriter,
    from_server,
    log_warning,
    message_of,
    open_reader,
    open_writer,
    unreadable_answer_id,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
    from subprocess import Popen

    from shaping.errors import ErrorDetail


ServerFactory: TypeAlias = "Callable[[], Upstream]"

logger = logging.getLogger("shaping")
_LARGE_LINE = 256 * 1024  # bytes: a longer line is read on another thread

# A little under the minute for which clients wait, so that they hear the reason and not their own clock.
START_SECONDS = 55.0
_PROTOCOL = "2025-11-25"  # of our own requests
_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
HANDSHAKE = frozenset({"initialize", "server/discover"})
_LONGEST_PAUSE = 30.0
_MOST_PAGES = 100  # a server whose list never ends must not keep everything waiting
_CLOSE_SECONDS = 3.0  # a child that does not leave is killed in less


class BackgroundTasks(set["asyncio.Task[None]"]):
    """Tasks that are under way; each is held here until it is done, because the event loop does not hold it."""

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begin a piece of work."""
        task = asyncio.create_task(work)
        self.add(task)
        task.add_done_callback(self.discard)
        return task

    def cancel(self) -> None:
        """Cancel all but the task that asks for it."""
        for task in self:
            if task is not asyncio.current_task():
                task.cancel()


class UpstreamTransport(Protocol):
    """A live connection to a server."""

    async def open(self, upstream: Upstream) -> None:
        """Connect; raise OSError where that cannot be done."""

    async def send(self, message: Message) -> None:
        """Send a message."""

    async def close(self) -> None:
        """End the connection."""


class Backoff:
    """How long a server that keeps failing is left alone: longer with each failure in a row."""

    def __init__(self) -> None:
        self._failures = 0
        self._not_before = 0.0

    def count(self) -> None:
        """Count a failure; the first is followed by another try at once."""
        self._failures += 1
        # No further than the longest pause: in a night's failures, doubling goes beyond what a float holds.
        pause = 0.0 if self._failures == 1 else min(0.25 * 2 ** min(self._failures, 8), _LONGEST_PAUSE)
        self._not_before = time.monotonic() + pause

    def reset(self) -> None:
        """Forget the failures: the server has answered."""
        self._failures, self._not_before = 0, 0.0

    def pause(self) -> float:
        """Return the seconds until the server may be tried again."""
        return max(0.0, self._not_before - time.monotonic())


class ServerUnavailableError(Exception):
    """A server cannot be used; `detail` says why, what to do, and when to try again."""

    def __init__(self, detail: ErrorDetail) -> None:
        super().__init__(detail.message)
        self.detail = detail


class RequestError(Exception):
    """A server's JSON-RPC error."""

    def __init__(self, error: Any) -> None:
        self.error: dict[str, Any] = error if isinstance(error, dict) else {"message": error}
        super().__init__(str(self.error.get("message", "")))


class Receiver:
    """Whoever is told of what comes from a server; this one leaves it to nobody."""

    async def on_server_message(self, message: Message) -> None:
        """Handle a message from the server."""

    async def on_unanswered(self, request: Message, detail: ErrorDetail) -> None:
        """Handle that the server will not answer a request."""

    def on_log_line(self, name: str, line: bytes) -> None:
        """Handle a line of the log of the server with a name."""

    def warn(self, ours: str, quoted: str) -> None:
        """Log a sentence of ours and what it quotes of the server."""
        log_warning(ours, quoted)


class Upstream:
    """A server, its connection, and the requests that it has not answered yet."""

    def __init__(
        self, name: str, connect: Callable[[], UpstreamTransport], start_seconds: float, *, names_itself: bool = True
    ) -> None:
        """Make a server; `names_itself` says that the name it announces stands before this one, which no user chose."""
        self.name = name
        self._names_itself = names_itself
        self.start_seconds = start_seconds
        self.reached = False
        self.failure: ErrorDetail | None = None
        self._connect = connect
        self.receiver = Receiver()
        self._transport: UpstreamTransport | None = None
        self._backoff = Backoff()
        self._initialize: Message | None = None
        self._initialized: Message | None = None
        self._unanswered: dict[Any, Message] = {}
        self._own_answers: dict[Any, asyncio.Future[Message]] = {}  # to requests of our own
        self._numbers = count(1)
        self._start_timer: asyncio.TimerHandle | None = None
        self._answered = False  # whether this connection has brought anything
        self._logged: tuple[str, str] | None = None
        self._announced_name: str | None = None  # from its answer to the handshake
        self._closed = False
        self._tasks, self._closing = BackgroundTasks(), BackgroundTasks()
        self._connecting = asyncio.Lock()

    def server_of(self, tool: str) -> str:  # noqa: ARG002 (a router asks by the tool)
        """Return the name of the server that has a tool: the user's for it, else its own, else its command's."""
        return (self._announced_name if self._names_itself else None) or self.name

    async def start(self) -> None:
        """Connect before the first message; what keeps it from connecting is told to whoever sends one."""
        with contextlib.suppress(ServerUnavailableError):
            await self._open()

    async def send(self, message: Message) -> None:
        """Send a message, over a new connection where there is none."""
        was_initialized = self._initialize is not None
        if message.method == "initialize":
            self._initialize = message
        elif message.method == "notifications/initialized":
            self._initialized = message
        elif message.cancelled_id is not None:
            self._unanswered.pop(message.cancelled_id, None)  # the protocol wants no answer to it
        # One at a time: a message that comes while a new connection is initialized waits until that is done.
        async with self._connecting:
            if self._transport is None and not await self._reconnected(message, was_initialized=was_initialized):
                return
        await self._pass_on(message)

    async def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request of our own and return its result; raise RequestError for an error of the server's."""
        body = {"jsonrpc": "2.0", "method": method}
        return await self._ask(body if params is None else {**body, "params": dict(params)}, self.send)

    async def pages(self, method: str, member: str) -> AsyncIterator[dict[str, Any]]:
        """Yield the entries of a list, page by page."""
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            result = await self.ask(method, None if cursor is None else {"cursor": cursor})
            for entry in result.get(member) or ():
                yield entry
            cursor = result.get("nextCursor")
            if cursor is None:
                return

    async def _ask(self, request: Mapping[str, Any], send: Callable[[Message], Awaitable[None]]) -> dict[str, Any]:
        # A client that is a proxy of ours has requests of its own.
        request_id = f"shaping-{os.getpid()}-{next(self._numbers)}"
        future = self._own_answers[request_id] = asyncio.get_running_loop().create_future()
        try:
            await send(message_of({**request, "id": request_id}))
            answer = await future
        finally:
            self._own_answers.pop(request_id, None)
            self._unanswered.pop(request_id, None)
        if "error" in answer.data:
            raise RequestError(answer.data["error"])
        result = answer.data.get("result")
        return result if isinstance(result, dict) else {}

    async def on_server_line(self, line: bytes) -> bool:
        """Handle a line from the server; return whether it is a message."""
        read = await asyncio.to_thread(from_server, line) if len(line) > _LARGE_LINE else from_server(line)
        messages = [self._with_own_id(message) for message in read]
        for message in messages:
            try:
                await self._on_server_message(message)
            except Exception as fault:  # noqa: BLE001 (whatever is wrong with one message, the next one is read)
                logger.error("a message of the server %r was lost: %s", self.name, type(fault).__name__)  # noqa: TRY400 (a fault's text may hold a secret)
        if not messages and (request_id := unreadable_answer_id(line)) in self._unanswered:
            await self.refused(request_id, outage.invalid_json(self.name, line))
        return bool(messages)

    def _with_own_id(self, message: Message) -> Message:
        """Return an answer under the id that was asked with: some servers write a number as text."""
        known = message.id
        if not message.is_answer or not isinstance(known, str) or known in self._unanswered or not known.isdecimal():
            return message
        number = int(known[:18])
        return message_of({**message.data, "id": number}) if number in self._unanswered else message

    async def refused(self, request_id: Any, detail: ErrorDetail) -> None:
        """Handle that one request was not answered, while others may be."""
        self._note(detail)
        if (request := self._unanswered.pop(request_id, None)) is not None:
            await self._refuse(request, detail)

    async def _refuse(self, request: Message, detail: ErrorDetail) -> None:
        """Tell whoever sent a request that it will not be answered."""
        future = self._own_answers.get(request.id)
        if future is None:
            await self.receiver.on_unanswered(request, detail)
        elif not future.done():
            future.set_exception(ServerUnavailableError(detail))

    async def lost(self, transport: UpstreamTransport) -> None:
        """Handle the end of the connection."""
        if transport is self._transport and not self._closed:
            await self._fail(outage.connection_end(self.name, _child(transport), answered=self._answered))

    def expired(self, transport: UpstreamTransport, message: Message) -> None:
        """Send a message again over a new connection: the server has forgotten the session of this one."""
        self._unanswered.pop(message.id, None)
        if transport is self._transport:
            self._drop_transport()
        self._tasks.start(self.send(message))

    def waits_for(self, request_id: Any) -> bool:
        """Whether a request has not been answered."""
        return request_id in self._unanswered

    @property
    def is_busy(self) -> bool:
        """Whether there are requests that the server has not answered."""
        return bool(self._unanswered)

    async def close(self) -> None:
        """End the connection for good."""
        self._closed = True
        self._stop_timer()
        self._tasks.cancel()
        self._drop_transport()
        if self._closing:
            await asyncio.wait(self._closing, timeout=_CLOSE_SECONDS)

    def _drop_transport(self) -> None:
        """End the connection on a task of its own, which is waited for only at the end of everything."""
        if self._transport is not None:
            self._closing.start(self._transport.close())
            self._transport = None

    async def _on_server_message(self, message: Message) -> None:
        if not self._answered:
            self._answered = self.reached = True
            self.failure = self._logged = None
            self._stop_timer()
        request = self._unanswered.pop(message.id, None) if message.is_answer else None
        if request is not None and request.method not in HANDSHAKE:
            self._backoff.reset()
        elif request is not None:
            self._announced_name = _server_name(message) or self._announced_name
        future = self._own_answers.get(message.id) if message.is_answer else None
        if future is None:
            await self.receiver.on_server_message(message)
        elif not future.done():
            future.set_result(message)

    async def _pass_on(self, message: Message) -> None:
        transport = self._transport
        if transport is None:  # lost while it was initialized
            return
        if message.is_request:
            self._unanswered[message.id] = message
            if not self._answered and self._start_timer is None:
                loop = asyncio.get_running_loop()
                self._start_timer = loop.call_later(self.start_seconds, lambda: self._tasks.start(self._time_out()))
        await transport.send(message)

    async def _reconnected(self, message: Message, *, was_initialized: bool) -> bool:
        """Connect for a message, and initialize as the client did; say whether the message can be sent."""
        if self._closed or (was_initialized and not message.is_request):
            return False
        try:
            await self._open()
            if self._initialize is not None and message.method != "initialize":
                await self._initialize_again(self._initialize)
        except ServerUnavailableError as problem:
            self._drop_transport()
            if message.is_request:
                await self._refuse(message, problem.detail)
            return False
        return True

    async def _open(self) -> None:
        pause = self._backoff.pause()
        if pause > 0:
            raise ServerUnavailableError(outage.paused(self.name, self.failure, pause))
        self._answered = False
        transport = self._connect()
        try:
            await transport.open(self)
        except (ServerUnavailableError, OSError) as problem:
            if isinstance(problem, OSError):
                detail = outage.start_failure(self.name, _child(transport), problem)
            else:
                detail = problem.detail
            self._backoff.count()
            self._note(detail)
            raise ServerUnavailableError(detail) from problem
        self._transport = transport

    async def _initialize_again(self, initialize: Message) -> None:
        """Initialize a new connection with the parameters that the client sent."""
        transport = self._transport
        try:
            async with asyncio.timeout(self.start_seconds):  # it may have said something, and not answer this
                await self._ask(initialize.data, self._pass_on)
        except (TimeoutError, RequestError) as problem:
            if isinstance(problem, RequestError):
                detail = outage.session_refusal(self.name, problem)
            else:
                detail = outage.timeout(self.name, _child(transport), self.start_seconds)
            await self._fail(detail)
            raise ServerUnavailableError(detail) from None
        if self._initialized is not None and transport is not None:
            await transport.send(self._initialized)

    async def _time_out(self) -> None:
        """End a server that has not answered anything in the time that it was given."""
        if self._transport is not None:
            await self._fail(outage.timeout(self.name, _child(self._transport), self.start_seconds))

    async def _fail(self, detail: ErrorDetail) -> None:
        """Close the connection, and fail every request that waits for it."""
        self._drop_transport()
        unanswered, self._unanswered = self._unanswered, {}
        self._stop_timer()
        self._backoff.count()
        self._note(detail)
        pause = self._backoff.pause()
        told = detail.model_copy(update={"retry_after": round(pause, 1)}) if pause and detail.retryable else detail
        for request in unanswered.values():
            await self._refuse(request, told)

    def _note(self, detail: ErrorDetail) -> None:
        """Remember why the server cannot be used, and log it unless it is what was logged last."""
        self.failure = detail
        parts = outage.log_parts(detail)
        if parts != self._logged:
            self._logged = parts
            self.receiver.warn(*parts)

    def _stop_timer(self) -> None:
        if self._start_timer is not None:
            self._start_timer.cancel()
            self._start_timer = None


def _child(transport: UpstreamTransport | None) -> Child | None:
    return transport if isinstance(transport, Child) else None


def _server_name(message: Message) -> str | None:
    """Read the name that a server gives itself: in the result, or by the newer protocol in the result's `_meta`."""
    result = message.data.get("result")
    result = result if isinstance(result, dict) else {}
    meta = result.get("_meta")
    info = result.get("serverInfo") or (meta.get(_SERVER_INFO) if isinstance(meta, dict) else None)
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else None


# Closing its input asks a server to leave; clients give us two seconds for the whole way to its end.
_LEAVE_SECONDS = 0.7
_TERMINATE_SECONDS = 0.5
# The exit code of a child whose output has ended is a moment away, and on a busy machine a long one.
_EXIT_CODE_SECONDS = 5.0
_LAST_WORDS_SECONDS = 2.0  # only where a descendant holds its log open, or on a machine as busy
_LAST_LINES = 40  # an exception is told above many lines of where it was


@dataclass(slots=True)
class Child:
    """The transport to a child process; it survives chatter on the child's output and knows how the child ended."""

    command: Sequence[str]
    env: Mapping[str, str] | None = None
    cwd: str | None = None
    process: Popen[bytes] | None = None
    exit_code: int | None = None
    last_printed: deque[bytes] = field(default_factory=lambda: deque(maxlen=_LAST_LINES))
    last_logged: deque[bytes] = field(default_factory=lambda: deque(maxlen=_LAST_LINES))
    _writer: PipeWriter | None = None
    _readers: list[PipeReader] = field(default_factory=list)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _ended: asyncio.Event = field(default_factory=asyncio.Event)  # of the process alone, whoever holds its pipes

    async def open(self, upstream: Upstream) -> None:
        """Start the process and read what it writes; raise OSError where it cannot be started."""
        process = self.process = self.process or spawn(self.command, {**os.environ, **(self.env or {})}, self.cwd)
        waiting = Thread(target=self._wait, args=(process, asyncio.get_running_loop()), daemon=True)
        waiting.start()
        out, err = await open_reader(process.stdout), await open_reader(process.stderr)
        self._readers = [out, err]
        self._writer = await open_writer(process.stdin)
        self._tasks = [
            asyncio.create_task(self._read(out, upstream)),
            asyncio.create_task(self._read_log(err, upstream)),
            asyncio.create_task(self._watch(out)),
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

    def note(self, line: bytes, lines: deque[bytes], upstream: Upstream) -> None:
        """Log a line that is no message, and keep it among the last ones of its stream."""
        if line.strip():
            lines.append(line)
            upstream.receiver.on_log_line(upstream.name, line)

    async def _read(self, reader: PipeReader, upstream: Upstream) -> None:
        async for line in reader.lines():
            if not await upstream.on_server_line(line):
                # Some servers print to the stream that carries the protocol; that is log, not a broken connection.
                self.note(line, self.last_printed, upstream)
        if await self._has_ended(_EXIT_CODE_SECONDS):
            # Its last words on the other stream say why.
            await asyncio.wait({self._tasks[1]}, timeout=_LAST_WORDS_SECONDS)
        await upstream.lost(self)

    async def _read_log(self, reader: PipeReader, upstream: Upstream) -> None:
        async for line in reader.lines():
            self.note(line, self.last_logged, upstream)

    async def _watch(self, out: PipeReader) -> None:
        """Notice an end that leaves the pipes open: a descendant may hold them and will never answer."""
        await self._ended.wait()
        # What it wrote before it ended is still read.
        await asyncio.sleep(_LEAVE_SECONDS)
        out.close()

    def _wait(self, process: Popen[bytes], loop: asyncio.AbstractEventLoop) -> None:
        self.exit_code = process.wait()
        with contextlib.suppress(RuntimeError):  # the event loop has ended before it
            loop.call_soon_threadsafe(self._ended.set)

    async def _has_ended(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        return self._ended.is_set()


def command_server(
    command: Sequence[str],
    name: str | None = None,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    seconds: float | None = None,
    process: Popen[bytes] | None = None,
) -> ServerFactory:
    """Return what makes the upstream server, a child process; the first may have been started already."""
    label = name or PurePath(command[0]).stem
    started = [process] if process is not None else []

    def connect() -> Child:
        return Child(command, env, cwd, started.pop() if started else None)

    return partial(Upstream, label, connect, seconds or START_SECONDS, names_itself=name is None)


@contextlib.asynccontextmanager
async def connected(upstream: Upstream) -> AsyncIterator[Upstream]:
    """Connect to a server as a client of our own, and leave at the end of the block."""
    info = {"name": "shaping", "version": "1"}
    try:
        await upstream.ask("initialize", {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": info})
        await upstream.send(message_of({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        yield upstream
    finally:
        await upstream.close()
