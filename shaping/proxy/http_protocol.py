"""How Uvicorn runs each of our HTTP servers, and how long they wait for requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

# A client on the same machine sends a head in milliseconds; one that takes this long holds the connection on purpose.
HEAD_SECONDS = 15.0
BODY_SECONDS = 60.0
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class TimedProtocol(H11Protocol):
    """Uvicorn's HTTP protocol, which closes a connection whose client takes too long for a head or a body.

    One that is idle after an answer uvicorn closes itself.
    """

    _timer: asyncio.TimerHandle | None = None

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


LIMITS: dict[str, Any] = {
    "access_log": False,
    "log_level": "warning",
    "http": TimedProtocol,
    "ws": "none",
    "limit_concurrency": 1024,
}
