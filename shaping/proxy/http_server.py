"""Serving clients over HTTP: streamable HTTP and the older events, each session with upstream servers of its own."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import orjson
import uvicorn
from fastmcp.server.http import HostOriginGuardMiddleware
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from shaping.ledger.telemetry import CONTENT_TYPE
from shaping.proxy.http_limits import MOST_CONNECTIONS, BearerGuard, TimedProtocol
from shaping.proxy.messages import CLIENT_INFO, PROTOCOL_VERSION, Message, error, read, write
from shaping.proxy.relay import Relay
from shaping.proxy.stdio import to_the_end

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from starlette.requests import Request

    from shaping.proxy.loading import Loading
    from shaping.proxy.router import Router
    from shaping.proxy.upstream import Upstream

_SESSION_ID = "mcp-session-id"
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_PARSE_ERROR = -32700
_INVALID_REQUEST = -32600
_MOST_BYTES = 64 * 1024 * 1024
# Clients need not say goodbye, and those of the newer protocol never do.
_IDLE_SECONDS = 1800.0
# Each session has server processes of its own. Those that have been idle for a while make room for new ones.
_MOST_SESSIONS = 64
_SPARED_SECONDS = 60.0
_BODY_SECONDS = 60.0
_SWEEP_SECONDS = 60.0
# An answer that takes longer is waited for on a stream, which is kept alive; a quicker one is plain JSON.
_QUIET_SECONDS = 15.0
_MOST_HELD = 100
_EVENTS = {"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}
_END = None


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
        self._messages.put_nowait(_END)

    async def first(self) -> Message | None:
        """Wait for the first message; None where it takes long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_QUIET_SECONDS):
                return await self._messages.get()
        return None

    async def events(self, first: Message | None = None) -> AsyncIterator[bytes]:
        """Write the messages as server-sent events."""
        message = first
        while True:
            if message is not None:
                yield b"event: message\r\ndata: " + message.line + b"\r\n\r\n"
            try:
                async with asyncio.timeout(_QUIET_SECONDS):
                    message = await self._messages.get()
            except TimeoutError:
                message = None
                yield b": still here\r\n\r\n"
                continue
            if message is _END:
                return


class HttpSession:
    """One client, and the streams by which messages reach it."""

    def __init__(
        self, upstream: Upstream | Router, loading: Loading, *, modern: bool = False, owner: str | None = None
    ) -> None:
        self.id = uuid4().hex
        self.modern = modern
        self.used = time.monotonic()
        self.standalone: HttpStream | None = None
        self.relay = Relay(upstream, loading, self._send, owner=owner or self.id)
        self._numbers = count(1)
        self._streams: dict[Any, HttpStream] = {}
        self._tokens: dict[Any, tuple[HttpStream, Any]] = {}
        self._held: deque[Message] = deque(maxlen=_MOST_HELD)

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way or a stream is open."""
        return bool(self._streams) or self.standalone is not None

    async def ask(self, message: Message) -> HttpStream:
        """Pass a request on; what belongs to it comes by the stream that is returned."""
        stream = HttpStream(message.id)
        token = message.meta.get("progressToken")
        if self.modern:
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

    async def abandon(self, stream: HttpStream) -> None:
        """Handle a client that hung up before its answer; in the newer protocol that cancels the request."""
        number = next((key for key, known in self._streams.items() if known is stream), None)
        if number is not None and self.modern:
            self._streams.pop(number)
            params = {"requestId": number, "reason": "the client hung up"}
            await self.relay.take(write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))

    def listen(self) -> HttpStream:
        """Open the stream for what belongs to no request; an earlier one ends."""
        if self.standalone is not None:
            self.standalone.end()
        stream = self.standalone = HttpStream()
        while self._held:
            stream.put(self._held.popleft())
        return stream

    def leave(self, stream: HttpStream) -> None:
        """Close the stream for what belongs to no request."""
        if self.standalone is stream:
            self.standalone = None
        self.used = time.monotonic()

    async def close(self) -> None:
        """End the session with its servers."""
        await self.relay.close()
        for stream in (*self._streams.values(), *((self.standalone,) if self.standalone else ())):
            stream.end()

    async def _send(self, message: Message) -> None:
        self.used = time.monotonic()
        if message.is_answer:
            stream = self._streams.pop(message.id, None)
            if stream is not None:
                self._tokens = {key: known for key, known in self._tokens.items() if known[0] is not stream}
                stream.put(write({**message.data, "id": stream.request_id}) if self.modern else message, last=True)
            elif self.standalone is not None:
                self.standalone.put(message)
            return
        known = self._tokens.get(message.params.get("progressToken"))
        if known is not None:
            stream, token = known
            params = {**message.params, "progressToken": token}
            stream.put(write({**message.data, "params": params}) if self.modern else message)
            return
        self._tell(message)

    def _tell(self, message: Message) -> None:
        """Send what belongs to no known request by a stream that is open, or hold it until one is."""
        latest = next(reversed(self._streams.values()), None)
        changed = (message.method or "").endswith(("/list_changed", "/updated"))
        stream = (self.standalone or latest) if changed else (latest or self.standalone)
        if stream is None:
            self._held.append(message)
        else:
            stream.put(message)


class HttpServer:
    """The sessions of a proxy that serves over HTTP."""

    def __init__(self, make_upstream: Callable[[], Upstream | Router], loading: Loading) -> None:
        self._make_upstream = make_upstream
        self._loading = loading
        self._sessions: dict[str, HttpSession] = {}
        self._modern: dict[bytes, HttpSession] = {}
        self._spares: list[Upstream | Router] = []
        self._one_token = False  # whether all clients have the same credential, which then tells none from another

    def app(
        self,
        *,
        older: bool = False,
        allowed_hosts: Sequence[str] = (),
        allowed_origins: Sequence[str] = (),
        pages: Sequence[Route] = (),
        bearer: str | None = None,
    ) -> Starlette:
        """Return the ASGI application: streamable HTTP at /mcp, or the older transport at /sse; sums at /metrics."""
        # Not "auto": a page in a browser must not reach a server only because it is bound to more than loopback.
        guard = Middleware(
            HostOriginGuardMiddleware,
            allowed_hosts=list(allowed_hosts) or None,
            allowed_origins=list(allowed_origins) or None,
            mode="strict",
        )
        self._one_token = bearer is not None
        # The page has a token of its own, because a browser sends no other.
        token = [] if bearer is None else [Middleware(BearerGuard, token=bearer)]
        routes = [
            Route("/mcp", self._post, methods=["POST"], middleware=token),
            Route("/mcp", self._get, methods=["GET"], middleware=token),
            Route("/mcp", self._delete, methods=["DELETE"], middleware=token),
        ]
        events = [
            Route("/sse", self._get_events, methods=["GET"], middleware=token),
            Route("/messages", self._post_event, methods=["POST"], middleware=token),
        ]
        sums = Route("/metrics", self._metrics, methods=["GET"], middleware=token)
        return Starlette(routes=[*(events if older else routes), sums, *pages], middleware=[guard])

    async def sweep(self) -> None:
        """End sessions that have been idle for long, again and again."""
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            long_ago = time.monotonic() - _IDLE_SECONDS
            for session in [*self._sessions.values(), *self._modern.values()]:
                if session.used < long_ago and not session.is_busy:
                    await self._forget(session)

    async def close(self) -> None:
        """End every session."""
        sessions = [*self._sessions.values(), *self._modern.values()]
        ending = [session.close() for session in sessions] + [upstream.close() for upstream in self._spares]
        await asyncio.gather(*ending)

    async def _post(self, request: Request) -> Response:
        message = await _body(request)
        if isinstance(message, Response):
            return message
        session = await self._session_for(request, message)
        if isinstance(session, Response):
            return session
        if not message.is_request:
            await session.relay.take(message)
            return Response(status_code=202)
        stream = await session.ask(message)
        first = await stream.first()
        opened = {_SESSION_ID: session.id} if message.method == "initialize" else {}
        if first is None or not first.is_answer:
            return StreamingResponse(
                _followed(session, stream, first), media_type="text/event-stream", headers={**_EVENTS, **opened}
            )
        if "error" in first.data:
            await self._refused(session, message)
            opened = {}
        return Response(first.line, media_type="application/json", headers=opened)

    async def _session_for(self, request: Request, message: Message) -> HttpSession | Response:
        given = request.headers.get(_SESSION_ID)
        if given is not None:
            return self._sessions.get(given) or _refusal(404, "Session not found")
        if message.method == "initialize":
            if not self._spares and not await self._has_room():
                return _full()
            upstream = self._spares.pop() if self._spares else self._make_upstream()
            session = HttpSession(upstream, self._loading, owner=self._identity(request))
            self._sessions[session.id] = session
            return session
        if PROTOCOL_VERSION in message.meta:
            return await self._modern_session(request, message)
        if not message.is_request:
            return _refusal(202, "")
        return _refusal(400, "Missing session ID")

    async def _modern_session(self, request: Request, message: Message) -> HttpSession | Response:
        """Return the session of a client without sessions: one for all requests that come from the same client.

        It is known by its address, its credentials and how it introduces itself; what it was given is nobody else's.
        """
        known = {name: message.meta.get(name) for name in (CLIENT_INFO, _CAPABILITIES)}
        address = None if request.client is None else request.client.host
        from_whom = [address, request.headers.get("user-agent"), self._identity(request)]
        key = orjson.dumps([known, from_whom], option=orjson.OPT_SORT_KEYS)
        if key not in self._modern:
            if not await self._has_room():
                return _full()
            # The owner is the same in every replica, because the next request may go to another one.
            owner = blake2b(key, digest_size=16).hexdigest()
            self._modern[key] = HttpSession(self._make_upstream(), self._loading, modern=True, owner=owner)
        return self._modern[key]

    def _identity(self, request: Request) -> str | None:
        """Return who a request is from, where it has a credential: what is kept for them outlives the session."""
        given = request.headers.get("authorization")
        return None if given is None or self._one_token else blake2b(given.encode(), digest_size=16).hexdigest()

    async def _has_room(self) -> bool:
        """Return whether another session may begin, ending the one that has been idle for longest where needed."""
        if len(self._sessions) + len(self._modern) + len(self._spares) < _MOST_SESSIONS:
            return True
        if self._spares:
            await self._spares.pop().close()
            return True
        long_ago = time.monotonic() - _SPARED_SECONDS
        every = (*self._sessions.values(), *self._modern.values())
        idle = [one for one in every if not one.is_busy and one.used < long_ago]
        if not idle:
            return False
        await self._forget(min(idle, key=lambda one: one.used))
        return True

    async def _refused(self, session: HttpSession, message: Message) -> None:
        """End what an introduction has begun that the server refused."""
        if message.method == "initialize":
            await self._forget(session)
        elif message.method == "server/discover" and session.modern:
            # The client goes on with the handshake; the server that it has started is there for that.
            self._modern = {key: known for key, known in self._modern.items() if known is not session}
            self._spares.append(session.relay.upstream)

    async def _forget(self, session: HttpSession) -> None:
        self._sessions.pop(session.id, None)
        self._modern = {key: known for key, known in self._modern.items() if known is not session}
        await session.close()

    async def _get(self, request: Request) -> Response:
        session = self._sessions.get(request.headers.get(_SESSION_ID, ""))
        if session is None:
            return _refusal(404 if _SESSION_ID in request.headers else 400, "Session not found")
        return StreamingResponse(_listening(session), media_type="text/event-stream", headers=_EVENTS)

    async def _delete(self, request: Request) -> Response:
        session = self._sessions.get(request.headers.get(_SESSION_ID, ""))
        if session is None:
            return _refusal(404, "Session not found")
        await self._forget(session)
        return Response(status_code=200)

    async def _metrics(self, _: Request) -> Response:
        ledger = None if self._loading.messages is None else self._loading.messages.ledger
        return Response("" if ledger is None else ledger.metrics(), media_type=CONTENT_TYPE)

    async def _get_events(self, request: Request) -> Response:
        if not await self._has_room():
            return _full()
        session = HttpSession(self._make_upstream(), self._loading, owner=self._identity(request))
        self._sessions[session.id] = session

        async def events() -> AsyncIterator[bytes]:
            yield f"event: endpoint\r\ndata: /messages?session_id={session.id}\r\n\r\n".encode()
            try:
                async for event in _listening(session):
                    yield event
            finally:
                await asyncio.shield(self._forget(session))

        return StreamingResponse(events(), media_type="text/event-stream", headers=_EVENTS)

    async def _post_event(self, request: Request) -> Response:
        message = await _body(request)
        session = self._sessions.get(request.query_params.get("session_id", ""))
        if isinstance(message, Response):
            return message
        if session is None:
            return _refusal(404, "Session not found")
        await session.relay.take(message)
        return Response("Accepted", status_code=202)


async def serve_http(
    make_upstream: Callable[[], Upstream | Router], loading: Loading, host: str, port: int, **options: Any
) -> int:
    """Serve until cancelled; the options are those of `HttpServer.app`."""
    server = HttpServer(make_upstream, loading)
    config = uvicorn.Config(
        server.app(**options),
        host=host,
        port=port,
        access_log=False,
        log_level="warning",
        lifespan="off",
        http=TimedProtocol,
        ws="none",
        limit_concurrency=MOST_CONNECTIONS,
    )
    runner = uvicorn.Server(config)
    # Signals end us in our own order; uvicorn would first wait for every open stream.
    runner.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]  # it takes no arguments
    loading.start()
    sweeping = asyncio.create_task(server.sweep())
    try:
        await runner.serve()
    finally:
        sweeping.cancel()
        await to_the_end(server.close())
    return 0


async def _body(request: Request) -> Message | Response:
    if not request.headers.get("content-type", "").lower().startswith("application/json"):
        return Response("Invalid Content-Type header", status_code=400)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > _MOST_BYTES:
                    return Response("Request body too large", status_code=413)
                parts.append(part)
    except TimeoutError:
        return Response("Request body too slow", status_code=408, headers={"connection": "close"})
    body = b"".join(parts)
    try:
        messages = read(orjson.dumps(orjson.loads(body)) if b"\n" in body else body)
    except ValueError:
        messages = []
    if len(messages) != 1:
        return _refusal(400, "Body must be a single JSON-RPC message", _PARSE_ERROR)
    return messages[0]


async def _followed(session: HttpSession, stream: HttpStream, first: Message | None) -> AsyncIterator[bytes]:
    try:
        async for event in stream.events(first):
            yield event
    finally:
        await asyncio.shield(session.abandon(stream))


async def _listening(session: HttpSession) -> AsyncIterator[bytes]:
    stream = session.listen()
    try:
        async for event in stream.events():
            yield event
    finally:
        session.leave(stream)


def _refusal(status: int, words: str, code: int = _INVALID_REQUEST) -> Response:
    body = error(None, code, words).line if words else b""
    return Response(body, status_code=status, media_type="application/json")


def _full() -> Response:
    refusal = _refusal(
        503, f"{_MOST_SESSIONS} sessions are open, and none has been idle for a minute: end one, or wait"
    )
    refusal.headers["retry-after"] = "60"
    return refusal
