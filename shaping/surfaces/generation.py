"""Which generation of the protocol a client may open: the newer one only where the servers behind speak it too."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from shaping.surfaces.front import of_envelope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from anyio.streams.memory import MemoryObjectReceiveStream

    from shaping.surfaces.front import Front

    Check = Callable[[Front], Awaitable[None]]


@asynccontextmanager
async def settle(read: Any, write: Any, check: Check) -> AsyncIterator[MemoryObjectReceiveStream[Any]]:
    """Refuse the newer protocol on a pipe until `check` passes it: the first request let in decides for good."""
    inner, outer = anyio.create_memory_object_stream[Any](0)
    async with inner, outer, anyio.create_task_group() as tasks:
        tasks.start_soon(_forward, read, write, inner, check)
        yield outer
        tasks.cancel_scope.cancel()


async def _forward(read: Any, write: Any, inner: Any, check: Check) -> None:
    settled = False
    async with inner:
        async for item in read:
            message = item.message if isinstance(item, SessionMessage) else None
            if not settled and isinstance(message, mcp_types.JSONRPCRequest):
                refusal = await _refusal(message, check)
                if refusal is not None:
                    await write.send(SessionMessage(refusal))
                    continue
                settled = True
            await inner.send(item)


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
