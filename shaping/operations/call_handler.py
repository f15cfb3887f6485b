"""The serving side of calls: each request runs as a task that its caller can stop."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import anyio
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from shaping.envelope import Envelope, is_envelope
from shaping.envelope.dialects.members import ORDER
from shaping.errors import ErrorDetail, from_exception, make_error
from shaping.operations.transports import (
    Aborted,
    Completed,
    Event,
    Failed,
    Listener,
    Requested,
    Responded,
    read_event,
    write_event,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from anyio.abc import TaskGroup, TaskStatus

    from shaping.operations.context import Identity
    from shaping.operations.registry import Registry
    from shaping.operations.transports import Transport

log = logging.getLogger("shaping")
REPLY_SECONDS = 5.0  # for handing an answer over while this side is being stopped
WHOLE = frozenset({*ORDER, "warnings", "error"})


def claimed(request: Requested) -> Identity | None:
    """Return the identity that a request names: right where only trusted processes can publish."""
    return request.caller.identity() if request.caller is not None else None


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
        identify: Callable[[Requested], Identity | None] = claimed,
        shape: bool = False,
    ) -> None:
        self._registry = registry
        self._transport = transport
        self._channel = channel
        self._identify = identify
        self._shape = shape
        self._running: dict[tuple[str, str], anyio.CancelScope] = {}

    @property
    def running(self) -> tuple[str, ...]:
        """The request ids that are being served."""
        return tuple(request_id for _, request_id in self._running)

    async def respond(self, request: Requested, output: Any) -> None:
        """Send an answer; only an envelope is one."""
        if not is_envelope(output):
            raise TypeError(f"a call is answered with an envelope, not with {type(output).__name__}")
        wire = output.render("sourced", include=WHOLE) if isinstance(output, Envelope) else dict(output)
        await self._publish(request, Responded(request_id=request.request_id, output=wire))
        await self._publish(request, Completed(request_id=request.request_id))

    async def _publish(self, request: Requested, event: Event) -> None:
        await self._transport.publish(request.reply_to, write_event(event))

    async def _listen(self, *, task_status: TaskStatus[None]) -> None:
        async with self._transport.listen(self._channel) as messages, anyio.create_task_group() as tasks:
            task_status.started()
            try:
                await self._receive(messages, tasks)
            except OSError as lost:
                log.warning("the connection for serving calls was lost: %s", type(lost).__name__)
            # Whoever asked can no longer be heard or answered.
            tasks.cancel_scope.cancel()

    async def _receive(self, messages: AsyncIterator[bytes], tasks: TaskGroup) -> None:
        async for message in messages:
            try:
                event = read_event(message)
            except ValidationError:
                log.warning("a message that is no event was dropped")
                continue
            if isinstance(event, Requested) and _key(event) not in self._running:
                # Entered at once, so that an abort right behind the request finds it.
                self._running[_key(event)] = scope = anyio.CancelScope()
                tasks.start_soon(self._serve, event, scope)
            elif isinstance(event, Aborted) and (running := self._running.get(_key(event))) is not None:
                running.cancel()

    async def _serve(self, request: Requested, scope: anyio.CancelScope) -> None:
        try:
            with scope:
                if await self._claimed(request):
                    await self._answer(request)
            if scope.cancelled_caught:
                await self._try_publish(request, Aborted(request_id=request.request_id))
        except BaseException:
            await self._try_publish(request, Aborted(request_id=request.request_id, reason="the server stopped"))
            raise
        finally:
            del self._running[_key(request)]

    async def _claimed(self, request: Requested) -> bool:
        try:
            return await self._transport.claim(":".join(_key(request)))
        except OSError as lost:
            # Whoever else serves may have it; what runs here goes on until the listening itself breaks off.
            log.warning("a call could not be claimed: %s", type(lost).__name__)
            return False

    async def _answer(self, request: Requested) -> None:
        try:
            envelope = await self._registry.perform(
                request.operation,
                request.input,
                self._identify(request),
                request_id=request.request_id,
                time_limit=request.seconds,
                shape=self._shape,
            )
            if envelope.error is not None and envelope.meta.source == "http":
                # An error status is the transport's failure; an MCP tool's own error is its answer.
                await self._publish(request, Failed(request_id=request.request_id, error=envelope.error))
            else:
                await self.respond(request, envelope)
        except Exception as fault:  # noqa: BLE001  whatever an operation raises is told to whoever asked
            await self._try_publish(
                request, Failed(request_id=request.request_id, error=self._described(fault, request))
            )

    def _described(self, fault: Exception, request: Requested) -> ErrorDetail:
        if isinstance(fault, PydanticSerializationError):
            return make_error("BAD_RESPONSE", "the operation's answer cannot be written as JSON")
        spec = self._registry.get(request.operation)
        return from_exception(fault, state_changing=spec is not None and spec.state_changing)

    async def _try_publish(self, request: Requested, event: Event) -> None:
        with anyio.move_on_after(REPLY_SECONDS, shield=True):
            try:
                await self._publish(request, event)
            except OSError:
                log.debug("could not answer %s", request.request_id)


def _key(event: Requested | Aborted) -> tuple[str, str]:
    """Return a call's key: who asked and the request id, which two callers may choose alike."""
    return event.reply_to, event.request_id
