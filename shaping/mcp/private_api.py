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


async def send_raw(session: Any, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send a request of a client and return its result as it came: the SDK's own calls refuse unknown blocks.

    `ClientSession` stamps the protocol version onto a message, then sends it.
    """
    message: dict[str, Any] = {"method": method, "params": params}
    options: dict[str, Any] = {}
    session._stamp(message, options)  # noqa: SLF001 (see above)
    result: dict[str, Any] = await session._dispatcher.send_raw_request(method, message["params"], options)  # noqa: SLF001 (see above)
    return result
