"""A server that shapes its own answers: `shaping_server.py fastmcp` by the middleware, `sdk` by `shape_server`."""

from __future__ import annotations

import sys
from typing import Any

import mcp_types
from fastmcp import FastMCP
from fastmcp.tools.base import ToolResult
from mcp.server.mcpserver import MCPServer

from shaping import ShapingMiddleware, shape_server

URL = "https://api.example.com/repos/acme/widget"
ISSUES: list[dict[str, Any]] = [
    {
        "id": 9001 + n,
        "url": f"{URL}/issues/{n}",
        "title": f"Widget {n} squeaks under load",
        "assignee": None,
        "labels": [],
        "user": {"login": f"user{n}", "avatar_url": f"https://avatars.example.com/{n}", "type": "User"},
    }
    for n in range(10)
]


def list_issues() -> list[dict[str, Any]]:
    """List issues."""
    return ISSUES


def describe() -> Any:
    """Say in a text that there are issues, and which ones in the structure."""
    return ToolResult(content="There are issues.", structured_content={"issues": ISSUES[:2]})


def describe_result() -> mcp_types.CallToolResult:
    """Say the same by the SDK's own result."""
    block = mcp_types.TextContent(type="text", text="There are issues.")
    return mcp_types.CallToolResult(content=[block], structured_content={"issues": ISSUES[:2]})


if sys.argv[1] == "fastmcp":
    mcp = FastMCP("tracker")
    mcp.add_middleware(ShapingMiddleware())
    mcp.tool(list_issues)
    mcp.tool(describe)
    mcp.run(show_banner=False)
else:
    server = MCPServer[Any]("tracker")
    server.add_tool(list_issues)
    server.add_tool(describe_result, name="describe")
    shape_server(server).run()
