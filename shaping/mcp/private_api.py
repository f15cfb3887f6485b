"""The private API of others that has no public equivalent; tests/mcp/test_private_api.py fails when it moves.

Checked against mcp 2.3.0; the upper pin in pyproject.toml is the next major version.
"""

from __future__ import annotations

from typing import Any


def connection_of(session: Any) -> Any:
    """Return the connection of an SDK server session, which lives as long as its client stays."""
    return getattr(session, "_connection", None)


def lowlevel_server(server: Any) -> Any:
    """Return the low-level server inside an `MCPServer`, or the server itself where it is one."""
    return getattr(server, "_lowlevel_server", server)
