"""The HTTP client that all operations of one API share: address, headers, authentication, pooled connections."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from anyio.lowlevel import current_token

from shaping.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

MAX_REDIRECTS = 5


@dataclass(frozen=True, slots=True)
class Auth:
    """How an API wants to be told who calls; the secret is never shown."""

    type: Literal["bearer", "api_key", "basic"]
    token: str = field(repr=False)  # for basic, `user:password`
    name: str | None = None  # of the header, query parameter or cookie; else what the type commonly uses
    place: Literal["header", "query", "cookie"] = "header"
    prefix: str | None = None  # before the token; else `Bearer ` for bearer and nothing for a key

    def headers(self) -> dict[str, str]:
        """Give the headers to send."""
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
        """Give the piece of the query to send."""
        if self.type != "api_key" or self.place != "query":
            return None
        return f"{quote(self.name or 'api_key', safe='')}={quote((self.prefix or '') + self.token, safe='')}"


@dataclass(frozen=True, slots=True)
class HttpConfig:
    """What is known of an API beside its document."""

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
        """Give the whole address of a request."""
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
        """Give the pool of this event loop; connections of a loop that has ended are of no use in another."""
        loop = current_token()
        if self._client is None or self._loop != loop:
            self._client, self._loop = _new_client(self.config), loop
        return self._client

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


def _new_client(config: HttpConfig) -> httpx.AsyncClient:
    try:
        import httpx  # noqa: PLC0415  an extra, imported where it is used
    except ImportError:
        raise ImportError('calling an HTTP API needs an extra: pip install "shaping[http]"') from None
    return httpx.AsyncClient(timeout=config.timeout, transport=config.transport)


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
