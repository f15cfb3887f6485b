"""The asking side of calls: who waits for which answer."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import anyio
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from shaping.envelope import Envelope, local_envelope
from shaping.errors import make_error
from shaping.operations.transports import (
    Aborted,
    CallerIdentity,
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
    from collections.abc import AsyncIterator

    from anyio.abc import TaskStatus

    from shaping.operations.context import Identity
    from shaping.operations.transports import Transport

log = logging.getLogger("shaping")
ABORT_SECONDS = 1.0  # for telling the other side that nobody waits any more


@dataclass(slots=True)
class _Wait:
    operation: str
    done: anyio.Event = field(default_factory=anyio.Event)
    answer: Envelope[Any] | None = None

    def settle(self, answer: Envelope[Any]) -> None:
        if self.answer is None:
            self.answer = answer
            self.done.set()


class PendingCalls(Listener):
    """Makes calls over a transport and waits for their answers; use it as `async with`.

    Whatever happens - an answer, an error, a deadline, an abort, a lost connection, leaving the block - every call ends
    with an envelope and nothing stays pending.
    """

    def __init__(self, transport: Transport, *, channel: str = "calls", deadline: float | None = 60.0) -> None:
        self._transport = transport
        self._channel = channel
        self._deadline = deadline
        self._replies = f"{channel}:replies:{token_hex(8)}"
        self._waiting: dict[str, _Wait] = {}

        self._connected = False

    @property
    def pending(self) -> tuple[str, ...]:
        """The request ids that wait for an answer."""
        return tuple(self._waiting)

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
        number = request_id or token_hex(16)
        if number in self._waiting:
            return _ended(operation, number, "CONFLICT", f"the request id {number!r} is in use")
        if not self._connected:
            return _ended(operation, number, "UNAVAILABLE", "the connection for calls is closed")
        seconds = self._deadline if deadline is None else deadline
        request = self._request(operation, input, identity, number, seconds)
        try:
            message = write_event(request)
        except PydanticSerializationError:
            return _ended(operation, number, "BAD_ARGUMENT", "the input cannot be written as JSON")
        wait = self._waiting[number] = _Wait(operation)
        try:
            return await self._answered(request, message, wait)
        finally:
            del self._waiting[number]

    async def _answered(self, request: Requested, message: bytes, wait: _Wait) -> Envelope[Any]:
        seconds = request.seconds
        reached = True  # until known otherwise: a publish that is cut off may have arrived
        try:
            with anyio.move_on_after(seconds):
                reached = bool(await self._transport.publish(self._channel, message))
                if not reached:
                    return _ended(wait.operation, request.request_id, "UNAVAILABLE", "nobody serves this channel")
                await wait.done.wait()
        except OSError as lost:
            reason = f"the connection failed: {type(lost).__name__}"
            return _ended(wait.operation, request.request_id, "UNAVAILABLE", reason)
        finally:
            if wait.answer is None and reached:
                await self._send_abort(request.request_id)
        return wait.answer or _ended(wait.operation, request.request_id, "TIMEOUT", f"no answer in {seconds} seconds")

    async def abort(self, request_id: str, reason: str = "") -> bool:
        """Stop a call on both sides; False where none of that id is pending."""
        wait = self._waiting.get(request_id)
        if wait is None:
            return False
        wait.settle(_ended(wait.operation, request_id, "ABORTED", reason or "the caller stopped the call"))
        await self._send_abort(request_id, reason)
        return True

    def _request(
        self, operation: str, given: Any, identity: Identity | None, number: str, seconds: float | None
    ) -> Requested:
        caller = None
        if identity is not None:
            resources = {place: tuple(actions) for place, actions in identity.resources.items()}
            caller = CallerIdentity(id=identity.id, scopes=tuple(sorted(identity.scopes)), resources=resources)
        return Requested(
            request_id=number, operation=operation, input=given, caller=caller, reply_to=self._replies, seconds=seconds
        )

    async def _send_abort(self, request_id: str, reason: str = "") -> None:
        """Notify the other side that nobody waits; also while this side is being cancelled."""
        with anyio.move_on_after(ABORT_SECONDS, shield=True):
            try:
                over = Aborted(request_id=request_id, reason=reason, reply_to=self._replies)
                await self._transport.publish(self._channel, write_event(over))
            except OSError:
                log.debug("could not tell the other side that %s is over", request_id)

    async def _listen(self, *, task_status: TaskStatus[None]) -> None:
        async with self._transport.listen(self._replies) as messages:
            self._connected = True
            task_status.started()
            try:
                await self._receive(messages)
            except OSError as lost:
                log.warning("the connection for calls was lost: %s", type(lost).__name__)
            finally:
                self._connected = False
                for number, wait in self._waiting.items():
                    wait.settle(_ended(wait.operation, number, "UNAVAILABLE", "the connection for calls was lost"))

    async def _receive(self, messages: AsyncIterator[bytes]) -> None:
        async for message in messages:
            try:
                self._take(read_event(message))
            except ValidationError:
                log.warning("a message that is no event was dropped")

    def _take(self, event: Event) -> None:
        wait = self._waiting.get(event.request_id)
        if wait is None:
            return
        match event:
            case Responded(output=output):
                wait.settle(Envelope.parse(output, "sourced"))
            case Failed(error=error):
                wait.settle(local_envelope(None, wait.operation, error=error, request_id=event.request_id))
            case Aborted(reason=reason):
                wait.settle(_ended(wait.operation, event.request_id, "ABORTED", reason or "the call was stopped"))
            case Completed():
                wait.settle(
                    _ended(wait.operation, event.request_id, "BAD_RESPONSE", "the call ended without an answer")
                )
            case _:
                return


def _ended(operation: str, request_id: str, code: str, message: str) -> Envelope[Any]:
    return local_envelope(None, operation, error=make_error(code, message), request_id=request_id)
