"""A registry as an MCP server: each operation a tool, each answer shaped for the client that reads it."""

from __future__ import annotations

import logging
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import orjson
from fastmcp import FastMCP
from fastmcp.tools.base import Tool, ToolResult
from mcp_types import TextContent, ToolAnnotations
from pydantic import Field

from shaping.errors import ErrorDetail, ToolError
from shaping.mcp.fastmcp import ShapingMiddleware
from shaping.operations.access import IdentityResult, resolve_identity
from shaping.operations.spec import Spec, tool_definition

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shaping.envelope import Envelope
    from shaping.learning.record import Recorder
    from shaping.operations.registry import Registry

log = logging.getLogger("shaping")


class OperationTool(Tool):
    """An operation as a tool; the answer goes out whole, and the middleware shapes it."""

    registry: Any = Field(exclude=True, repr=False)
    operation: str = Field(exclude=True)
    identify: Any = Field(exclude=True, repr=False)

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Call the operation."""
        identity = await resolve_identity(self.identify)
        envelope = await self.registry.execute(self.operation, arguments, identity)
        if envelope.error is None:
            return result_of(envelope)
        if _says_more(envelope.data, envelope.error):
            return failed_result(envelope.error, envelope.data)
        raise ToolError.of(envelope.error)


def result_of(envelope: Envelope[Any]) -> ToolResult:
    """Write an answer as both channels; which of them a client is shown is decided later."""
    data = envelope.data
    text = data if isinstance(data, str) else orjson.dumps(data, default=str).decode()
    warnings = [str(warned) for warned in envelope.warnings]
    return ToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=data if isinstance(data, dict) else None,
        meta={"warnings": warnings} if warnings else None,
    )


def failed_result(error: ErrorDetail, data: Any) -> ToolResult:
    """Write an error with the data that came with it: the body of an HTTP error names the wrong field."""
    text = f"{error.code}: {error.message}"
    beside = data if isinstance(data, dict) else {"body": data}
    return ToolResult(content=[TextContent(type="text", text=text)], structured_content=beside, is_error=True)


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
            server.add_tool(_tool(registry, spec, identify, typed=typed))
    return server


def _tool(
    registry: Registry, spec: Spec, identify: Callable[[], IdentityResult] | None, *, typed: bool
) -> OperationTool:
    output = spec.output.json if typed and spec.output.json.get("type") == "object" else None
    listed = tool_definition(spec)
    return OperationTool(
        name=listed["name"],
        description=listed["description"],
        parameters=listed["inputSchema"],
        output_schema=output,
        annotations=ToolAnnotations(read_only_hint=spec.type == "query"),
        registry=registry,
        operation=spec.id,
        identify=identify,
    )
