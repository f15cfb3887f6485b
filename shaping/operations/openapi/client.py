"""Calling an HTTP operation: the shared client, the request, and the response as an envelope."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

import orjson
from anyio.lowlevel import current_token

from shaping.envelope import Envelope, http_envelope
from shaping.errors import ToolError, from_status, make_error
from shaping.errors.outcomes import message_in
from shaping.operations.openapi.serialization import encode_body, in_header, in_path, in_query
from shaping.parsers.json import read_json
from shaping.response import import_extra

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from shaping.operations.context import Context
    from shaping.operations.openapi.parameters import OperationInputs, Parameter


MAX_REDIRECTS = 5
AUTH_TYPES = ("bearer", "api_key", "basic")
AUTH_PLACES = ("header", "query", "cookie")


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
        for given, known in ((self.type, AUTH_TYPES), (self.place, AUTH_PLACES)):
            if given not in known:
                raise ValueError(f"authentication by {given!r} is not known; expected one of {', '.join(known)}")

    def headers(self) -> dict[str, str]:
        """Return the headers to send."""
        if self.type == "basic":
            encoded = base64.b64encode(self.token.encode()).decode()
            return {self.name or "Authorization": f"{self.prefix or 'Basic '}{encoded}"}
        if self.type == "bearer":
            return {self.name or "Authorization": f"{'Bearer ' if self.prefix is None else self.prefix}{self.token}"}
        name, value = self.name or "X-API-Key", f"{self.prefix or ''}{self.token}"
        if self.place == "cookie":
            return {"Cookie": f"{name}={quote(value, safe='')}"}
        return {name: value} if self.place == "header" else {}

    def query(self) -> str | None:
        """Return the piece of the query to send."""
        if self.type != "api_key" or self.place != "query":
            return None
        return f"{quote(self.name or 'api_key', safe='')}={quote((self.prefix or '') + self.token, safe='')}"


@dataclass(frozen=True, slots=True)
class HttpConfig:
    """What is known of an API besides its document: where it is, how to authenticate, and the operations' namespace.

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
        pieces = [*query, *([piece] if self.config.auth and (piece := self.config.auth.query()) else [])]
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
            if response.next_request is None or method not in {"GET", "HEAD"}:
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
        """Send the request and wrap what comes back."""
        url, request = self.request(given)
        if context.request_id is not None:
            request["headers"]["X-Request-ID"] = context.request_id
        response = await self.client.send(self.method, url, **request)
        return read_http_response(response, self.method)

    def request(self, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the address and the rest of a request."""
        path, query, headers, cookies = self.path, list[str](), {"Accept": self.accept}, list[str]()
        for parameter in self.inputs.parameters:
            if parameter.member not in given:
                continue
            value = _written(parameter, given[parameter.member])
            match parameter.place:
                case "path":
                    text = in_path(parameter.name, value, parameter.style, explode=parameter.explode)
                    path = path.replace(f"{{{parameter.name}}}", text)
                case "query":
                    query += in_query(
                        parameter.name, value, parameter.style, explode=parameter.explode, reserved=parameter.reserved
                    )
                case "header":
                    headers[parameter.name] = in_header(parameter.name, value, explode=parameter.explode)
                case _:
                    cookies += in_query(parameter.name, value, parameter.style, explode=parameter.explode)
        request = self._body(given)
        headers |= request.pop("headers", {})
        if cookies:
            headers["Cookie"] = "; ".join(cookies)
        return self.client.url(path, query), {**request, "headers": headers}

    def _body(self, given: Mapping[str, Any]) -> dict[str, Any]:
        inputs = self.inputs
        if inputs.body is None:
            return {}
        if inputs.body_member is not None:
            sent = inputs.body_member in given
            return encode_body(inputs.body, given[inputs.body_member]) if sent else {}
        value = {theirs: given[ours] for ours, theirs in inputs.body_members.items() if ours in given}
        return encode_body(inputs.body, value) if value or inputs.body_required else {}


def _written(parameter: Parameter, value: Any) -> Any:
    return orjson.dumps(value).decode() if parameter.as_json else value


def read_http_response(response: httpx.Response, method: str = "GET") -> Envelope[Any]:
    """Wrap a response: data by its content type, an error status as a coded error beside whatever the server said."""
    kind = response.headers.get("content-type", "")
    data, readable = _data(response, kind)
    about: dict[str, Any] = {
        "status": response.status_code,
        "headers": response.headers.multi_items(),
        "content_type": kind,
    }
    if response.status_code >= 400:
        reason = message_in(data)
        message = None if reason is None else f"HTTP {response.status_code}: {reason[:300]}"
        changing = method not in {"GET", "HEAD", "OPTIONS", "QUERY"}
        error = from_status(response.status_code, message, headers=response.headers, state_changing=changing)
        return http_envelope(data, error=error, **about)
    if not readable:
        error = make_error("BAD_RESPONSE", f"the API answered with {kind}, but the body is not in that form")
        return http_envelope(data, error=error, **about)
    if 300 <= response.status_code < 400 and response.status_code != 304:
        return http_envelope(None, error=make_error("BAD_RESPONSE", "the API redirects to another place"), **about)
    return http_envelope(data, **about)


def _data(response: httpx.Response, kind: str) -> tuple[Any, bool]:
    """Return the body as JSON data, and whether it could be read as what it says it is."""
    if not response.content:
        return None, True
    plain = kind.partition(";")[0].strip().lower()
    if plain == "application/json" or plain.endswith("+json"):
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
    if "\0" in text:
        return None
    try:
        return read_json(text)
    except ValueError:
        return text
