"""Calling an HTTP operation: the shared client, the request, and the response or the event stream as envelopes."""

from __future__ import annotations

import base64
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

import anyio
from anyio.lowlevel import current_token

from shaping.envelope import Envelope, http_envelope
from shaping.errors import ToolError, from_status, make_error
from shaping.errors.detail import message_in
from shaping.operations.openapi.requests import OperationInputs, is_json
from shaping.parsers.json import read_json, read_json_or_text
from shaping.response import import_extra

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping

    import httpx
    from httpx_sse import ServerSentEvent

    from shaping.operations.access import Context


MAX_REDIRECTS = 5
READING = frozenset({"GET", "HEAD"})  # the methods of queries
SAFE = READING | {"OPTIONS", "TRACE", "QUERY"}  # the methods that change nothing
PREFIXES = {"bearer": "Bearer ", "basic": "Basic "}  # before the credential in its header


@dataclass(frozen=True, slots=True)
class Auth:
    """How requests to an API are authenticated; the secret never appears in a repr.

    `token` is the bearer token, the key, or `user:password` for `basic`. `name` and `place` say where a key goes,
    unless the document's security schemes do; `prefix` stands before the token.
    """

    type: Literal["bearer", "api_key", "apiKey", "basic"]
    token: str = field(repr=False)  # for basic, `user:password`
    name: str | None = None  # of the header, query parameter or cookie; else what the type commonly uses
    place: Literal["header", "query", "cookie"] = "header"
    prefix: str | None = None  # before the token; else `Bearer ` for bearer and nothing for a key

    def __post_init__(self) -> None:
        if self.type == "apiKey":  # as OpenAPI spells it
            object.__setattr__(self, "type", "api_key")
        for given, known in ((self.type, ("bearer", "api_key", "basic")), (self.place, ("header", "query", "cookie"))):
            if given not in known:
                raise ValueError(f"authentication by {given!r} is not known; expected one of {', '.join(known)}")

    @property
    def _value(self) -> str:
        prefix = PREFIXES.get(self.type, "") if self.prefix is None else self.prefix
        return prefix + (base64.b64encode(self.token.encode()).decode() if self.type == "basic" else self.token)

    def headers(self) -> dict[str, str]:
        """Return the headers to send."""
        name = self.name or ("Authorization" if self.type in PREFIXES else "X-API-Key")
        if self.place == "cookie":
            return {"Cookie": f"{name}={quote(self._value, safe='')}"}
        return {name: self._value} if self.place == "header" else {}

    def query(self) -> list[str]:
        """Return the pieces of the query to send."""
        name = quote(self.name or "api_key", safe="")
        return [f"{name}={quote(self._value, safe='')}"] if self.place == "query" else []


@dataclass(frozen=True, slots=True)
class HttpConfig:
    """The settings of an API besides its document: its address, authentication, and the operations' namespace.

    `base_url` replaces the document's server address; `headers` go with every request; `transport` is an httpx
    transport in place of the network, for tests.
    """

    namespace: str = ""
    base_url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    auth: Auth | None = None
    timeout: float = 30.0
    transport: Any = None  # an httpx transport, in place of the network


class Client:
    """Sends requests over connections that stay open between calls."""

    def __init__(self, config: HttpConfig, base_url: str) -> None:
        self.config = config
        self.base_url = base_url.rstrip("/")
        self._client: httpx.AsyncClient | None = None
        self._loop: object = None

    def url(self, path: str, query: list[str]) -> str:
        """Return the whole address of a request."""
        if not self.base_url.startswith(("http://", "https://")):
            raise ToolError(
                "PRECONDITION", f"the API's address is {self.base_url!r}; pass base_url", phase="validation"
            )
        pieces = [*query, *(self.config.auth.query() if self.config.auth else ())]
        return f"{self.base_url}{path}{'?' if pieces else ''}{'&'.join(pieces)}"

    async def send(self, method: str, url: str, *, stream: bool = False, **request: Any) -> httpx.Response:
        """Send a request; a redirect is followed within the same origin only, since credentials go with it."""
        client = self._open()
        headers = {
            **self.config.headers,
            **(self.config.auth.headers() if self.config.auth else {}),
            **request.pop("headers", {}),
        }
        built = client.build_request(method, url, headers=headers, **request)
        for _ in range(MAX_REDIRECTS):
            response = await client.send(built, stream=stream)
            if response.next_request is None or method not in READING:
                return response
            if _origin(response.next_request.url) != _origin(built.url):
                return response
            await response.aclose()
            built = response.next_request
        raise ToolError("BAD_RESPONSE", f"the API redirected more than {MAX_REDIRECTS} times")

    def _open(self) -> httpx.AsyncClient:
        """Return the pool of this event loop; connections of a loop that has ended are of no use in another."""
        loop = current_token()
        if self._client is None or self._loop != loop:
            self._client, self._loop = new_client(self.config), loop
        return self._client

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


def new_client(config: HttpConfig) -> httpx.AsyncClient:
    """Make an HTTP client for an API."""
    library = import_extra("httpx", "http", "calling an HTTP API")
    client: httpx.AsyncClient = library.AsyncClient(timeout=config.timeout, transport=config.transport)
    return client


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


@dataclass(frozen=True, slots=True)
class HttpCall:
    """The handler of one HTTP operation."""

    client: Client
    method: str
    path: str
    inputs: OperationInputs
    accept: str = "application/json"

    async def __call__(self, given: Mapping[str, Any], context: Context) -> Envelope[Any]:
        """Send the request and wrap the response."""
        url, request = self.request(given, context)
        return read_http_response(await self.client.send(self.method, url, **request), self.method)

    async def stream(self, given: Mapping[str, Any], context: Context) -> AsyncGenerator[Envelope[Any], None]:
        """Yield an envelope for each event of a stream.

        A stream that breaks off, or ends after it gave events with ids, is taken up again after its last id; one that
        ends without ids is over, as there is no place to go on from. 204 ends it, as the standard says. Only a request
        that reads is ever sent again: any other would do its work twice.
        """
        url, request = self.request(given, context)
        headers = request["headers"]
        headers |= {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        wait, silent_connections = RETRY_SECONDS, 0
        while silent_connections <= MAX_SILENT_RECONNECTS:
            silent_connections += 1
            try:
                response = await self.client.send(self.method, url, stream=True, **request)
                async with aclosing(response), aclosing(_events(response)) as events:
                    if response.status_code == 204:
                        return
                    async for event in events:
                        if event.data == DONE:
                            return
                        wait = wait if event.retry is None else event.retry / 1000
                        headers |= {"Last-Event-ID": event.id} if event.id else {}
                        # httpx-sse also reports blocks without data, which the standard says are no events.
                        if event.data:
                            silent_connections = 0
                            yield _event_envelope(event, response)
            except import_extra("httpx", "http", "a stream of events").TransportError:
                # Before the first event a failed connection is a failed call; later it is a pause.
                if "Last-Event-ID" not in headers or self.method not in READING:
                    raise
            if "Last-Event-ID" not in headers or self.method not in READING:
                return
            await anyio.sleep(wait)
        raise ToolError("UNAVAILABLE", f"the stream broke off {silent_connections} times without an event in between")

    def request(self, given: Mapping[str, Any], context: Context) -> tuple[str, dict[str, Any]]:
        """Return the address and the rest of a request."""
        path, query, request = self.inputs.request(self.path, given)
        request["headers"] = {"Accept": self.accept, **request["headers"]}
        if context.request_id is not None:
            request["headers"]["X-Request-ID"] = context.request_id
        return self.client.url(path, query), request


def read_http_response(response: httpx.Response, method: str = "GET") -> Envelope[Any]:
    """Wrap a response: data by its content type, and an error status as a coded error beside the body."""
    status, kind = response.status_code, response.headers.get("content-type", "")
    data, readable = _data(response, kind)
    error = None
    if status >= 400:
        reason = message_in(data)
        message = None if reason is None else f"HTTP {status}: {reason[:300]}"
        error = from_status(status, message, headers=response.headers, state_changing=method not in SAFE)
    elif not readable:
        error = make_error("BAD_RESPONSE", f"the API answered with {kind}, but the body is not in that form")
    elif 300 <= status < 400 and status != 304:
        data, error = None, make_error("BAD_RESPONSE", "the API redirects to another place")
    return http_envelope(data, status=status, headers=response.headers.multi_items(), content_type=kind, error=error)


def _data(response: httpx.Response, kind: str) -> tuple[Any, bool]:
    """Return the body as JSON data, and whether it could be read as its content type."""
    if not response.content:
        return None, True
    plain = kind.partition(";")[0].strip().lower()
    if is_json(kind):
        try:
            return read_json(response.content), True
        except ValueError:
            return response.text, False
    if plain.startswith("text/") or plain.endswith(("xml", "yaml", "javascript")) or not plain:
        return response.text, True
    if (text := _as_text(response.content)) is not None:
        return text, True
    return {"base64": base64.b64encode(response.content).decode(), "bytes": len(response.content)}, True


def _as_text(body: bytes) -> Any:
    """Return a body of an unknown kind as the JSON or the text that it is: in base64 nobody would see a secret."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else read_json_or_text(text)


RETRY_SECONDS = 3.0  # between connections, where the server does not say
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


async def _events(response: httpx.Response) -> AsyncGenerator[ServerSentEvent, None]:
    """Yield the events of one connection; raise where the answer is not a stream of events."""
    is_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")
    if response.status_code != 200 or not is_stream:
        await response.aread()
        envelope = read_http_response(response)
        if envelope.error is not None:
            raise ToolError.of(envelope.error)
        kind = envelope.meta.model_dump()["content_type"]
        raise ToolError("BAD_RESPONSE", f"expected a stream of events, got {response.status_code} {kind}")
    text = BoundedText(response)
    source = import_extra("httpx_sse", "http", "a stream of events").EventSource(text)
    async with aclosing(source.aiter_sse()) as events:
        async for event in events:
            text.size = 0
            yield event


def _event_envelope(event: ServerSentEvent, response: httpx.Response) -> Envelope[Any]:
    meta: dict[str, Any] = {"event": event.event, **({"event_id": event.id} if event.id else {})}
    return http_envelope(
        read_json_or_text(event.data), status=response.status_code, headers=response.headers.multi_items(), **meta
    )
