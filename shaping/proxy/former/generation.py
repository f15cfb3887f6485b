"""Which generation of the protocol a client may open: the newer one only where the servers behind speak it too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import anyio
import mcp_types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from shaping.proxy.former.front import of_envelope

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from shaping.proxy.former.front import Front

    Check = Callable[[Front], Awaitable[None]]


class Settled:
    """A client's messages less those of the newer protocol, until `check` passes one and so decides for good."""

    # Not a stream of its own, because every stream is a task that waits.

    def __init__(self, read: Any, write: Any, check: Check) -> None:
        self._read, self._write, self._check = read, write, check
        self._open = False

    @property
    def last_context(self) -> Any:
        """The context that the last message was sent in, where the stream below knows it."""
        return getattr(self._read, "last_context", None)

    async def receive(self) -> Any:
        """Give the next message that is let in."""
        while True:
            item = await self._read.receive()
            message = item.message if isinstance(item, SessionMessage) else None
            if self._open or not isinstance(message, mcp_types.JSONRPCRequest):
                return item
            refusal = await _refusal(message, self._check)
            if refusal is None:
                self._open = True
                return item
            await self._write.send(SessionMessage(refusal))

    async def aclose(self) -> None:
        """Take no more messages."""
        await self._read.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


async def _refusal(request: mcp_types.JSONRPCRequest, check: Check) -> mcp_types.JSONRPCError | None:
    if request.method == "initialize" or not _is_modern(request.params):
        return None
    try:
        await check(of_envelope(request.params))
    except MCPError as error:
        return mcp_types.JSONRPCError(jsonrpc="2.0", id=request.id, error=error.error)
    return None


def _is_modern(params: Mapping[str, Any] | None) -> bool:
    meta = (params or {}).get("_meta")
    return isinstance(meta, dict) and mcp_types.PROTOCOL_VERSION_META_KEY in meta
