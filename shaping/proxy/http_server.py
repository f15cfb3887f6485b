"""Serving clients over streamable HTTP, each session with upstream servers of its own."""

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
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from shaping.ledger.writer import CONTENT_TYPE
from shaping.proxy.http_limits import SERVER_LIMITS, BearerGuard, HostGuard, read_body
from shaping.proxy.messages import (
    CLIENT_INFO,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PROTOCOL_VERSION,
    Message,
    error_message,
    message_of,
    messages_in,
)
from shaping.proxy.relay import Relay
from shaping.proxy.serving import ShaperLoader, finish_anyway

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from starlette.requests import Request

    from shaping.proxy.router import Router
    from shaping.proxy.upstream import Upstream


_SESSION_ID = "mcp-session-id"
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_PARSE_ERROR = -32700
_MOST_BYTES = 64 * 1024 * 1024
# Clients need not say goodbye, and those of the newer protocol never do.
_IDLE_SECONDS = 1800.0
# Each session has server processes of its own. Those that have been idle for a while make room for new ones.
_MOST_SESSIONS = 64
_SPARED_SECONDS = 60.0
_SWEEP_SECONDS = 60.0
_EVENTS = {"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}
# An answer that takes longer is waited for on a stream, which is kept alive; a quicker one is plain JSON.
_QUIET_SECONDS = 15.0
_MOST_HELD = 100
# Those who stop containers kill them after ten.
_LAST_ANSWERS_SECONDS = 5.0
_REFUSALS_SECONDS = 1.0  # of what is not answered by then


class HttpStream(asyncio.Queue["Message | None"]):
    """What goes out by one HTTP response: messages, and after the last one None."""

    def __init__(self, request_id: Any = None) -> None:
        """Make a stream for a request by the id that the client gave it, or for what nobody asked for."""
        super().__init__()
        self.request_id = request_id

    async def next(self) -> Message | None:
        """Wait for the next message; raise TimeoutError where it takes long. None is the end."""
        async with asyncio.timeout(_QUIET_SECONDS):
            return await self.get()

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
        self,
        upstream: Upstream | Router,
        loader: ShaperLoader,
        *,
        stateless: str | None = None,
        owner: str | None = None,
    ) -> None:
        """Begin a session; `stateless` is what a client is known by whose protocol has no sessions."""
        self.id = stateless or uuid4().hex
        self.stateless = stateless is not None
        self.used = time.monotonic()
        self._standalone: HttpStream | None = None
        self.relay = Relay(upstream, loader, self._send, owner=owner or self.id)
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
            message = message_of(data)
        if token is not None:
            self._tokens[message.meta["progressToken"]] = stream, token
        self._streams[message.id] = stream
        self.used = time.monotonic()
        await self.relay.on_client_message(message)
        return stream

    async def answer_events(self, stream: HttpStream, first: Message | None) -> AsyncIterator[bytes]:
        """Yield what belongs to a request; a client that hangs up before its answer may cancel it by that."""
        try:
            async for event in stream.events(first):
                yield event
            if stream in self._streams.values():  # without an answer a client would wait for ever
                words = "the session was ended before there was an answer"
                yield _event(error_message(stream.request_id, INTERNAL_ERROR, words))
        finally:
            await asyncio.shield(self._abandon(stream))

    async def own_events(self) -> AsyncIterator[bytes]:
        """Yield what belongs to no request; an earlier stream for that ends."""
        self.end_own_stream()
        stream = self._standalone = HttpStream()
        while self._held:
            stream.put_nowait(self._held.popleft())
        try:
            async for event in stream.events():
                yield event
        finally:
            if self._standalone is stream:
                self._standalone = None
            self.used = time.monotonic()

    def end_own_stream(self) -> None:
        """End the stream for what belongs to no request, which else stays open for ever."""
        if self._standalone is not None:
            self._standalone.put_nowait(None)

    async def close(self) -> None:
        """End the session with its servers."""
        await self.relay.close()
        for stream in filter(None, (*self._streams.values(), self._standalone)):
            stream.put_nowait(None)

    async def _abandon(self, stream: HttpStream) -> None:
        """Cancel a request whose client hung up, where its protocol means that."""
        number = next((key for key, known in self._streams.items() if known is stream), None)
        if number is not None and self.stateless:
            self._streams.pop(number)
            params = {"requestId": number, "reason": "the client hung up"}
            await self.relay.on_client_message(
                message_of({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
            )

    async def _send(self, message: Message) -> None:
        self.used = time.monotonic()
        if message.is_answer:
            stream = self._streams.pop(message.id, None)
            if stream is not None:
                self._tokens = {key: known for key, known in self._tokens.items() if known[0] is not stream}
                stream.put_nowait(message_of({**message.data, "id": stream.request_id}) if self.stateless else message)
                stream.put_nowait(None)
            return
        stream, token = self._tokens.get(message.params.get("progressToken"), (None, None))
        if stream is None:
            self._send_unasked(message)
        elif self.stateless:
            stream.put_nowait(message_of({**message.data, "params": {**message.params, "progressToken": token}}))
        else:
            stream.put_nowait(message)

    def _send_unasked(self, message: Message) -> None:
        """Send what belongs to no known request by a stream that is open, or hold it until one is."""
        latest = next(reversed(self._streams.values()), None)
        changed = (message.method or "").endswith(("/list_changed", "/updated"))
        stream = (self._standalone or latest) if changed else (latest or self._standalone)
        if stream is None:
            self._held.append(message)
        else:
            stream.put_nowait(message)


class HttpServer:
    """The sessions of a proxy that serves over HTTP."""

    def __init__(self, make_upstream: Callable[[], Upstream | Router], loader: ShaperLoader) -> None:
        self._make_upstream = make_upstream
        self._loader = loader
        self._sessions: dict[str, HttpSession] = {}
        self._one_token = False  # whether all clients have the same credential, which then tells none from another

    def app(
        self,
        *,
        allowed_hosts: Sequence[str] = (),
        allowed_origins: Sequence[str] = (),
        pages: Sequence[Route] = (),
        bearer: str | None = None,
    ) -> Starlette:
        """Return the ASGI application: streamable HTTP at /mcp, sums at /metrics."""
        guard = Middleware(HostGuard, hosts=allowed_hosts, origins=allowed_origins)
        self._one_token = bearer is not None
        # The page has a token of its own, because a browser sends no other.
        token = [] if bearer is None else [Middleware(BearerGuard, token=bearer)]
        served: list[tuple[str, str, Any]] = [
            ("POST", "/mcp", self._post),
            ("GET", "/mcp", self._get),
            ("DELETE", "/mcp", self._delete),
            ("GET", "/metrics", self._metrics),
        ]
        routes = [Route(path, handle, methods=[method], middleware=token) for method, path, handle in served]
        return Starlette(routes=[*routes, *pages], middleware=[guard])

    async def sweep(self) -> None:
        """End sessions that have been idle for long, again and again."""
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            for session in self._idle_for(_IDLE_SECONDS):
                await self._end(session)

    async def finish(self, runner: uvicorn.Server, serving: asyncio.Task[None]) -> None:
        """Take no more requests, wait for the answers to those under way, and end every session."""
        runner.should_exit = True
        for session in self._sessions.values():
            session.end_own_stream()
        await asyncio.wait({serving}, timeout=_LAST_ANSWERS_SECONDS)
        await asyncio.gather(*(session.close() for session in self._sessions.values()))
        await asyncio.wait({serving}, timeout=_REFUSALS_SECONDS)
        serving.cancel()

    async def _post(self, request: Request) -> Response:
        message = await _body(request)
        if isinstance(message, Response):
            return message
        session = await self._session_for(request, message)
        if isinstance(session, Response):
            return session
        if not message.is_request:
            await session.relay.on_client_message(message)
            return Response(status_code=202)
        stream = await session.ask(message)
        try:
            first = await stream.next()
        except TimeoutError:
            first = None
        else:
            if first is None:  # the session was ended before its answer came
                # Without a session any replica can answer, and load balancers send such a request on to another.
                return _refusal(503, "Ending") if session.stateless else _refusal(404, "Session not found")
        opened = {_SESSION_ID: session.id} if message.method == "initialize" else {}
        if first is None or not first.is_answer:
            events = session.answer_events(stream, first)
            return StreamingResponse(events, media_type="text/event-stream", headers={**_EVENTS, **opened})
        if "error" in first.data:
            opened = {}
            if message.method in {"initialize", "server/discover"}:  # the client goes on by the other, or not at all
                await self._end(session)
        return Response(first.line, media_type="application/json", headers=opened)

    async def _session_for(self, request: Request, message: Message) -> HttpSession | Response:
        if _SESSION_ID in request.headers:
            return self._known(request) or _refusal(404, "Session not found")
        if message.method == "initialize":
            return await self._begin(owner=self._identity(request))
        if PROTOCOL_VERSION in message.meta:
            # The id is the same in every replica, because the next request may go to another one.
            known_by = self._client_of(request, message)
            return self._sessions.get(known_by) or await self._begin(stateless=known_by)
        return _refusal(400, "Missing session ID") if message.is_request else _refusal(202, "")

    def _known(self, request: Request) -> HttpSession | None:
        """Return the session that a request names; what a client without sessions is known by is no such name."""
        session = self._sessions.get(request.headers.get(_SESSION_ID, ""))
        return None if session is None or session.stateless else session

    async def _begin(self, *, stateless: str | None = None, owner: str | None = None) -> HttpSession | Response:
        if not await self._has_room():
            words = f"{_MOST_SESSIONS} sessions are open, and none has been idle for a minute: end one, or wait"
            return _refusal(503, words, headers={"retry-after": "60"})
        session = HttpSession(self._make_upstream(), self._loader, stateless=stateless, owner=owner)
        self._sessions[session.id] = session
        return session

    def _client_of(self, request: Request, message: Message) -> str:
        """Return what a client without sessions is known by: its address, its credentials and its own words."""
        client = {name: message.meta.get(name) for name in (CLIENT_INFO, _CAPABILITIES)}
        address = None if request.client is None else request.client.host
        from_whom = [address, request.headers.get("user-agent"), self._identity(request)]
        return _digest(orjson.dumps([client, from_whom], option=orjson.OPT_SORT_KEYS))

    def _identity(self, request: Request) -> str | None:
        """Return who a request is from, where it has a credential: what is kept for them outlives the session."""
        given = request.headers.get("authorization")
        return None if given is None or self._one_token else _digest(given.encode())

    async def _has_room(self) -> bool:
        """Return whether another session may begin, ending the one that has been idle for longest where needed."""
        if len(self._sessions) < _MOST_SESSIONS:
            return True
        idle = self._idle_for(_SPARED_SECONDS)
        if idle:
            await self._end(min(idle, key=lambda one: one.used))
        return bool(idle)

    def _idle_for(self, seconds: float) -> list[HttpSession]:
        long_ago = time.monotonic() - seconds
        return [one for one in self._sessions.values() if not one.is_busy and one.used < long_ago]

    async def _end(self, session: HttpSession) -> None:
        self._sessions.pop(session.id, None)
        await session.close()

    async def _get(self, request: Request) -> Response:
        session = self._known(request)
        if session is None:
            return _refusal(404 if _SESSION_ID in request.headers else 400, "Session not found")
        return StreamingResponse(session.own_events(), media_type="text/event-stream", headers=_EVENTS)

    async def _delete(self, request: Request) -> Response:
        session = self._known(request)
        if session is None:
            return _refusal(404, "Session not found")
        await self._end(session)
        return Response(status_code=200)

    async def _metrics(self, _: Request) -> Response:
        ledger = None if self._loader.mcp_shaper is None else self._loader.mcp_shaper.ledger
        return Response("" if ledger is None else ledger.metrics(), media_type=CONTENT_TYPE)


async def serve_http(
    make_upstream: Callable[[], Upstream | Router], loader: ShaperLoader, host: str, port: int, **options: Any
) -> int:
    """Serve until cancelled; the options are those of `HttpServer.app`."""
    server = HttpServer(make_upstream, loader)
    runner = uvicorn.Server(
        uvicorn.Config(server.app(**options), host=host, port=port, lifespan="off", **SERVER_LIMITS)
    )
    # Signals end us in our own order.
    runner.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]  # it takes no arguments
    loader.start()
    sweeping = asyncio.create_task(server.sweep())
    serving = asyncio.create_task(runner.serve())
    try:
        await asyncio.shield(serving)
    finally:
        sweeping.cancel()
        loader.begin_to_write()
        await finish_anyway(server.finish(runner, serving))
    return 0


async def _body(request: Request) -> Message | Response:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return Response("Invalid Content-Type header", status_code=400)
    body = await read_body(request, _MOST_BYTES)
    if body is None:
        return Response("Request body too large", status_code=413)
    messages = messages_in(body.replace(b"\n", b" "))  # a line break that is no space cannot stand in JSON
    if len(messages) != 1:
        return _refusal(400, "Body must be a single JSON-RPC message", _PARSE_ERROR)
    if not messages[0].has_usable_id or (messages[0].is_request and messages[0].id is None):
        return _refusal(400, "The id of a request must be a string or a number")
    return messages[0]


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


def _refusal(
    status: int, words: str, code: int = INVALID_REQUEST, headers: Mapping[str, str] | None = None
) -> Response:
    body = error_message(None, code, words).line if words else b""
    return Response(body, status_code=status, headers=headers, media_type="application/json")


def _event(message: Message) -> bytes:
    return b"event: message\r\ndata: " + message.line + b"\r\n\r\n"
