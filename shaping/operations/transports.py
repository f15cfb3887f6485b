"""The events of the call protocol, and how they travel: in memory within a process, or over Redis pub/sub."""

from __future__ import annotations

import logging
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self, TypeAlias

import anyio
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from shaping.envelope import is_envelope
from shaping.errors import ErrorDetail
from shaping.operations.execute import Identity
from shaping.response import import_extra

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator

    from anyio.abc import TaskStatus
    from anyio.streams.memory import MemoryObjectSendStream

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


def read_event(message: bytes) -> Event:
    """Read an event from the wire."""
    return _EVENTS.validate_json(message)


def write_event(event: Event) -> bytes:
    """Write an event for the wire."""
    return _EVENTS.dump_json(event)


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
        self._listeners: dict[str, list[MemoryObjectSendStream[bytes]]] = {}

    async def publish(self, channel: str, message: bytes) -> int:
        """Send a message to everyone who listens now."""
        reached = 0
        for stream in [*self._listeners.get(channel, ())]:
            try:
                await stream.send(message)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                continue
            reached += 1
        return reached

    @asynccontextmanager
    async def listen(self, channel: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Receive messages while the context is open."""
        send, receive = anyio.create_memory_object_stream[bytes](BUFFER)
        self._listeners.setdefault(channel, []).append(send)
        try:
            with receive:
                yield receive
        finally:
            send.close()
            self._listeners[channel].remove(send)
            if not self._listeners[channel]:
                del self._listeners[channel]

    async def claim(self, request_id: str) -> bool:  # noqa: ARG002  whoever asks first in a process is the only one
        """Return True: in one process there is one handler a channel."""
        return True

    async def disconnect(self, channel: str) -> None:
        """End every listener of a channel, as a lost connection would."""
        for stream in [*self._listeners.get(channel, ())]:
            await stream.aclose()


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

    def __init__(self, transport: Transport, channel: str) -> None:
        self._transport = transport
        self._listens_to = channel

    @asynccontextmanager
    async def __asynccontextmanager__(self) -> AsyncGenerator[Self]:
        async with anyio.create_task_group() as tasks:
            await tasks.start(self._listen)
            try:
                yield self
            finally:
                tasks.cancel_scope.cancel()

    async def _listen(self, *, task_status: TaskStatus[None]) -> None:
        async with self._transport.listen(self._listens_to) as messages:
            self.connected = True
            task_status.started()
            await self._receive(messages)

    async def _receive(self, messages: AsyncIterator[bytes]) -> None:
        try:
            async for message in messages:
                try:
                    event = read_event(message)
                except ValidationError:
                    log.warning("a message that is no event was dropped")
                else:
                    self.handle(event)
        except OSError as lost:
            log.warning("the connection for calls was lost: %s", type(lost).__name__)
        finally:
            self.connected = False

    def handle(self, event: Event) -> None:
        """Act on one event."""
        raise NotImplementedError
