from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types
import pytest
from mcp.shared._context_streams import create_context_streams
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from shaping.proxy.former.generation import Settled

if TYPE_CHECKING:
    from shaping.proxy.former.front import Front

pytestmark = pytest.mark.anyio

META = {mcp_types.PROTOCOL_VERSION_META_KEY: "2026-07-28"}
MODERN = SessionMessage(mcp_types.JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/list", params={"_meta": META}))
OLDER = SessionMessage(mcp_types.JSONRPCRequest(jsonrpc="2.0", id=2, method="initialize"))
NEWS = SessionMessage(mcp_types.JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized"))


async def refuse(_: Front) -> None:
    raise MCPError(code=mcp_types.UNSUPPORTED_PROTOCOL_VERSION, message="the handshake only")


async def admit(_: Front) -> None:
    pass


async def heard(check: Any, *said: SessionMessage) -> tuple[list[Any], list[Any]]:
    inner, read = anyio.create_memory_object_stream[Any](9)
    write, outer = anyio.create_memory_object_stream[Any](9)
    async with inner:
        for item in said:
            await inner.send(item)
    async with write, outer, Settled(read, write, check) as settled:
        items = [item async for item in settled]
        return items, [outer.receive_nowait().message.id for _ in range(outer.statistics().current_buffer_used)]


async def test_the_newer_protocol_is_refused_until_an_older_request_decides_for_good() -> None:
    assert await heard(refuse, NEWS, MODERN, MODERN, OLDER, MODERN) == ([NEWS, OLDER, MODERN], [1, 1])


async def test_the_newer_protocol_is_let_in_where_the_servers_speak_it() -> None:
    assert await heard(admit, MODERN, NEWS, OLDER) == ([MODERN, NEWS, OLDER], [])


async def test_a_message_keeps_the_context_that_it_was_sent_in() -> None:
    told: contextvars.ContextVar[str] = contextvars.ContextVar("told")
    inner, read = create_context_streams[Any](1)
    told.set("then")
    await inner.send(NEWS)
    told.set("now")
    async with Settled(read, inner, admit) as settled, inner:
        assert await settled.receive() == NEWS
        assert settled.last_context is not None
        assert settled.last_context[told] == "then"
