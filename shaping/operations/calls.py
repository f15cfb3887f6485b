"""Calls over a transport: its events, the transports, the side that serves operations and the side that waits.

A transport carries events in memory within a process, or over Redis pub/sub.
"""

from __future__ import annotations

import logging
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from operator import attrgetter
from secrets import token_hex
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self, TypeAlias

import anyio
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator
from pydantic_core import PydanticSerializationError

from shaping.envelope import Envelope, is_envelope, local_envelope
from shaping.envelope.dialects.members import ORDER
from shaping.errors import ErrorDetail, from_exception, make_error
from shaping.operations.access import Identity
from shaping.response import import_extra

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator

    from anyio.abc import TaskGroup, TaskStatus
    from anyio.streams.memory import MemoryObjectSendStream

    from shaping.operations.registry import Registry

log = logging.getLogger("shaping")


class _CallEvent(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    request_id: str


class Requested(_CallEvent):
    """A caller asks for a call, with the channel for the answer and the time limit."""

    type: Literal["call.requested"] = "call.requested"
    operation: str
    input: Any = None
    caller: Identity | None = None
    reply_to: str
    seconds: float | None = None


class Responded(_CallEvent):
    """The operation answered; an answer that is an error is an answer."""

    type: Literal["call.responded"] = "call.responded"
    output: dict[str, Any]

    @field_validator("output")
    @classmethod
    def _is_an_envelope(cls, output: dict[str, Any]) -> dict[str, Any]:
        if not is_envelope(output):
            raise ValueError("the output of a call is an envelope")
        return output


class Completed(_CallEvent):
    """The call is over."""

    type: Literal["call.completed"] = "call.completed"


class Aborted(_CallEvent):
    """The call is to be stopped, or was."""

    type: Literal["call.aborted"] = "call.aborted"
    reason: str = ""
    reply_to: str = ""  # whose call, where the caller says it: a request id is only its caller's own


class Failed(_CallEvent):
    """The operation raised."""

    type: Literal["call.error"] = "call.error"
    error: ErrorDetail


Event: TypeAlias = Requested | Responded | Completed | Aborted | Failed
_EVENTS: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="type")])


read_event, write_event = _EVENTS.validate_json, _EVENTS.dump_json

BUFFER = 256


class Transport(Protocol):
    """Messages by channel: every listener gets each of them, in order."""

    async def publish(self, channel: str, message: bytes) -> int:
        """Send a message and return the number of listeners that got it."""
        ...

    def listen(self, channel: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Receive messages while the context is open; the iteration ends or raises when the connection is lost."""
        ...

    async def claim(self, request_id: str) -> bool:
        """Whether the request is this listener's to serve, where several listen."""
        ...


class InProcess:
    """Memory streams; a listener that falls behind holds its publishers back."""

    def __init__(self) -> None:
        self._listeners: list[tuple[str, MemoryObjectSendStream[bytes]]] = []

    async def publish(self, channel: str, message: bytes) -> int:
        """Send a message to everyone who listens now."""
        reached = 0
        for stream in [stream for listened, stream in self._listeners if listened == channel]:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await stream.send(message)
                reached += 1
        return reached

    @asynccontextmanager
    async def listen(self, channel: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Receive messages while the context is open."""
        send, receive = anyio.create_memory_object_stream[bytes](BUFFER)
        self._listeners.append((channel, send))
        try:
            with receive, send:
                yield receive
        finally:
            self._listeners.remove((channel, send))

    async def claim(self, request_id: str) -> bool:  # noqa: ARG002  whoever asks first in a process is the only one
        """Return True: in one process there is one handler a channel."""
        return True


CLAIM_SECONDS = 600
CLOSE_SECONDS = 5  # also while being cancelled: a connection must not outlive its listener


class RedisTransport:
    """Channels under a prefix; of several handlers on one channel, the first to claim a request serves it."""

    def __init__(self, url: str, *, prefix: str = "shaping:") -> None:
        redis = import_extra("redis.asyncio", "redis", "calling over Redis")
        self._redis: Any = redis.Redis.from_url(url)
        self._prefix = prefix

    async def publish(self, channel: str, message: bytes) -> int:
        """Send a message and return the number of listeners that got it."""
        with _as_connection_errors():
            return int(await self._redis.publish(self._prefix + channel, message))

    @asynccontextmanager
    async def listen(self, channel: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Receive messages while the context is open."""
        pubsub = self._redis.pubsub()
        try:
            with _as_connection_errors():
                await pubsub.subscribe(self._prefix + channel)
                # The first message confirms the subscription: from here on nothing published is missed.
                await pubsub.get_message(timeout=5)
            yield self._messages(pubsub)
        finally:
            with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                await pubsub.aclose()

    @staticmethod
    async def _messages(pubsub: Any) -> AsyncIterator[bytes]:
        with _as_connection_errors():
            async for message in pubsub.listen():
                if message["type"] == "message":
                    yield message["data"]

    async def claim(self, request_id: str) -> bool:
        """Whether this handler is the first to ask for the request."""
        with _as_connection_errors():
            return bool(await self._redis.set(f"{self._prefix}claim:{request_id}", b"1", nx=True, ex=CLAIM_SECONDS))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._redis.aclose()


@contextmanager
def _as_connection_errors() -> Iterator[None]:
    """Raise ConnectionError for the errors of the Redis client."""
    try:
        yield
    except import_extra("redis", "redis", "calling over Redis").RedisError as fault:
        raise ConnectionError(type(fault).__name__) from fault


class Listener(anyio.AsyncContextManagerMixin):
    """An async context in which the events of a channel are received; leaving it cancels all calls under way."""

    connected = False
    _tasks: TaskGroup

    def __init__(self, transport: Transport, channel: str) -> None:
        self._transport = transport
        self._listens_to = channel

    @asynccontextmanager
    async def __asynccontextmanager__(self) -> AsyncGenerator[Self]:
        async with anyio.create_task_group() as self._tasks:
            await self._tasks.start(self._listen)
            try:
                yield self
            finally:
                self._tasks.cancel_scope.cancel()

    async def _listen(self, *, task_status: TaskStatus[None]) -> None:
        async with self._transport.listen(self._listens_to) as messages:
            self.connected = True
            task_status.started()
            try:
                async for message in messages:
                    try:
                        self.handle(read_event(message))
                    except ValidationError:
                        log.warning("a message that is no event was dropped")
            except OSError as lost:
                log.warning("the connection for calls was lost: %s", type(lost).__name__)
            finally:
                self.connected = False
                self.disconnected()

    def handle(self, event: Event) -> None:
        """Act on one event."""
        raise NotImplementedError

    def disconnected(self) -> None:
        """Act on the end of the connection: nothing comes any more."""
        raise NotImplementedError

    async def _notify(self, channel: str, event: Event, seconds: float = 5.0) -> None:
        """Send an event to a side that may be gone; also while this side is being cancelled."""
        with anyio.move_on_after(seconds, shield=True):
            try:
                await self._transport.publish(channel, write_event(event))
            except OSError:
                log.debug("could not send %s of %s", event.type, event.request_id)


ALL_MEMBERS = frozenset({*ORDER, "warnings", "error"})


class CallHandler(Listener):
    """Serves the operations of a registry on a channel of a transport, as an `async with` block.

    `identify` returns who a request comes from; by default it believes the request, which is right only where trusted
    processes alone can publish. `shape` shapes the answers for a model.
    """

    def __init__(
        self,
        registry: Registry,
        transport: Transport,
        *,
        channel: str = "calls",
        identify: Callable[[Requested], Identity | None] = attrgetter("caller"),
        shape: bool = False,
    ) -> None:
        super().__init__(transport, channel)
        self._registry = registry
        self._identify = identify
        self._shape = shape
        self._running: dict[tuple[str, str], anyio.CancelScope] = {}

    @property
    def running(self) -> tuple[str, ...]:
        """The request ids that are being served."""
        return tuple(request_id for _, request_id in self._running)

    async def respond(self, request: Requested, output: Any) -> None:
        """Send an answer; only an envelope is one."""
        wire = output.render("sourced", include=ALL_MEMBERS) if isinstance(output, Envelope) else output
        answer = Responded(request_id=request.request_id, output=wire), Completed(request_id=request.request_id)
        for event in answer:
            await self._transport.publish(request.reply_to, write_event(event))

    def handle(self, event: Event) -> None:
        """Start a requested call, or cancel an aborted one."""
        if isinstance(event, Requested) and _call_key(event) not in self._running:
            # Entered at once, so that an abort right behind the request finds it.
            self._running[_call_key(event)] = scope = anyio.CancelScope()
            self._tasks.start_soon(self._serve, event, scope)
        elif isinstance(event, Aborted) and (running := self._running.get(_call_key(event))) is not None:
            running.cancel()

    def disconnected(self) -> None:
        """Stop every call: whoever asked can no longer be heard or answered."""
        for scope in self._running.values():
            scope.cancel()

    async def _serve(self, request: Requested, scope: anyio.CancelScope) -> None:
        try:
            with scope:
                if await self._transport.claim(":".join(_call_key(request))):
                    await self._answer(request)
            if scope.cancelled_caught:
                await self._notify(request.reply_to, Aborted(request_id=request.request_id))
        except OSError as lost:
            # Whoever else serves may have it; what runs here goes on until the listening itself breaks off.
            log.warning("a call could not be claimed: %s", type(lost).__name__)
        except BaseException:
            await self._notify(request.reply_to, Aborted(request_id=request.request_id, reason="the server stopped"))
            raise
        finally:
            del self._running[_call_key(request)]

    async def _answer(self, request: Requested) -> None:
        try:
            envelope = await self._registry.execute(
                request.operation,
                request.input,
                self._identify(request),
                request_id=request.request_id,
                time_limit=request.seconds,
                shape=self._shape,
            )
            error = envelope.error
            # An exception or an error status is the call's failure; a tool's or a program's own error is its answer.
            if error is None or envelope.meta.source not in {"local", "http"}:
                await self.respond(request, envelope)
                return
        except PydanticSerializationError:
            error = make_error("BAD_RESPONSE", "the operation's answer cannot be written as JSON")
        except Exception as fault:  # noqa: BLE001  an application's `identify` may raise anything
            error = from_exception(fault)
        await self._notify(request.reply_to, Failed(request_id=request.request_id, error=error))


def _call_key(event: Requested | Aborted) -> tuple[str, str]:
    """Return a call's key: the caller's channel and the request id, which two callers may choose alike."""
    return event.reply_to, event.request_id


@dataclass(slots=True)
class _PendingCall:
    operation: str
    request_id: str
    done: anyio.Event = field(default_factory=anyio.Event)
    answer: Envelope[Any] | None = None

    def resolve(self, answer: Envelope[Any]) -> None:
        if self.answer is None:
            self.answer = answer
            self.done.set()

    def error_envelope(self, code: str, message: str) -> Envelope[Any]:
        return local_envelope(None, self.operation, error=make_error(code, message), request_id=self.request_id)


class PendingCalls(Listener):
    """Makes calls over a transport and waits for their answers; use it as `async with`.

    Whatever happens - an answer, an error, a deadline, an abort, a lost connection, leaving the block - every call ends
    with an envelope and nothing stays pending.
    """

    def __init__(self, transport: Transport, *, channel: str = "calls", deadline: float | None = 60.0) -> None:
        self._replies = f"{channel}:replies:{token_hex(8)}"
        super().__init__(transport, self._replies)
        self._channel = channel
        self._deadline = deadline
        self._pending: dict[str, _PendingCall] = {}

    @property
    def pending(self) -> tuple[str, ...]:
        """The request ids that wait for an answer."""
        return tuple(self._pending)

    async def call(
        self,
        operation: str,
        input: Any = None,  # noqa: A002  the operation's own word
        identity: Identity | None = None,
        *,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> Envelope[Any]:
        """Ask for a call and wait for its envelope, at most until the deadline (seconds from now)."""
        pending = _PendingCall(operation, request_id or token_hex(16))
        if pending.request_id in self._pending:
            return pending.error_envelope("CONFLICT", f"the request id {pending.request_id!r} is in use")
        if not self.connected:
            return pending.error_envelope("UNAVAILABLE", "the connection for calls is closed")
        request = Requested(
            request_id=pending.request_id,
            operation=operation,
            input=input,
            caller=identity,
            reply_to=self._replies,
            seconds=self._deadline if deadline is None else deadline,
        )
        try:
            message = write_event(request)
        except PydanticSerializationError:
            return pending.error_envelope("BAD_ARGUMENT", "the input cannot be written as JSON")
        self._pending[pending.request_id] = pending
        delivered = True  # until known otherwise: a publish that is cut off may have arrived
        try:
            with anyio.move_on_after(request.seconds):
                delivered = bool(await self._transport.publish(self._channel, message))
                if not delivered:
                    return pending.error_envelope("UNAVAILABLE", "nobody serves this channel")
                await pending.done.wait()
            return pending.answer or pending.error_envelope("TIMEOUT", f"no answer in {request.seconds} seconds")
        except OSError as lost:
            return pending.error_envelope("UNAVAILABLE", f"the connection failed: {type(lost).__name__}")
        finally:
            del self._pending[pending.request_id]
            if pending.answer is None and delivered:
                await self._send_abort(pending.request_id)

    async def abort(self, request_id: str, reason: str = "") -> bool:
        """Stop a call on both sides; False where none of that id is pending."""
        pending = self._pending.get(request_id)
        if pending is None:
            return False
        pending.resolve(pending.error_envelope("ABORTED", reason or "the caller stopped the call"))
        await self._send_abort(request_id, reason)
        return True

    async def _send_abort(self, request_id: str, reason: str = "") -> None:
        """Notify the other side that nobody waits."""
        await self._notify(self._channel, Aborted(request_id=request_id, reason=reason, reply_to=self._replies), 1.0)

    def disconnected(self) -> None:
        """End every call: no answer can come any more."""
        for pending in self._pending.values():
            pending.resolve(pending.error_envelope("UNAVAILABLE", "the connection for calls was lost"))

    def handle(self, event: Event) -> None:
        """Settle the call that an event is about."""
        pending = self._pending.get(event.request_id)
        if pending is None:
            return
        match event:
            case Responded(output=output):
                pending.resolve(Envelope.parse(output, "sourced"))
            case Failed(error=error):
                pending.resolve(local_envelope(None, pending.operation, error=error, request_id=event.request_id))
            case Aborted(reason=reason):
                pending.resolve(pending.error_envelope("ABORTED", reason or "the call was stopped"))
            case Completed():
                pending.resolve(pending.error_envelope("BAD_RESPONSE", "the call ended without an answer"))
