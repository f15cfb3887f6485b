"""A FastMCP server whose answers are shaped: `python examples/fastmcp_server.py` speaks MCP on its pipes."""

from typing import Any

from fastmcp import FastMCP

from shaping import ShapingMiddleware, ToolError

mcp: FastMCP[Any] = FastMCP("staff")
mcp.add_middleware(ShapingMiddleware({"tool_overrides": {"list_users": {"exclude_fields": ["**.*_url"]}}}))


@mcp.tool
def list_users(team: str) -> list[dict[str, Any]]:
    """List the people of a team."""
    if team != "core":
        raise ToolError("NOT_FOUND", f"there is no team {team}")
    return [
        {"id": n, "name": f"user {n}", "avatar_url": f"https://img.example.com/{n}", "boss": None} for n in range(1, 31)
    ]


if __name__ == "__main__":
    mcp.run(show_banner=False, log_level="ERROR")
