"""The bounds of our HTTP servers: who may call, by the address, the page or the token, and how long one may take."""

from __future__ import annotations

import hmac
import re
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import h11
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Sequence

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

# A name or an address and a port, and nothing of what else may stand in an address: user, path, query, fragment.
_HOST = re.compile(r"(?P<name>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


# How Uvicorn, which is an extra, runs each of our HTTP servers.
SERVER_LIMITS: dict[str, Any] = {
    "access_log": False,
    "log_level": "warning",
    "http": "shaping.proxy.http_limits:TimedProtocol",
    "ws": "none",
    "limit_concurrency": 1024,
}


async def read_body(request: Request, most: int) -> bytes | None:
    """Return a request's body; None where it has more bytes, or its client hung up and waits for no answer."""
    body = bytearray()
    with suppress(ClientDisconnect):
        async for part in request.stream():
            body += part
            if len(body) > most:
                return None
        return bytes(body)
    return None


class BearerGuard:
    """ASGI middleware that refuses requests without the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on that carries the token."""
        given = Headers(scope=scope).get("authorization", "").encode() if scope["type"] == "http" else b""
        if hmac.compare_digest(given, self._expected):
            await self._app(scope, receive, send)
            return
        refusal = Response("a bearer token is needed", 401, {"www-authenticate": "Bearer"})
        await refusal(scope, receive, send)


class HostGuard:
    """ASGI middleware that answers requests to this address or an allowed one, and of pages from there alone.

    A page in a browser on the same machine can send requests to a server on loopback, and by DNS rebinding read the
    answers. Another port of this machine is another address: somebody else may serve a page there.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        self._app = app
        self._hosts = [host.lower() for host in hosts]
        self._origins = {origin.lower() for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request with one Host and no Origin but those that are allowed."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        hosts, origins = ([value.lower() for value in headers.getlist(name)] for name in ("host", "origin"))
        if len(hosts) != 1 or not self._is_allowed(hosts[0], scope["server"]):
            await Response("Misdirected Request", 421)(scope, receive, send)
        elif not set(origins) <= {f"http://{hosts[0]}", f"https://{hosts[0]}", *self._origins}:
            await Response("Forbidden Origin", 403)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _is_allowed(self, host: str, server: tuple[str, int]) -> bool:
        parts = _HOST.fullmatch(host)
        if parts is None:
            return False
        name, port = parts["name"].strip("[]"), int(parts["port"]) if parts["port"] else None
        if any(fnmatchcase(host, allowed) or fnmatchcase(name, allowed) for allowed in self._hosts):
            return True
        return name in {*_LOOPBACK, server[0]} and port in {None, server[1]}


# A client on the same machine sends a head in milliseconds; one that takes this long holds the connection on purpose.
HEAD_SECONDS = 15.0
BODY_SECONDS = 60.0
_LONGEST_HEAD = 64 * 1024  # bytes
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class _HeadWithBody(h11.Connection):
    """Writes the head of an answer with its body: who is killed between two writes has lost it for every balancer."""

    _head: Sequence[bytes] = ()

    def send_with_data_passthrough(self, event: h11.Event) -> list[bytes] | None:
        """Return what is to be written; the head of an answer of known length comes with the event after it."""
        written = super().send_with_data_passthrough(event)
        if written is None:
            return None
        whole, self._head = [*self._head, *written], ()
        if isinstance(event, h11.Response) and any(name == b"content-length" for name, _ in event.headers):
            whole, self._head = [], whole
        return whole


class TimedProtocol(H11Protocol):
    """Uvicorn's HTTP protocol, which closes a connection whose client takes too long for a head or a body.

    One that is idle after an answer uvicorn closes itself.
    """

    _timer: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.conn = _HeadWithBody(h11.SERVER, _LONGEST_HEAD)

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._wait(HEAD_SECONDS)

    def data_received(self, data: bytes) -> None:
        """Take a part of a request; what is not whole yet must become so in time."""
        before: Any = self.cycle
        super().data_received(data)
        cycle: Any = self.cycle
        if cycle is not before:
            self._wait(BODY_SECONDS if cycle.more_body else None)
        elif cycle is None or cycle.response_complete:
            if self._timer is None:
                self._wait(HEAD_SECONDS)
        elif not cycle.more_body:
            self._wait(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._wait(None)
        super().connection_lost(exc)

    def _wait(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._end)

    def _end(self) -> None:
        cycle: Any = self.cycle  # None before the first head
        if cycle is not None and not cycle.response_started:
            self.transport.write(_TOO_SLOW)
        self.transport.close()
