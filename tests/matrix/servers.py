"""The same three tools on FastMCP 4, the SDK's `MCPServer` and its low-level `Server`: `python servers.py KIND`."""

from __future__ import annotations

import sys
from typing import Any

import anyio
import mcp_types
from pydantic import BaseModel

MISSING = "ENOENT: no such file or directory, open 'notes.txt'"


class User(BaseModel):
    login: str
    id: int


class Issue(BaseModel):
    number: int
    title: str
    state: str
    user: User
    body: str | None
    labels: list[str]


class Page(BaseModel):
    total: int
    items: list[Issue]


def page() -> Page:
    """Give two issues, with a null and an empty list among their members."""
    users = (User(login="ada", id=1), User(login="bob", id=2))
    first = Issue(number=1, title="First", state="open", user=users[0], body=None, labels=[])
    second = Issue(number=2, title="Second", state="closed", user=users[1], body="text", labels=["bug"])
    return Page(total=2, items=[first, second])


def list_issues() -> Page:
    """List issues."""
    return page()


def whole_issues() -> Page:
    """List issues, which no config filters."""
    return page()


def serve_fastmcp() -> None:
    from fastmcp import FastMCP
    from fastmcp.exceptions import ToolError

    def fail() -> Page:
        raise ToolError(MISSING)

    server = FastMCP("matrix", tools=[list_issues, whole_issues, fail])
    server.run(show_banner=False, log_level="CRITICAL")


def serve_sdk() -> None:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    def fail() -> Page:
        raise ToolError(MISSING)

    server = MCPServer("matrix", log_level="CRITICAL")
    for function in (list_issues, whole_issues, fail):
        server.add_tool(function)
    server.run()


def serve_lowlevel() -> None:
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    async def list_tools(_: Any, __: Any) -> mcp_types.ListToolsResult:
        schema = Page.model_json_schema()
        return mcp_types.ListToolsResult(
            tools=[
                mcp_types.Tool(name=name, input_schema={"type": "object"}, output_schema=schema)
                for name in ("list_issues", "whole_issues", "fail")
            ]
        )

    async def call_tool(_: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        if params.name == "fail":
            return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text=MISSING)], is_error=True)
        text = mcp_types.TextContent(type="text", text=page().model_dump_json(indent=2))
        return mcp_types.CallToolResult(content=[text], structured_content=page().model_dump())

    async def main() -> None:
        server = Server("matrix", on_list_tools=list_tools, on_call_tool=call_tool)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(main)


if __name__ == "__main__":
    {"fastmcp": serve_fastmcp, "sdk": serve_sdk, "lowlevel": serve_lowlevel}[sys.argv[1]]()
