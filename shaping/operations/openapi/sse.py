"""Server-sent events as a subscription that reconnects after the last event it received."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from shaping.envelope import Envelope, http_envelope
from shaping.errors import ToolError
from shaping.operations.openapi.client import HttpCall, read_http_response
from shaping.parsers.json import read_json
from shaping.response import import_extra

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping

    import httpx
    from httpx_sse import ServerSentEvent

    from shaping.operations.context import Context

RETRY_SECONDS = 3.0
MAX_SILENT_RECONNECTS = 5  # in a row, without one event in between
MAX_EVENT = 1_048_576  # characters; a stream without line ends must not fill the memory
DONE = "[DONE]"  # what some APIs send as their last event


class BoundedText:
    """A response's text for httpx-sse, which itself would keep an event without an end in memory for ever."""

    def __init__(self, response: httpx.Response) -> None:
        self.headers = response.headers
        self.size = 0  # characters since the last event
        self._response = response

    async def aiter_text(self) -> AsyncIterator[str]:
        """Yield the text without a byte order mark, and refuse an event that is too long."""
        first = True
        async for chunk in self._response.aiter_text():
            self.size += len(chunk)
            if self.size > MAX_EVENT:
                raise ToolError("TOO_LARGE", f"an event of the stream has more than {MAX_EVENT} characters")
            yield chunk.removeprefix("\ufeff") if first else chunk
            first = False


@dataclass(slots=True)
class Resumption:
    """What the next connection of a stream needs to know."""

    retry: float  # seconds to wait
    last_id: str | None = None

    async def events(self, response: httpx.Response) -> AsyncIterator[ServerSentEvent]:
        """Yield the events of one connection that carry data."""
        text = BoundedText(response)
        source = import_extra("httpx_sse", "http", "a stream of events").EventSource(text)
        async with aclosing(source.aiter_sse()) as events:
            async for event in events:
                text.size = 0
                self.last_id = event.id or self.last_id
                self.retry = self.retry if event.retry is None else event.retry / 1000
                # httpx-sse also reports blocks without data, which the standard says are no events.
                if event.data:
                    yield event


@dataclass(frozen=True, slots=True)
class EventStream:
    """The handler of an operation that answers with a stream of events."""

    call: HttpCall
    retry: float | None = None  # seconds between connections, where the server does not say

    @property
    def repeatable(self) -> bool:
        """Whether the request may be sent again after the stream broke off."""
        return self.call.method in {"GET", "HEAD"}

    async def __call__(self, given: Mapping[str, Any], context: Context) -> AsyncGenerator[Envelope[Any], None]:
        """Yield an envelope for each event.

        A stream that breaks off, or ends after it gave events with ids, is taken up again after its last id; one that
        ends without ids is over, as there is no place to go on from. 204 ends it, as the standard says. Only a request
        that reads is ever sent again: any other would do its work twice.
        """
        state, silent = Resumption(RETRY_SECONDS if self.retry is None else self.retry), 0
        while True:
            received, ended = False, False
            async for outcome in self._connection(state, given, context):
                if isinstance(outcome, Envelope):
                    received = True
                    yield outcome
                ended = outcome is True
            silent = 0 if received else silent + 1
            if ended or not self.repeatable or silent > MAX_SILENT_RECONNECTS:
                break
            await anyio.sleep(state.retry)
        if silent > MAX_SILENT_RECONNECTS:
            raise ToolError("UNAVAILABLE", f"the stream broke off {silent} times without an event in between")

    async def _connection(
        self, state: Resumption, given: Mapping[str, Any], context: Context
    ) -> AsyncIterator[Envelope[Any] | bool]:
        """Yield the events of one connection, then whether the stream is over for good."""
        url, request = self.call.request(given)
        request["headers"] |= {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if context.request_id is not None:
            request["headers"]["X-Request-ID"] = context.request_id
        if state.last_id is not None:
            request["headers"]["Last-Event-ID"] = state.last_id
        try:
            response = await self.call.client.send(self.call.method, url, stream=True, **request)
            try:
                await _refuse(response)
                if response.status_code == 204:
                    yield True
                    return
                async for event in state.events(response):
                    if event.data == DONE:
                        yield True
                        return
                    yield _wrapped(event, response)
            finally:
                with anyio.CancelScope(shield=True):
                    await response.aclose()
        except import_extra("httpx", "http", "a stream of events").TransportError:
            # Before the first event a failed connection is a failed call; later it is a pause.
            if state.last_id is None or not self.repeatable:
                raise
            yield False
            return
        yield state.last_id is None


async def _refuse(response: httpx.Response) -> None:
    """Raise where the answer is not a stream of events."""
    if response.status_code == 204:
        return
    is_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")
    if response.status_code != 200 or not is_stream:
        await response.aread()
        envelope = read_http_response(response)
        if envelope.error is not None:
            raise ToolError.of(envelope.error)
        kind = envelope.meta.model_dump()["content_type"]
        raise ToolError("BAD_RESPONSE", f"expected a stream of events, got {response.status_code} {kind}")


def _wrapped(event: ServerSentEvent, response: httpx.Response) -> Envelope[Any]:
    try:
        data = read_json(event.data)
    except ValueError:
        data = event.data
    meta: dict[str, Any] = {"event": event.event, **({"event_id": event.id} if event.id else {})}
    return http_envelope(data, status=response.status_code, headers=response.headers.multi_items(), **meta)
