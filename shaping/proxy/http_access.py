"""ASGI middleware that lets in only who may call, by the address, the page or the token of a request."""

from __future__ import annotations

import hmac
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Receive, Scope, Send

# A name or an address and a port, and nothing of what else may stand in an address: user, path, query, fragment.
_HOST = re.compile(r"(?P<name>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


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
