"""The tools of a server, asked for directly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp_types

from shaping.proxy.former.front import Front

if TYPE_CHECKING:
    from shaping.proxy.former.backend import Backend

_OURSELVES = Front(
    "listing",
    modern=False,
    info=mcp_types.Implementation(name="shaping", version="1"),
    capabilities=mcp_types.ClientCapabilities(),
)


async def list_tools(backend: Backend) -> list[dict[str, Any]]:
    """Connect to a server, list its tools in their wire form, and leave."""
    try:
        link = await backend.link(_OURSELVES)
        tools = await link.client.list_tools()
        return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    finally:
        await backend.close()
