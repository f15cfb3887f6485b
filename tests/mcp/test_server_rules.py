"""Rules under `server/tool` keys hold for what a tool of that server fails with, in every form of error."""

from __future__ import annotations

from typing import Any

import fastmcp
import mcp
import pytest
from fastmcp.exceptions import ToolError
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError

from shaping import shape_server

pytestmark = pytest.mark.anyio
CONFIG = {"tool_overrides": {"hr/*": {"private": ["salary"], "max_tokens": 60}}}
LONG = " ".join(f"word{n}" for n in range(900))


def refused() -> str:
    """Fail by an error of the protocol."""
    raise MCPError(-32000, "no", {"salary": 120_000, "why": LONG})


def failed() -> str:
    """Fail by an error of the tool."""
    raise ToolError('{"salary": 120000, "why": "closed"}')


async def _fastmcp_error(tool: Any) -> str:
    server: Any = shape_server(fastmcp.FastMCP("hr"), CONFIG)
    server.tool(tool, name="tool")
    async with fastmcp.Client(server) as client:
        try:
            return str(await client.call_tool("tool", {}, raise_on_error=False))
        except MCPError as error:
            return str(error.error)


async def _sdk_error(tool: Any) -> str:
    server = MCPServer("hr")
    server.tool(name="tool")(tool)
    shape_server(server, CONFIG)
    async with mcp.Client(server) as client:
        try:
            return str(await client.call_tool("tool", {}))
        except MCPError as error:
            return str(error.error)


@pytest.mark.parametrize("answer", [_fastmcp_error, _sdk_error])
async def test_a_protocol_error_follows_the_rules_of_its_server(answer: Any) -> None:
    said = await answer(refused)

    assert "120000" not in said
    assert "word1 " in said
    assert len(said) < 1000


@pytest.mark.parametrize("answer", [_fastmcp_error, _sdk_error])
async def test_an_error_result_follows_the_rules_of_its_server(answer: Any) -> None:
    said = await answer(failed)

    assert "120000" not in said
    assert "closed" in said
