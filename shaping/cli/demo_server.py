"""A small MCP server to try shaping on: made-up issues as an issue tracker gives them, the same every time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from shaping.settings.files import bundled

if TYPE_CHECKING:
    from fastmcp import FastMCP


def issues(count: int = 12) -> list[dict[str, Any]]:
    """List made-up issues, as wordy as real ones; there are twelve."""
    found: list[dict[str, Any]] = orjson.loads(bundled("config", "demo.json"))
    return found[:count]


def make_server() -> FastMCP[Any]:
    """Make a server with one tool."""
    from fastmcp import FastMCP  # noqa: PLC0415 (an extra)

    server: FastMCP[Any] = FastMCP("forge")

    @server.tool
    def list_issues(count: int = 12) -> dict[str, Any]:
        """List the repository's issues, newest first."""
        return {"total_count": count, "incomplete_results": False, "items": issues(count)}

    return server


if __name__ == "__main__":
    make_server().run(show_banner=False, log_level="CRITICAL")
