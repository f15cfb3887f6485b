"""Server-sent events: reading the stream, and going on after it breaks off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from shaping.envelope import Envelope, http_envelope
from shaping.errors import ToolError
from shaping.operations.openapi.handlers import HttpCall, read_response
from shaping.parsers.json import read_json

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping

    import httpx

    from shaping.operations.context import Context

RETRY_SECONDS = 3.0
MAX_SILENT_RECONNECTS = 5  # in a row, without one event in between
MAX_EVENT = 1_048_576  # characters; a stream without line ends must not fill the memory
DONE = "[DONE]"  # what some APIs send as their last event


@dataclass(frozen=True, slots=True)
class Happening:
    """One event of a stream."""

    data: str
    event: str = "message"
    id: str | None = None


class Lines:
    """Text in chunks as lines, which end with LF, CR or both."""

    def __init__(self) -> None:
        self._rest = ""
        self._first = True

    def feed(self, chunk: str) -> list[str]:
        """Take a chunk and give the lines that are whole."""
        text = self._rest + (chunk.removeprefix("\ufeff") if self._first else chunk)
        self._first = self._first and not chunk
        # A CR at the end may be the first half of a CRLF.
        held = "\r" if text.endswith("\r") else ""
        *whole, rest = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest = rest + held
        if len(self._rest) > MAX_EVENT:
            raise ToolError("TOO_LARGE", f"a line of the stream has more than {MAX_EVENT} characters")
        return whole


class Parser:
    """Lines as events; remembers the last id and how long to wait before reconnecting."""

    def __init__(self) -> None:
        self.last_id: str | None = None
        self.retry = RETRY_SECONDS
        self._lines = Lines()
        self._data: list[str] = []
        self._size = 0
        self._event = ""

    def feed(self, chunk: str) -> list[Happening]:
        """Take a chunk and give the events that are complete."""
        return [happened for line in self._lines.feed(chunk) if (happened := self._take(line)) is not None]

    def restart(self) -> None:
        """Forget what was begun: a new connection starts with a new event."""
        self._lines, self._data, self._event, self._size = Lines(), [], "", 0

    def _take(self, line: str) -> Happening | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "data":
                self._data.append(value)
                self._size += len(value)
                if self._size > MAX_EVENT:
                    raise ToolError("TOO_LARGE", f"an event of the stream has more than {MAX_EVENT} characters")
            case "event":
                self._event = value
            case "id" if "\0" not in value:
                self.last_id = value
            case "retry" if value.isascii() and value.isdecimal():
                self.retry = int(value[:9]) / 1000
            case _:
                pass  # a comment, or a field of another time
        return None

    def _dispatch(self) -> Happening | None:
        data, event = self._data, self._event
        self._data, self._event, self._size = [], "", 0
        return Happening("\n".join(data), event or "message", self.last_id) if data else None


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
        parser, silent = Parser(), 0
        parser.retry = RETRY_SECONDS if self.retry is None else self.retry
        while True:
            heard, ended = False, False
            async for outcome in self._connection(parser, given, context):
                if isinstance(outcome, Envelope):
                    heard = True
                    yield outcome
                ended = outcome is True
            silent = 0 if heard else silent + 1
            if ended or not self.repeatable or silent > MAX_SILENT_RECONNECTS:
                break
            await anyio.sleep(parser.retry)
            parser.restart()
        if silent > MAX_SILENT_RECONNECTS:
            raise ToolError("UNAVAILABLE", f"the stream broke off {silent} times without an event in between")

    async def _connection(
        self, parser: Parser, given: Mapping[str, Any], context: Context
    ) -> AsyncIterator[Envelope[Any] | bool]:
        """Yield the events of one connection, then whether the stream is over for good."""
        import httpx  # noqa: PLC0415  an extra, imported where it is used

        url, request = self.call.request(given)
        request["headers"] |= {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if context.request_id is not None:
            request["headers"]["X-Request-ID"] = context.request_id
        if parser.last_id is not None:
            request["headers"]["Last-Event-ID"] = parser.last_id
        try:
            response = await self.call.client.send(self.call.method, url, stream=True, **request)
            try:
                await _refuse(response)
                async for chunk in response.aiter_text():
                    for happened in parser.feed(chunk):
                        if happened.data == DONE:
                            yield True
                            return
                        yield _wrapped(happened, response)
            finally:
                with anyio.CancelScope(shield=True):
                    await response.aclose()
        except httpx.TransportError:
            # Before the first event a failed connection is a failed call; later it is a pause.
            if parser.last_id is None or not self.repeatable:
                raise
            yield False
            return
        yield parser.last_id is None or response.status_code == 204


async def _refuse(response: httpx.Response) -> None:
    """Raise where the answer is not a stream of events."""
    if response.status_code == 204:
        return
    is_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")
    if response.status_code != 200 or not is_stream:
        await response.aread()
        envelope = read_response(response)
        if envelope.error is not None:
            raise ToolError.of(envelope.error)
        kind = envelope.meta.model_dump()["content_type"]
        raise ToolError("BAD_RESPONSE", f"expected a stream of events, got {response.status_code} {kind}")


def _wrapped(happened: Happening, response: httpx.Response) -> Envelope[Any]:
    try:
        data = read_json(happened.data)
    except ValueError:
        data = happened.data
    said: dict[str, Any] = {"event": happened.event, **({"event_id": happened.id} if happened.id is not None else {})}
    return http_envelope(data, status=response.status_code, headers=response.headers.multi_items(), **said)
