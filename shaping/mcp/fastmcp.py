"""FastMCP: one middleware, and every tool of the server is shaped."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import mcp_types
from fastmcp.exceptions import NotFoundError
from fastmcp.prompts.base import Message, PromptResult
from fastmcp.resources.base import ResourceContent, ResourceResult
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import InputRequiredToolResult, Tool, ToolResult
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, TypeAdapter

from shaping.mcp.errors import error_from_exception, error_from_text, error_text, exception_of_tool
from shaping.mcp.mcp_shaper import open_mcp_shaper
from shaping.response import CallNotes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from fastmcp import Context

    from shaping.learning.record import Recorder
    from shaping.mcp.server_messages import MessageProtection
    from shaping.mcp.sessions import Session, ToolRequest
    from shaping.shaper import Shaper

AskedT = TypeVar("AskedT")
ResultT = TypeVar("ResultT")
_WORDS = ("title", "description", "instructions", "meta")
_CONTENT: TypeAdapter[list[mcp_types.ContentBlock]] = TypeAdapter(list[mcp_types.ContentBlock])


class ShapingMiddleware(Middleware):
    """Shapes what the tools of a FastMCP server return, and shows clients the schema of what is really sent."""

    def __init__(
        self,
        config: str | PathLike[str] | Mapping[str, Any] | None = None,
        *,
        shaper: Shaper | None = None,
        expand: bool = True,
        recorder: Recorder | None = None,
    ) -> None:
        """Make the middleware; `recorder` keeps what the tools answer, for `shaping suggest`."""
        self.mcp_shaper = open_mcp_shaper(config, shaper=shaper, expand=expand, recorder=recorder)

    async def on_list_tools(
        self,
        context: MiddlewareContext[mcp_types.ListToolsRequest],
        call_next: CallNext[mcp_types.ListToolsRequest, Sequence[Tool]],
    ) -> Sequence[Tool]:
        """List each tool as this client's session knows it."""
        tools = await call_next(context)
        session = await self._session(context.fastmcp_context)
        if session is None:
            return tools
        known = {tool.name: tool for tool in tools}
        wire = {"tools": [_wire_tool(tool) for tool in tools]}
        shown = self.mcp_shaper.list_result(session, wire, lambda _: _server_name(context))["tools"]
        return [_as_shown(known[one["name"]], one) if one["name"] in known else _expand_tool(one) for one in shown]

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Call the tool without what was meant for us, and shape its result."""
        session = await self._session(context.fastmcp_context)
        if session is None:
            return await call_next(context)
        name, server = context.message.name, _server_name(context)
        await self._know(session, name, context)
        given = {"name": name, "arguments": context.message.arguments or {}, "_meta": _request_meta(context)}
        params, called = self.mcp_shaper.take_call(session, given, server)
        if self.mcp_shaper.is_own(session, called):
            return tool_result(self.mcp_shaper.own_answer(session, called))
        message = context.message.model_copy(update={"arguments": params["arguments"]})
        notes = CallNotes()
        try:
            with notes:
                result = await call_next(context.copy(message=message))
        except Exception as error:  # noqa: BLE001 - every failure of a tool is told in one form
            return tool_result(self._failed(session, called, error, notes.about()))
        # A question back to the user, or an extension's promise to answer later, is not ours to touch.
        if type(result) is InputRequiredToolResult or not hasattr(result, "structured_content"):
            return result
        return tool_result(self.mcp_shaper.shape_result(session, called, wire_result(result), **notes.about()))

    async def on_list_resources(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """List resources without the secrets in what is said of them."""
        return [self._described(one) for one in await call_next(context)]

    on_list_resource_templates = on_list_resources
    on_list_prompts = on_list_resources

    async def on_initialize(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """Introduce the server without the secrets in its instructions."""
        return self._described(await call_next(context))

    on_discover = on_initialize

    async def on_request(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """Pass completions on without the secrets in them; every other answer has a hook of its own."""
        answer = await call_next(context)
        if context.method != "completion/complete":
            return answer
        model = isinstance(answer, BaseModel)
        said = answer.model_dump(mode="json", by_alias=True, exclude_none=True) if model else answer
        clean = self.mcp_shaper.protection.protect(said)
        return answer if clean is said else type(answer).model_validate(clean) if model else clean

    def _described(self, described: Any) -> Any:
        """Return a resource, a template, a prompt or a handshake without secrets in its words and `_meta`."""
        said = {name: found for name in _WORDS if (found := getattr(described, name, None)) is not None}
        clean = self.mcp_shaper.protection.protect(said, "initialize")
        return described if clean is said else described.model_copy(update=clean)

    async def on_read_resource(
        self,
        context: MiddlewareContext[mcp_types.ReadResourceRequestParams],
        call_next: CallNext[mcp_types.ReadResourceRequestParams, ResourceResult],
    ) -> ResourceResult:
        """Pass a resource on without the secrets in it."""
        name = self._name_of("resources/read", str(context.message.uri), context)
        result = await self._asked(call_next, context, name)
        if not isinstance(result, ResourceResult):
            return result
        return result.model_copy(update={"contents": _read(self.mcp_shaper.protection, name, result.contents)})

    async def on_get_prompt(
        self,
        context: MiddlewareContext[mcp_types.GetPromptRequestParams],
        call_next: CallNext[mcp_types.GetPromptRequestParams, PromptResult],
    ) -> PromptResult:
        """Pass a prompt on without the secrets in it."""
        name = self._name_of("prompts/get", context.message.name, context)
        result = await self._asked(call_next, context, name)
        if not isinstance(result, PromptResult):
            return result
        return result.model_copy(update={"messages": _said(self.mcp_shaper.protection, name, result.messages)})

    def _name_of(self, method: str, name: str, context: MiddlewareContext[Any]) -> str:
        return self.mcp_shaper.name_of(method, name, _server_name(context))

    async def _asked(
        self, call_next: CallNext[AskedT, ResultT], context: MiddlewareContext[AskedT], name: str
    ) -> ResultT:
        try:
            return await call_next(context)
        except MCPError as error:
            raise self.mcp_shaper.protection.protocol_error(error, name) from None

    async def _session(self, context: Context | None) -> Session | None:
        # A server calls its own tools without a client too; then there is nobody to shape for.
        if context is None or context.request_context is None:
            return None
        return await self.mcp_shaper.open_session(context.session)

    async def _know(self, session: Session, name: str, context: MiddlewareContext[Any]) -> None:
        """Make a tool's schema known even for a client that calls before it lists."""
        server, called = _server_name(context), context.fastmcp_context
        if name in session.tools or called is None or self.mcp_shaper.is_hidden(session, name, server):
            return
        with suppress(NotFoundError):
            tool = await called.fastmcp.get_tool(name)
            if tool is not None:
                self.mcp_shaper.list_tools(session, [_wire_tool(tool)], lambda _: server)

    def _failed(self, session: Session, called: ToolRequest, error: Exception, about: dict[str, Any]) -> dict[str, Any]:
        # Under @shape the framework's exception holds an envelope, and its cause the words of the tool.
        raised = exception_of_tool(error) if str(error).startswith("{") else error
        cause = error if isinstance(error, MCPError) else error.__cause__
        if isinstance(cause, MCPError):
            detail = getattr(cause, "detail", None)
            if detail is None:
                # An answer to the protocol, not to the model.
                full_name = self.mcp_shaper.full_name(called.name, called.server)
                raise self.mcp_shaper.protection.protocol_error(cause, full_name)
        elif isinstance(error, NotFoundError):
            detail = error_from_text(str(error), called.name, session.tools)
        else:
            detail = self.mcp_shaper.describe_error(called, error, error_from_exception)
        return self.mcp_shaper.error_result(session, called, detail, raised=raised, raw=error_text(error), **about)


def _read(protection: MessageProtection, name: str, contents: list[ResourceContent]) -> list[ResourceContent]:
    wire = [
        ({} if isinstance(one.content, bytes) else {"text": one.content}) | ({"_meta": one.meta} if one.meta else {})
        for one in contents
    ]
    clean = protection.resource_or_prompt(name, {"contents": wire})["contents"]
    return [
        one.model_copy(update={"content": said.get("text", one.content), "meta": said.get("_meta")})
        for one, said in zip(contents, clean, strict=True)
    ]


def _said(protection: MessageProtection, name: str, messages: list[Message]) -> list[Message]:
    blocks = [one.content.model_dump(mode="json", by_alias=True, exclude_none=True) for one in messages]
    clean = protection.resource_or_prompt(name, {"messages": [{"content": block} for block in blocks]})["messages"]
    return [
        one.model_copy(update={"content": _CONTENT.validate_python([said["content"]])[0]})
        for one, said in zip(messages, clean, strict=True)
    ]


def _server_name(context: MiddlewareContext[Any]) -> str:
    return context.fastmcp_context.fastmcp.name if context.fastmcp_context is not None else ""


def _request_meta(context: MiddlewareContext[Any]) -> dict[str, Any]:
    called = context.fastmcp_context
    request = called.request_context if called is not None else None
    return dict(request.meta or {}) if request is not None else {}


def _wire_tool(tool: Tool) -> dict[str, Any]:
    wire: dict[str, Any] = {"name": tool.name, "description": tool.description, "inputSchema": tool.parameters}
    if tool.output_schema is not None:
        wire["outputSchema"] = tool.output_schema
    if tool.meta:
        wire["_meta"] = tool.meta
    return wire


def _as_shown(tool: Tool, wire: Mapping[str, Any]) -> Tool:
    update = {
        "description": wire.get("description"),
        "parameters": wire["inputSchema"],
        "output_schema": wire.get("outputSchema"),
        "meta": wire.get("_meta"),
    }
    return tool.model_copy(update=update)


def wire_result(result: ToolResult) -> dict[str, Any]:
    """Write a result as it stands on the wire."""
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


def tool_result(wire: Mapping[str, Any]) -> ToolResult:
    """Read a result from its wire form."""
    # Built without a second pass over the data: it has just been made plain.
    return ToolResult.model_construct(
        content=_CONTENT.validate_python(wire["content"]),
        structured_content=wire.get("structuredContent"),
        meta=wire.get("_meta"),
        is_error=wire.get("isError", False),
    )


def _expand_tool(wire: Mapping[str, Any]) -> Tool:
    return Tool(
        name=wire["name"], description=wire["description"], parameters=wire["inputSchema"], meta=wire.get("_meta")
    )
