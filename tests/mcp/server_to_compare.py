"""A server over pipes, with or without shaping: `python server_to_compare.py fastmcp|sdk|lowlevel raw|shaped`."""

from __future__ import annotations

import sys
from typing import Any

import anyio
import fastmcp
import mcp_types
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server

from shaping import shape_server

EMBEDDED = mcp_types.TextResourceContents(uri="file:///y", text="two  blanks\n\n", mime_type="text/plain")
BLOCKS: list[Any] = [
    mcp_types.TextContent(type="text", text="hi"),
    mcp_types.ImageContent(type="image", data="aGk=", mime_type="image/png"),
    mcp_types.AudioContent(type="audio", data="aGk=", mime_type="audio/wav"),
    mcp_types.ResourceLink(type="resource_link", uri="file:///not-listed", name="x"),
    mcp_types.EmbeddedResource(type="resource", resource=EMBEDDED),
]


def blocks() -> list[Any]:
    """Return a block of each kind."""
    return BLOCKS


def note(n: str) -> str:
    """Read a note."""
    return f"note {n}"


def greet(who: str) -> str:
    """Greet somebody."""
    return f"Say hello to {who}."


def framework_server(kind: str) -> Any:
    """Make a server of FastMCP or of the SDK."""
    server: Any = fastmcp.FastMCP("s", instructions="Ask.") if kind == "fastmcp" else MCPServer("s", log_level="ERROR")
    server.tool()(blocks)
    server.resource("notes://{n}")(note)
    server.prompt()(greet)
    return server


def lowlevel_server() -> Any:
    """Make a low-level server with a method of its own."""

    async def call(_: Any, params: Any) -> Any:
        return mcp_types.CallToolResult(content=BLOCKS if params.name == "blocks" else [])

    async def get_task(_: Any, params: Any) -> Any:
        begun = "2026-01-01T00:00:00Z"
        return mcp_types.GetTaskResult(
            task_id=params.task_id, status="completed", created_at=begun, last_updated_at=begun, ttl=1
        )

    server: Any = Server("s", on_call_tool=call)
    server.add_request_handler("tasks/get", mcp_types.GetTaskRequestParams, get_task)
    return server


async def serve(server: Any) -> None:
    """Serve over pipes."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    kind, shaped = sys.argv[1:]
    made = lowlevel_server() if kind == "lowlevel" else framework_server(kind)
    if shaped == "shaped":
        shape_server(made)
    if kind == "lowlevel":
        anyio.run(serve, made)
    elif kind == "fastmcp":
        made.run(transport="stdio", show_banner=False)
    else:
        made.run(transport="stdio")
