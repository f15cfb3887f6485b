"""One client of the proxy's HTTP server, and the streams by which messages reach it."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from itertools import count
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from shaping.proxy.messages import Message, write
from shaping.proxy.relay import Relay

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from shaping.proxy.router import Router
    from shaping.proxy.serving import Loading
    from shaping.proxy.upstream import Upstream

# An answer that takes longer is waited for on a stream, which is kept alive; a quicker one is plain JSON.
_QUIET_SECONDS = 15.0
_MOST_HELD = 100


class HttpStream:
    """What goes out by one HTTP response: messages, and after the last one the end."""

    def __init__(self, request_id: Any = None) -> None:
        self.request_id = request_id  # the id that the client gave its request
        self._messages: asyncio.Queue[Message | None] = asyncio.Queue()

    def put(self, message: Message, *, last: bool = False) -> None:
        """Send a message."""
        self._messages.put_nowait(message)
        if last:
            self.end()

    def end(self) -> None:
        """Send nothing more."""
        self._messages.put_nowait(None)

    async def next(self) -> Message | None:
        """Wait for the next message; raise TimeoutError where it takes long. None is the end."""
        async with asyncio.timeout(_QUIET_SECONDS):
            return await self._messages.get()

    async def events(self, first: Message | None = None) -> AsyncIterator[bytes]:
        """Write the messages as server-sent events."""
        if first is not None:
            yield _event(first)
        while True:
            try:
                message = await self.next()
            except TimeoutError:
                yield b": still here\r\n\r\n"
                continue
            if message is None:
                return
            yield _event(message)


class HttpSession:
    """One client, and the streams by which messages reach it."""

    def __init__(
        self, upstream: Upstream | Router, loading: Loading, *, stateless: str | None = None, owner: str | None = None
    ) -> None:
        """Begin a session; `stateless` is what a client is known by whose protocol has no sessions."""
        self.id = stateless or uuid4().hex
        self.stateless = stateless is not None
        self.used = time.monotonic()
        self._standalone: HttpStream | None = None
        self.relay = Relay(upstream, loading, self._send, owner=owner or self.id)
        self._numbers = count(1)
        self._streams: dict[Any, HttpStream] = {}
        self._tokens: dict[Any, tuple[HttpStream, Any]] = {}
        self._held: deque[Message] = deque(maxlen=_MOST_HELD)

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way or a stream is open."""
        return bool(self._streams) or self._standalone is not None

    async def ask(self, message: Message) -> HttpStream:
        """Pass a request on; what belongs to it comes by the stream that is returned."""
        stream = HttpStream(message.id)
        token = message.meta.get("progressToken")
        token = token if isinstance(token, str | int) else None
        if self.stateless:
            # Clients that share no session may use the same ids.
            number = next(self._numbers)
            data = {**message.data, "id": number}
            if token is not None:
                data["params"] = {**message.params, "_meta": {**message.meta, "progressToken": number}}
            message = write(data)
        if token is not None:
            self._tokens[message.meta["progressToken"]] = stream, token
        self._streams[message.id] = stream
        self.used = time.monotonic()
        await self.relay.take(message)
        return stream

    async def answer_events(self, stream: HttpStream, first: Message | None) -> AsyncIterator[bytes]:
        """Yield what belongs to a request; a client that hangs up before its answer may cancel it by that."""
        try:
            async for event in stream.events(first):
                yield event
        finally:
            await asyncio.shield(self._abandon(stream))

    async def own_events(self) -> AsyncIterator[bytes]:
        """Yield what belongs to no request; an earlier stream for that ends."""
        if self._standalone is not None:
            self._standalone.end()
        stream = self._standalone = HttpStream()
        while self._held:
            stream.put(self._held.popleft())
        try:
            async for event in stream.events():
                yield event
        finally:
            if self._standalone is stream:
                self._standalone = None
            self.used = time.monotonic()

    async def close(self) -> None:
        """End the session with its servers."""
        await self.relay.close()
        for stream in filter(None, (*self._streams.values(), self._standalone)):
            stream.end()

    async def _abandon(self, stream: HttpStream) -> None:
        """Cancel a request whose client hung up, where its protocol means that."""
        number = next((key for key, known in self._streams.items() if known is stream), None)
        if number is not None and self.stateless:
            self._streams.pop(number)
            params = {"requestId": number, "reason": "the client hung up"}
            await self.relay.take(write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))

    async def _send(self, message: Message) -> None:
        self.used = time.monotonic()
        if message.is_answer:
            stream = self._streams.pop(message.id, None)
            if stream is not None:
                self._tokens = {key: known for key, known in self._tokens.items() if known[0] is not stream}
                stream.put(write({**message.data, "id": stream.request_id}) if self.stateless else message, last=True)
            return
        stream, token = self._tokens.get(message.params.get("progressToken"), (None, None))
        if stream is None:
            self._send_unasked(message)
        elif self.stateless:
            stream.put(write({**message.data, "params": {**message.params, "progressToken": token}}))
        else:
            stream.put(message)

    def _send_unasked(self, message: Message) -> None:
        """Send what belongs to no known request by a stream that is open, or hold it until one is."""
        latest = next(reversed(self._streams.values()), None)
        changed = (message.method or "").endswith(("/list_changed", "/updated"))
        stream = (self._standalone or latest) if changed else (latest or self._standalone)
        if stream is None:
            self._held.append(message)
        else:
            stream.put(message)


def _event(message: Message) -> bytes:
    return b"event: message\r\ndata: " + message.line + b"\r\n\r\n"
