"""Who may connect to the proxy's HTTP server, and how slowly: a bearer token, and time-outs for heads of requests."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers
from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Collection

    from starlette.types import ASGIApp, Receive, Scope, Send

# A client on the same machine sends a head in milliseconds; one that takes this long holds the connection on purpose.
HEAD_SECONDS = 15.0
MOST_CONNECTIONS = 1024


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


class OriginGuard:
    """ASGI middleware that refuses pages of other addresses, those of other ports of this machine included."""

    def __init__(self, app: ASGIApp, allowed: Collection[str]) -> None:
        self._app = app
        self._allowed = {origin.lower() for origin in allowed}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on that no page sends, or one of this address, or one that is allowed."""
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        host, origin = headers.get("host", "").lower(), headers.get("origin", "").lower()
        if origin and origin not in {f"http://{host}", f"https://{host}", *self._allowed}:
            await Response("Forbidden Origin", 403)(scope, receive, send)
            return
        await self._app(scope, receive, send)


class TimedProtocol(H11Protocol):
    """Uvicorn's HTTP protocol, which closes a connection whose client takes too long for the head of a request."""

    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request; what is no whole head yet must become one in time."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._stop_waiting()
        elif self._head_timer is None and _is_over(before):
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def _is_over(cycle: Any) -> bool:
    """Return whether no request is being answered; there is no cycle before the first."""
    return cycle is None or bool(cycle.response_complete)
