"""A registry as an MCP server: each operation a tool, each answer shaped for the client that reads it."""

import logging
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import orjson
from fastmcp import FastMCP
from fastmcp.tools.base import Tool, ToolResult
from mcp_types import TextContent, ToolAnnotations
from pydantic import Field

from shaping.errors import ErrorDetail, ToolError
from shaping.learning.record import Recorder
from shaping.mcp.fastmcp import ShapingMiddleware
from shaping.operations.access import IdentityResult, resolve_identity
from shaping.operations.registry import Registry
from shaping.operations.spec import Spec, tool_definition
from shaping.proxy.http_limits import SERVER_LIMITS

log = logging.getLogger("shaping")


class OperationTool(Tool):
    """An operation as a tool; the answer goes out whole, and the middleware shapes it."""

    registry: Any = Field(exclude=True, repr=False)
    operation: str = Field(exclude=True)
    identify: Any = Field(exclude=True, repr=False)

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Call the operation and write its answer to both channels; the middleware decides which a client is shown."""
        identity = await resolve_identity(self.identify)
        envelope = await self.registry.execute(self.operation, arguments, identity)
        data, error = envelope.data, envelope.error
        if error is not None and not _says_more(data, error):
            raise ToolError.of(error)
        if error is not None:
            # The body of an HTTP error names the wrong field.
            beside, text = data if isinstance(data, dict) else {"body": data}, f"{error.code}: {error.message}"
            return ToolResult([TextContent(type="text", text=text)], beside, is_error=True)
        warnings = [str(warned) for warned in envelope.warnings]
        text = data if isinstance(data, str) else orjson.dumps(data, default=str).decode()
        return ToolResult(
            [TextContent(type="text", text=text)],
            data if isinstance(data, dict) else None,
            meta={"warnings": warnings} if warnings else None,
        )


def _says_more(data: Any, error: ErrorDetail) -> bool:
    """Return whether the data of a failed call says more than the error's message."""
    values = [*data.values()] if isinstance(data, dict) else data
    return isinstance(values, list) and any(str(value) not in error.message for value in values)


def mcp_server(
    registry: Registry,
    specs: Sequence[Spec] | None = None,
    *,
    name: str = "shaping",
    identify: Callable[[], IdentityResult] | None = None,
    expand: bool = True,
    typed: bool = False,
    recorder: Recorder | None = None,
) -> FastMCP[Any]:
    """Make a FastMCP server of a registry's operations; subscriptions have no form in the protocol and are left out."""
    shaped = ShapingMiddleware(shaper=registry.shaper, expand=expand, recorder=recorder)
    server: FastMCP[Any] = FastMCP(name, version=version("shaping"), middleware=[shaped])
    chosen = registry.list() if specs is None else specs
    streams = [spec.id for spec in chosen if spec.type == "subscription"]
    if streams:
        log.warning("MCP has no form for subscriptions; not served: %s", ", ".join(streams))
    for spec in chosen:
        if spec.type != "subscription":
            listed = tool_definition(spec)
            tool = OperationTool(
                name=listed["name"],
                description=listed["description"],
                parameters=listed["inputSchema"],
                output_schema=spec.output.json if typed and spec.output.json.get("type") == "object" else None,
                annotations=ToolAnnotations(read_only_hint=spec.type == "query"),
                registry=registry,
                operation=spec.id,
                identify=identify,
            )
            server.add_tool(tool)
    return server


def run_http(server: FastMCP, host: str, port: int) -> None:
    """Serve an MCP server over HTTP until a signal comes."""
    server.run(
        "http",
        show_banner=False,
        host=host,
        port=port,
        # Not "auto": a page in a browser must not reach a server only because it is bound to more than loopback.
        host_origin_protection=True,
        uvicorn_config={**SERVER_LIMITS, "timeout_graceful_shutdown": 0},
    )
