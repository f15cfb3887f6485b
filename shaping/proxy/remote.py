"""Servers that are reached by HTTP: streamable HTTP, and the older transport by server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import httpx2
from mcp.shared._httpx_utils import redirect_note, request_within_origin, stream_within_origin
from mcp.shared.inbound import NAME_BEARING_METHODS, encode_header_value, mcp_param_headers, x_mcp_header_map

from shaping.proxy import outage
from shaping.proxy.messages import PROTOCOL_VERSION, Message, message_of, messages_in
from shaping.proxy.upstream import BackgroundTasks, ServerUnavailableError, Upstream
from shaping.redaction.engine import looks_random

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from shaping.errors import ErrorDetail

_SSE_PATH = re.compile(r"/sse/?(\?|$)")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_KEY_LENGTH = 12  # characters in a row: the words of a name are shorter
_SESSION_ID = "mcp-session-id"
_RESUME_ATTEMPTS = 2
_RESUME_SECONDS = 1.0
_GOODBYE_SECONDS = 1.0
_STREAM = {"accept": "text/event-stream", "cache-control": "no-store"}


class RemoteTransport:
    """What both transports over HTTP share: their client, their tasks, and the words for what goes wrong."""

    def __init__(self, url: str, *, name: str, headers: Mapping[str, str] | None = None, auth: Any = None) -> None:
        self.url = url
        self.name = name
        self.address = bare_address(url)
        self.upstream: Upstream
        # Without a limit for the answer: how long a call may take is for the client to say.
        timeout = httpx2.Timeout(30.0, read=None)
        self.http = httpx2.AsyncClient(headers=dict(headers or {}), auth=auth, timeout=timeout)
        self.tasks = BackgroundTasks()

    async def close(self) -> None:
        """End the connection."""
        self.tasks.cancel()
        await self.http.aclose()

    async def deliver(self, text: bytes) -> None:
        """Handle a message from the server, on one line: outside of strings a line break is a space."""
        await self.upstream.on_server_line(text.replace(b"\n", b" "))

    def unreachable(self, problem: Exception) -> ErrorDetail:
        """Describe why the server cannot be reached, without what is secret in its address."""
        words = str(problem) or type(problem).__name__
        whole = urlsplit(self.url)
        words = words.replace(self.url, self.address)
        words = words.replace(whole.path, urlsplit(self.address).path) if whole.path else words
        words = words.replace(f"?{whole.query}", "") if whole.query else words
        return outage.unreachable(self.name, self.address, words)

    def refusal(self, response: httpx2.Response) -> ErrorDetail | None:
        """Describe an answer of HTTP that is no answer to a message."""
        if redirected := redirect_note(response):
            return outage.unreachable(self.name, self.address, f"HTTP status {response.status_code}{redirected}")
        return outage.http_status(self.name, self.address, response.status_code) if response.is_error else None


class StreamableHttp(RemoteTransport):
    """Streamable HTTP: a POST for each message, and a stream for what the server says by itself."""

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(url, **options)
        self._session: str | None = None
        self._version: str | None = None
        self._posts: dict[Any, asyncio.Task[None]] = {}
        self._parameter_headers: dict[str, Any] = {}  # what of a tool's arguments is repeated in headers, by tool

    async def open(self, upstream: Upstream) -> None:
        """Remember who is told; the first message connects."""
        self.upstream = upstream

    async def send(self, message: Message) -> None:
        """Post a message; the answer to a request comes later."""
        if message.is_request:
            task = self.tasks.start(self._post(message))
            self._posts[message.id] = task
            task.add_done_callback(lambda _: self._posts.pop(message.id, None))
        elif message.method != "notifications/cancelled" or not self._abort(message):
            await self._post(message)
            if message.method == "notifications/initialized" and self._session is not None:
                self.tasks.start(self._listen())

    async def close(self) -> None:
        """End the session where there is one, and close the connection."""
        if self._session is not None:
            with contextlib.suppress(httpx2.HTTPError, TimeoutError):
                async with asyncio.timeout(_GOODBYE_SECONDS):
                    await request_within_origin(self.http, "DELETE", self.url, headers=self._headers())
        await super().close()

    def _abort(self, message: Message) -> bool:
        """Cancel as the newer protocol does, by hanging up; say whether that was it."""
        post = self._posts.get(message.params.get("requestId"))
        if self._version is not None or post is None:  # the handshake's protocols cancel by a message
            return False
        post.cancel()
        return True

    async def _post(self, message: Message) -> None:
        headers = {**self._headers(), **self._routing_headers(message)}
        content = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        try:
            async with stream_within_origin(
                self.http, "POST", self.url, content=message.line, headers={**headers, **content}
            ) as response:
                await self._on_response(message, response)
        except Exception as problem:  # noqa: BLE001 (signing in raises errors of its own; each is told to the client)
            await self.upstream.refused(message.id, self.unreachable(problem))

    async def _on_response(self, message: Message, response: httpx2.Response) -> None:
        if response.is_error and self._session is not None and response.status_code == httpx2.codes.NOT_FOUND:
            # A server that was restarted does not know the session any more.
            self._session = None
            self.upstream.expired(self, message)
            return
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if message.is_request and kind == "application/json":
            body = await response.aread()
            found = next(iter(messages_in(body)), None)
            if found is not None and "jsonrpc" in found.data:
                # A request may be refused before its id was read.
                refused = "error" in found.data and found.id is None
                await self._deliver_answer(
                    message, response, message_of({**found.data, "id": message.id}).line if refused else body
                )
                return
        detail = self.refusal(response)
        if detail is not None:
            await self.upstream.refused(message.id, detail)
        elif message.is_request and kind == "text/event-stream":
            await self._on_event_stream(message, response)
        elif message.is_request:
            problem = ValueError(f"HTTP status {response.status_code} with no answer")
            await self.upstream.refused(message.id, self.unreachable(problem))

    async def _on_event_stream(self, message: Message, response: httpx2.Response) -> None:
        """Read the stream that ends with the answer.

        Since the protocol of 2025-11-25 a server may close it earlier and expect the client to go on by the last event.
        """
        last = await self._read_stream(message, response)
        for _ in range(_RESUME_ATTEMPTS if last else 0):
            if not self.upstream.waits_for(message.id):
                return
            await asyncio.sleep(_RESUME_SECONDS)
            headers = {**self._headers(), **_STREAM, "last-event-id": last or ""}
            async with stream_within_origin(self.http, "GET", self.url, headers=headers) as again:
                if again.is_error:
                    break
                last = await self._read_stream(message, again) or last
        if self.upstream.waits_for(message.id):
            await self.upstream.refused(message.id, self.unreachable(ValueError("its stream ended without an answer")))

    async def _read_stream(self, message: Message | None, response: httpx2.Response) -> str | None:
        last: str | None = None
        with contextlib.suppress(httpx2.HTTPError):
            async for event in _events(response):
                last = event.id or last
                if event.data and event.event == "message":
                    await self._deliver_answer(message, response, event.data.encode())
        return last

    async def _deliver_answer(self, message: Message | None, response: httpx2.Response, text: bytes) -> None:
        if message is not None and message.method in {"initialize", "tools/list"}:
            self._learn(message, response, text)
        await self.deliver(text)

    def _learn(self, request: Message, response: httpx2.Response, text: bytes) -> None:
        """Note what later requests must say in their headers."""
        found = next(iter(messages_in(text)), None)
        result = found.data.get("result") if found is not None and found.id == request.id else None
        if not isinstance(result, dict):
            return
        if request.method == "initialize":
            self._session = response.headers.get(_SESSION_ID) or self._session
            self._version = result.get("protocolVersion")
        for tool in result.get("tools") or ():
            self._parameter_headers[tool.get("name")] = x_mcp_header_map(tool.get("inputSchema"))

    async def _listen(self) -> None:
        """Read what the server says by itself; many have no such stream."""
        last: str | None = None
        for _ in range(_RESUME_ATTEMPTS):
            headers = {**self._headers(), **_STREAM, **({"last-event-id": last} if last else {})}
            with contextlib.suppress(httpx2.HTTPError):
                async with stream_within_origin(self.http, "GET", self.url, headers=headers) as response:
                    if response.status_code != httpx2.codes.OK:
                        return
                    last = await self._read_stream(None, response) or last
            await asyncio.sleep(_RESUME_SECONDS)

    def _headers(self) -> dict[str, str]:
        session = {} if self._session is None else {_SESSION_ID: self._session}
        return session if self._version is None else {**session, "mcp-protocol-version": self._version}

    def _routing_headers(self, message: Message) -> dict[str, str]:
        """Return the headers that the newer protocol repeats a message in."""
        version = message.meta.get(PROTOCOL_VERSION)
        if not isinstance(version, str) or message.method is None:
            return {}
        headers = {"mcp-protocol-version": version, "mcp-method": message.method}
        name = message.params.get(NAME_BEARING_METHODS.get(message.method, ""))
        if isinstance(name, str):
            headers["mcp-name"] = encode_header_value(name)
            arguments = message.params.get("arguments")
            known = self._parameter_headers.get(name, {}) if message.method == "tools/call" else {}
            headers |= mcp_param_headers(known, arguments) if isinstance(arguments, dict) else {}
        return headers


class ServerSentEvents(RemoteTransport):
    """The older transport: one stream of events for all answers, and an address to post messages to."""

    _endpoint: asyncio.Future[str]

    async def open(self, upstream: Upstream) -> None:
        """Open the stream and wait for the address to post to."""
        self.upstream = upstream
        self._endpoint = asyncio.get_running_loop().create_future()
        self.tasks.start(self._listen(self._endpoint))
        await self._endpoint

    async def send(self, message: Message) -> None:
        """Post a message; its answer comes by the stream."""
        self.tasks.start(self._post(message))

    async def _post(self, message: Message) -> None:
        headers = {"content-type": "application/json"}
        try:
            endpoint = self._endpoint.result()
            response = await request_within_origin(self.http, "POST", endpoint, content=message.line, headers=headers)
        except httpx2.HTTPError as problem:
            await self.upstream.refused(message.id, self.unreachable(problem))
            return
        detail = self.refusal(response)
        if detail is not None:
            await self.upstream.refused(message.id, detail)

    async def _listen(self, endpoint: asyncio.Future[str]) -> None:
        try:
            async with stream_within_origin(self.http, "GET", self.url, headers=_STREAM) as response:
                detail = self.refusal(response)
                if detail is not None:
                    endpoint.set_exception(ServerUnavailableError(detail))
                    return
                await self._read(response, endpoint)
        except Exception as problem:  # noqa: BLE001 (signing in raises errors of its own; each is told to the client)
            if not endpoint.done():
                endpoint.set_exception(ServerUnavailableError(self.unreachable(problem)))
        if endpoint.done() and endpoint.exception() is None:
            await self.upstream.lost(self)

    async def _read(self, response: httpx2.Response, endpoint: asyncio.Future[str]) -> None:
        async for event in _events(response):
            if event.event == "endpoint" and not endpoint.done():
                address = urljoin(self.url, event.data)
                if urlsplit(address)[:2] != urlsplit(self.url)[:2]:
                    raise ValueError("it names an address at another host")
                endpoint.set_result(address)
            elif event.event == "message" and event.data:
                await self.deliver(event.data.encode())


def remote_transport(
    url: str, *, name: str, kind: str | None = None, headers: Mapping[str, str] | None = None, auth: Any = None
) -> StreamableHttp | ServerSentEvents:
    """Return a transport to an address; one that ends in `/sse` means the older kind unless `kind` says."""
    older = kind == "sse" if kind else _SSE_PATH.search(url) is not None
    make = ServerSentEvents if older else StreamableHttp
    return make(url, name=name, headers=headers, auth=auth)


def bare_address(url: str) -> str:
    """Return an address without its user, password and query, where people put keys, and without keys in its path."""
    parts = urlsplit(url)
    path = "/".join("…" if _is_key(step) else step for step in parts.path.split("/"))
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], path=path, query="", fragment="").geturl()


def _is_key(step: str) -> bool:
    """Return whether a path step is a secret that opens a server, as some hosts hand out, not the name of a place."""
    parts = [step] if _UUID.fullmatch(step) else re.split(r"[-_.:]", step)
    return any(len(part) >= _KEY_LENGTH and looks_random(part) for part in parts)


def _events(response: httpx2.Response) -> AsyncIterator[Any]:
    # A result may be of any size, and so may an event.
    return aiter(httpx2.EventSource(response, max_event_size=None))
