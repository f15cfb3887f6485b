"""A server of the MCP SDK whose answers are shaped: `python examples/sdk_server.py` speaks MCP on its pipes."""

from typing import Any

from mcp.server.mcpserver import MCPServer

from shaping import shape_server

server = MCPServer("staff")


@server.tool()
def list_users(team: str) -> list[dict[str, Any]]:
    """List the people of a team."""
    return [
        {"id": n, "name": f"user {n}", "avatar_url": f"https://img.example.com/{n}", "boss": None} for n in range(1, 31)
    ]


shape_server(server)

if __name__ == "__main__":
    server.run()
