"""Requests of our own to an upstream server, beside those that are passed on to it."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING, Any

from shaping.proxy.messages import Message, write
from shaping.proxy.upstream import ServerUnavailableError, Upstream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from shaping.errors import ErrorDetail

# A server whose list never ends must not keep everything waiting.
_MOST_PAGES = 100
_PROTOCOL = "2025-11-25"


class RequestError(Exception):
    """A server's JSON-RPC error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(str(error.get("message", "")))
        self.error = error


class Requester:
    """Asks an upstream server, and hands everything else that comes from it on."""

    def __init__(
        self,
        upstream: Upstream,
        receive: Callable[[Message], Awaitable[None]] | None = None,
        fail: Callable[[Message, ErrorDetail], Awaitable[None]] | None = None,
    ) -> None:
        """Ask a server; `receive` gets all else that it says, and `fail` requests of others that it will not answer."""
        self.upstream = upstream
        self._receive, self._fail = receive, fail
        self._numbers = count(1)
        self._answers: dict[Any, asyncio.Future[Message]] = {}
        upstream.attach(self)

    async def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return its result; raise RequestError for an error of the server's."""
        request_id = f"shaping-{next(self._numbers)}"
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._answers[request_id] = future
        body = {"jsonrpc": "2.0", "id": request_id, "method": method}
        try:
            await self.upstream.send(write(body if params is None else {**body, "params": dict(params)}))
            answer = await future
        finally:
            self._answers.pop(request_id, None)
        if "error" in answer.data:
            raise RequestError(answer.data["error"])
        result = answer.data.get("result")
        return result if isinstance(result, dict) else {}

    async def pages(self, method: str, member: str) -> AsyncIterator[dict[str, Any]]:
        """Yield the entries of a list, page by page."""
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            result = await self.ask(method, None if cursor is None else {"cursor": cursor})
            for entry in result.get(member) or ():
                yield entry
            cursor = result.get("nextCursor")
            if cursor is None:
                return

    async def received(self, message: Message) -> None:
        """Handle an answer to a request of ours, or pass the message on."""
        future = self._answers.get(message.id) if message.is_answer else None
        if future is not None and not future.done():
            future.set_result(message)
        elif self._receive is not None:
            await self._receive(message)

    async def failed(self, request: Message, detail: ErrorDetail) -> None:
        """Handle the failure of a request of ours, or pass it on."""
        future = self._answers.get(request.id)
        if future is not None and not future.done():
            future.set_exception(ServerUnavailableError(detail))
        elif self._fail is not None:
            await self._fail(request, detail)


async def list_tools(upstream: Upstream) -> list[dict[str, Any]]:
    """Connect to a server, list its tools, and leave."""
    requester = Requester(upstream)
    info = {"name": "shaping", "version": "1"}
    try:
        await requester.ask("initialize", {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": info})
        await upstream.send(write({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        return [tool async for tool in requester.pages("tools/list", "tools")]
    finally:
        await upstream.close()
