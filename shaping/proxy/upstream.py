"""One upstream server of one client: connected when first needed, and again with a backoff after it was lost."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from shaping.proxy import outage
from shaping.proxy.messages import Message, from_server, unreadable_answer_id, write

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from shaping.errors import ErrorDetail


Log: TypeAlias = "Callable[[str, bytes], None]"  # prints a line of the log of the server with a name
ServerFactory: TypeAlias = "Callable[[Log], Upstream]"

logger = logging.getLogger("shaping")
_LARGE_LINE = 256 * 1024  # bytes: a longer line is read on another thread

# A little under the minute for which clients wait, so that they hear the reason and not their own clock.
START_SECONDS = 55.0
_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
HANDSHAKE = frozenset({"initialize", "server/discover"})
_LONGEST_PAUSE = 30.0
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


class Receiver(Protocol):
    """Who is told what comes from a server."""

    async def received(self, message: Message) -> None:
        """Handle a message from the server."""

    async def failed(self, request: Message, detail: ErrorDetail) -> None:
        """Handle a request that the server will not answer, and why."""

    def warn(self, text: str) -> None:
        """Log a text that may quote the server."""


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


class Upstream:
    """A server, its connection, and the requests that it has not answered yet."""

    def __init__(
        self, name: str, connect: Callable[[], UpstreamTransport], start_seconds: float, *, named: bool = False
    ) -> None:
        """Make a server; `named` says that its user chose the name, which then stands before its own."""
        self.name = name
        self._named = named
        self.start_seconds = start_seconds
        self.reached = False
        self.failure: ErrorDetail | None = None
        self._connect = connect
        self._receiver: Receiver | None = None
        self._transport: UpstreamTransport | None = None
        self._backoff = Backoff()
        self._initialize: Message | None = None
        self._initialized: Message | None = None
        self._greeting: asyncio.Future[Message] | None = None
        self._unanswered: dict[Any, Message] = {}
        self._deadline: asyncio.TimerHandle | None = None
        self._answered = False  # whether this connection has brought anything
        self._logged: str | None = None
        self._own_name: str | None = None  # from its answer to the handshake
        self._closed = False
        self._tasks, self._closing = BackgroundTasks(), BackgroundTasks()
        self._connecting = asyncio.Lock()

    def attach(self, receiver: Receiver) -> None:
        """Set who receives what comes from the server."""
        self._receiver = receiver

    def server_of(self, tool: str) -> str:  # noqa: ARG002 (a router asks by the tool)
        """Return the name of the server that has a tool: the user's for it, else its own, else its command's."""
        return self.name if self._named else self._own_name or self.name

    async def start(self) -> None:
        """Connect before the first message; what keeps it from connecting is told to whoever sends one."""
        with contextlib.suppress(ServerUnavailableError):
            await self._open()

    async def send(self, message: Message) -> None:
        """Send a message, over a new connection where there is none."""
        greeted = self._initialize is not None
        if message.method == "initialize":
            self._initialize = message
        elif message.method == "notifications/initialized":
            self._initialized = message
        elif message.cancelled_id is not None:
            self._unanswered.pop(message.cancelled_id, None)  # the protocol wants no answer to it
        # One at a time: a message that comes while the server is greeted again waits until that is done.
        async with self._connecting:
            if self._transport is None and not await self._reconnected(message, greeted=greeted):
                return
        await self._pass_on(message)

    async def received_line(self, line: bytes) -> bool:
        """Handle a line from the server; return whether it is a message."""
        large = len(line) > _LARGE_LINE
        read = await asyncio.get_running_loop().run_in_executor(None, from_server, line) if large else from_server(line)
        messages = [self._with_own_id(message) for message in read]
        for message in messages:
            try:
                await self._take(message)
            except Exception as fault:  # noqa: BLE001 (whatever is wrong with one message, the next one is read)
                logger.error("a message of the server %r was lost: %s", self.name, type(fault).__name__)  # noqa: TRY400 (a fault's text may hold a secret)
        if not messages and (request_id := unreadable_answer_id(line)) in self._unanswered:
            await self.refused(request_id, outage.of_unreadable(self.name, line))
        return bool(messages)

    def _with_own_id(self, message: Message) -> Message:
        """Return an answer under the id that was asked with: some servers write a number as text."""
        known = message.id
        if not message.is_answer or not isinstance(known, str) or known in self._unanswered or not known.isdecimal():
            return message
        number = int(known[:18])
        return write({**message.data, "id": number}) if number in self._unanswered else message

    async def refused(self, request_id: Any, detail: ErrorDetail) -> None:
        """Handle that one request was not answered, while others may be."""
        self._note(detail)
        request = self._unanswered.pop(request_id, None)
        if self._greeting is not None and request_id == _greeting_id(self._initialize):
            if not self._greeting.done():
                self._greeting.set_exception(ServerUnavailableError(detail))
        elif request is not None and self._receiver is not None:
            await self._receiver.failed(request, detail)

    async def lost(self, transport: UpstreamTransport) -> None:
        """Handle the end of the connection."""
        if transport is self._transport and not self._closed:
            await self._fail(outage.of_end(self.name, transport, answered=self._answered))

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
        self._stop_clock()
        self._tasks.cancel()
        self._drop_transport()
        if self._closing:
            await asyncio.wait(self._closing, timeout=_CLOSE_SECONDS)

    def _drop_transport(self) -> None:
        """End the connection on a task of its own, which is waited for only at the end of everything."""
        if self._transport is not None:
            self._closing.start(self._transport.close())
            self._transport = None

    async def _take(self, message: Message) -> None:
        if not self._answered:
            self._answered = self.reached = True
            self.failure = self._logged = None
            self._stop_clock()
        if message.is_answer:
            if self._greeting is not None and message.id == _greeting_id(self._initialize):
                if not self._greeting.done():
                    self._greeting.set_result(message)
                return
            request = self._unanswered.pop(message.id, None)
            if request is not None and request.method not in HANDSHAKE:
                self._backoff.reset()
            elif request is not None:
                self._own_name = _server_name(message) or self._own_name
        if self._receiver is not None:
            await self._receiver.received(message)

    async def _pass_on(self, message: Message) -> None:
        transport = self._transport
        if transport is None:  # lost while the server was greeted again
            return
        if message.is_request:
            self._unanswered[message.id] = message
            if not self._answered and self._deadline is None:
                loop = asyncio.get_running_loop()
                self._deadline = loop.call_later(self.start_seconds, lambda: self._tasks.start(self._give_up()))
        await transport.send(message)

    async def _reconnected(self, message: Message, *, greeted: bool) -> bool:
        """Connect for a message, and greet the server as the client did; say whether the message can be sent."""
        if self._closed or (greeted and not message.is_request):
            return False
        try:
            await self._open()
            if self._initialize is not None and message.method != "initialize":
                await self._greet(self._initialize)
        except ServerUnavailableError as problem:
            self._drop_transport()
            if message.is_request and self._receiver is not None:
                await self._receiver.failed(message, problem.detail)
            return False
        return True

    async def _open(self) -> None:
        pause = self._backoff.pause()
        if pause > 0:
            raise ServerUnavailableError(outage.left_alone(self.name, self.failure, pause))
        self._answered = False
        try:
            transport = self._connect()
            await transport.open(self)
        except ServerUnavailableError as problem:
            self._backoff.count()
            self._note(problem.detail)
            raise
        except OSError as problem:
            detail = outage.of_start(self.name, transport, problem)
            self._backoff.count()
            self._note(detail)
            raise ServerUnavailableError(detail) from problem
        self._transport = transport

    async def _greet(self, initialize: Message) -> None:
        """Greet a server that was started again with the client's own introduction."""
        transport = self._transport
        self._greeting = asyncio.get_running_loop().create_future()
        await self._pass_on(write({**initialize.data, "id": _greeting_id(initialize)}))
        try:
            async with asyncio.timeout(self.start_seconds):  # it may have said something, and not answer this
                answer = await self._greeting
        except TimeoutError:
            detail = outage.of_silence(self.name, transport, self.start_seconds)
            await self._fail(detail)
            raise ServerUnavailableError(detail) from None
        finally:
            self._greeting = None
            self._unanswered.pop(_greeting_id(initialize), None)
        if "error" in answer.data:
            detail = outage.of_refusal(self.name, answer.data["error"])
            await self._fail(detail)
            raise ServerUnavailableError(detail)
        if self._initialized is not None and transport is not None:
            await transport.send(self._initialized)

    async def _give_up(self) -> None:
        """End a server that has not answered anything in the time that it was given."""
        if self._transport is not None:
            await self._fail(outage.of_silence(self.name, self._transport, self.start_seconds))

    async def _fail(self, detail: ErrorDetail) -> None:
        """Close the connection, and fail every request that waits for it."""
        self._drop_transport()
        unanswered, self._unanswered = self._unanswered, {}
        self._stop_clock()
        self._backoff.count()
        self._note(detail)
        pause = self._backoff.pause()
        told = detail.model_copy(update={"retry_after": round(pause, 1)}) if pause and detail.retryable else detail
        if self._greeting is not None and not self._greeting.done():
            self._greeting.set_exception(ServerUnavailableError(told))
        for request in unanswered.values():
            if self._receiver is not None and request.id != _greeting_id(self._initialize):
                await self._receiver.failed(request, told)

    def _note(self, detail: ErrorDetail) -> None:
        """Remember why the server cannot be used, and log it unless it is what was logged last."""
        self.failure = detail
        line = outage.told(detail).replace(":\n  ", ": ").replace("\n  ", " | ").replace("\n", ". ")
        if line != self._logged:
            self._logged = line
            if self._receiver is not None:
                self._receiver.warn(line)
            else:
                logger.warning("%s", line)

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _greeting_id(initialize: Message | None) -> str:
    return f"shaping-greeting-{initialize.id if initialize else ''}"


def _server_name(message: Message) -> str | None:
    """Read the name that a server gives itself: in the result, or by the newer protocol in the result's `_meta`."""
    result = message.data.get("result")
    result = result if isinstance(result, dict) else {}
    meta = result.get("_meta")
    info = result.get("serverInfo") or (meta.get(_SERVER_INFO) if isinstance(meta, dict) else None)
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else None
