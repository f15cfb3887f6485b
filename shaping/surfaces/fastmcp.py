"""FastMCP: one middleware, and every tool of the server is shaped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp_types
from fastmcp.exceptions import NotFoundError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import InputRequiredToolResult, Tool, ToolResult
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter

from shaping.shaper import Shaper
from shaping.surfaces import faults
from shaping.surfaces.adapter import EXPAND, EXPAND_TOOL, Adapter
from shaping.surfaces.announce import Announcer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from fastmcp import Context

    from shaping.surfaces.sessions import Session

_CONTENT: TypeAdapter[list[mcp_types.ContentBlock]] = TypeAdapter(list[mcp_types.ContentBlock])


class ShapingMiddleware(Middleware):
    """Shapes what the tools of a FastMCP server return, and shows clients the schema of what is really sent."""

    def __init__(
        self,
        config: str | PathLike[str] | Mapping[str, Any] | None = None,
        *,
        shaper: Shaper | None = None,
        expand: bool = True,
    ) -> None:
        self.adapter = Adapter(shaper or Shaper(config, expandable=expand), expand=expand)
        self._announcer = Announcer(self.adapter)

    async def on_list_tools(
        self,
        context: MiddlewareContext[mcp_types.ListToolsRequest],
        call_next: CallNext[mcp_types.ListToolsRequest, Sequence[Tool]],
    ) -> Sequence[Tool]:
        """Show each tool as this client's session knows it."""
        tools = await call_next(context)
        session = await self._session(context.fastmcp_context)
        if session is None:
            return tools
        shown = {wire["name"]: wire for wire in self.adapter.show(session, [_wire_tool(tool) for tool in tools])}
        listed = [_as_shown(tool, shown[tool.name]) for tool in tools if tool.name in shown]
        return [*listed, _EXPAND] if self.adapter.expandable and listed else listed

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Call the tool without what was meant for us, and shape its result."""
        session = await self._session(context.fastmcp_context)
        if session is None:
            return await call_next(context)
        name, given = context.message.name, context.message.arguments or {}
        if name == EXPAND and self.adapter.expandable:
            return _tool_result(self.adapter.expand(session, given))
        arguments, wishes = self.adapter.wishes(session, given, _request_meta(context.fastmcp_context))
        message = context.message.model_copy(update={"arguments": arguments})
        try:
            await self._know(session, name, context.fastmcp_context)
            result = await call_next(context.copy(message=message))
        except Exception as error:  # noqa: BLE001 - every failure of a tool is told in one form
            return _tool_result(self._failed(session, name, error))
        # A question back to the user, or an extension's promise to answer later, is not ours to touch.
        if type(result) is InputRequiredToolResult or not hasattr(result, "structured_content"):
            return result
        return _tool_result(self.adapter.finish(session, name, wishes, _wire_result(result)))

    async def _session(self, context: Context | None) -> Session | None:
        # A server calls its own tools without a client too; then there is nobody to shape for.
        if context is None or context.request_context is None:
            return None
        session = self.adapter.session(context.session)
        if self.adapter.refresh(session):
            await context.session.send_tool_list_changed()
        self._announcer.look_after()
        return session

    async def _know(self, session: Session, name: str, context: Context | None) -> None:
        """See to it that a tool's schema is known even to a client that calls before it lists."""
        if name in session.tools:
            return
        if self.adapter.dropped(session, name):
            raise NotFoundError(f"Unknown tool: {name!r}")
        tool = None if context is None else await context.fastmcp.get_tool(name)
        if tool is not None:
            self.adapter.show(session, [_wire_tool(tool)])

    def _failed(self, session: Session, name: str, error: Exception) -> dict[str, Any]:
        cause = error if isinstance(error, MCPError) else error.__cause__
        if isinstance(cause, MCPError):
            detail = getattr(cause, "detail", None)
            if detail is None:
                # An answer to the protocol, not to the model.
                raise cause
            return self.adapter.failed(session, name, detail)
        if isinstance(error, NotFoundError):
            return self.adapter.failed(session, name, faults.of_text(str(error), name, session.tools))
        table = session.generation.config.errors
        debug = self.adapter.shaper.plan(name, surface="mcp").debug
        return self.adapter.failed(session, name, faults.of_exception(error, table, debug=debug))


def _request_meta(context: Context | None) -> Mapping[str, Any] | None:
    request = context.request_context if context is not None else None
    return request.meta if request is not None else None


def _wire_tool(tool: Tool) -> dict[str, Any]:
    wire = {"name": tool.name, "description": tool.description, "inputSchema": tool.parameters}
    return wire if tool.output_schema is None else {**wire, "outputSchema": tool.output_schema}


def _as_shown(tool: Tool, wire: Mapping[str, Any]) -> Tool:
    update = {
        "description": wire.get("description"),
        "parameters": wire["inputSchema"],
        "output_schema": wire.get("outputSchema"),
    }
    return tool.model_copy(update=update)


def _wire_result(result: ToolResult) -> dict[str, Any]:
    wire: dict[str, Any] = {
        "content": [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in result.content]
    }
    if result.structured_content is not None:
        wire["structuredContent"] = result.structured_content
    if result.is_error:
        wire["isError"] = True
    if result.meta is not None:
        wire["_meta"] = result.meta
    return wire


def _tool_result(wire: Mapping[str, Any]) -> ToolResult:
    # Built without a second pass over the data: it has just been made plain.
    return ToolResult.model_construct(
        content=_CONTENT.validate_python(wire["content"]),
        structured_content=wire.get("structuredContent"),
        meta=wire.get("_meta"),
        is_error=wire.get("isError", False),
    )


_EXPAND = Tool(name=EXPAND_TOOL["name"], description=EXPAND_TOOL["description"], parameters=EXPAND_TOOL["inputSchema"])
