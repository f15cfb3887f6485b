"""The private API of others that we use is where it was; a new version that moves it fails here first."""

from __future__ import annotations

from typing import Any

import pytest
from fastmcp.server.dependencies import get_context
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer

from shaping.mcp.sdk import lowlevel_server
from shaping.mcp.sessions import connection_of
from shaping.operations.adapters import send_raw

pytestmark = pytest.mark.anyio


def test_an_mcp_server_has_a_lowlevel_one_inside() -> None:
    assert isinstance(lowlevel_server(MCPServer("s")), Server)


async def test_a_session_has_a_connection_that_lasts() -> None:
    server: MCPServer[Any] = MCPServer("s")
    seen = []

    @server.tool()
    async def look(ctx: Context[Any, Any]) -> str:
        seen.append(connection_of(ctx.session))
        return "x"

    async with Client(server, mode="legacy") as client:
        await client.call_tool("look", {})
        await client.call_tool("look", {})
    assert seen[0] is not None
    assert seen[0] is seen[1]
    assert seen[0].protocol_version


def test_there_is_no_fastmcp_context_outside_of_a_request() -> None:
    with pytest.raises(RuntimeError):
        get_context()


async def test_a_client_sends_a_request_and_gets_its_result_as_json() -> None:
    server: MCPServer[Any] = MCPServer("s")

    @server.tool()
    def add(a: int, b: int) -> int:
        return a + b

    async with Client(server) as client:
        result = await send_raw(client.session, "tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
    assert result["content"][0]["text"] == "3"
