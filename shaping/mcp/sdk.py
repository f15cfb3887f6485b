"""The MCP SDK's servers: one call, and every tool of the server is shaped."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import mcp_types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from shaping.errors import from_exception
from shaping.mcp.adapter import EXPAND, EXPAND_TOOL, Adapter
from shaping.mcp.announce import Announcer
from shaping.mcp.beside import answer, passed_on
from shaping.mcp.crashes import listening, overhear
from shaping.shaper import Shaper

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    from shaping.mcp.sessions import Session

ServerT = TypeVar("ServerT")
_READ = {"resources/read": "uri", "prompts/get": "name"}
_MOST_PAGES = 100  # a server whose list never ends must not keep a call from being made
_OURS = frozenset({"tools/list", "tools/call", *_READ})


def shape_server(
    server: ServerT,
    config: str | PathLike[str] | Mapping[str, Any] | None = None,
    *,
    shaper: Shaper | None = None,
    expand: bool = True,
    mask_errors: bool = False,
) -> ServerT:
    """Shape every tool of a server: the SDK's `MCPServer`, its low-level `Server`, or a FastMCP server.

    `mask_errors` keeps what the SDK's `MCPServer` hides of a tool's crash hidden; else the model reads the coded
    error of what was really raised, without secrets. A FastMCP server has its own setting for that.
    """
    if hasattr(server, "add_middleware"):
        from shaping.mcp.fastmcp import ShapingMiddleware  # noqa: PLC0415 (an extra that SDK servers do not need)

        server.add_middleware(ShapingMiddleware(config, shaper=shaper, expand=expand))
        return server
    adapter = Adapter(shaper or Shaper(config, expandable=expand), expand=expand)
    lowlevel = getattr(server, "_lowlevel_server", server)
    if lowlevel is not server and not mask_errors:
        overhear(server)
    # Last in the list is nearest to the tool: what the SDK seals and traces is what really goes out.
    server.middleware.append(ShapedServer(adapter, lowlevel))  # type: ignore[attr-defined]  # both SDK servers have the list, no base class of theirs says so
    return server


class ShapedServer:
    """The SDK's own kind of middleware, which sees every message in its wire form."""

    def __init__(self, adapter: Adapter, server: Any) -> None:
        self.adapter = adapter
        self.server = server
        self._announcer = Announcer(adapter)

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Shape what passes where it is a list of tools or a tool's result."""
        if ctx.request_id is None or ctx.method not in _OURS:
            return await call_next(ctx)
        if ctx.method in _READ:
            return await self._read(ctx, call_next)
        session = self.adapter.session(ctx.session)
        if self.adapter.refresh(session):
            await ctx.session.send_tool_list_changed()
        self._announcer.look_after()
        if ctx.method == "tools/list":
            return self._list(session, await call_next(ctx))
        return await self._call(session, ctx, call_next)

    async def _read(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Pass a resource or a prompt on without the secrets in it."""
        try:
            result = await call_next(ctx)
        except MCPError as error:
            raise passed_on(error) from None
        name = (ctx.params or {}).get(_READ[ctx.method])
        return answer(self.adapter.shaper, str(name), result) if isinstance(result, dict) else result

    def _list(self, session: Session, result: HandlerResult) -> HandlerResult:
        if not isinstance(result, dict) or "tools" not in result:
            return result
        shown: list[Any] = self.adapter.show(session, result["tools"])
        if self.adapter.expandable and shown and not result.get("nextCursor"):
            shown.append(EXPAND_TOOL)
        return {**result, "tools": shown}

    async def _call(self, session: Session, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        params = dict(ctx.params or {})
        name, given = params.get("name"), params.get("arguments") or {}
        if not isinstance(name, str) or not isinstance(given, dict):
            return await call_next(ctx)
        if name == EXPAND and self.adapter.expandable:
            return _enveloped(self.adapter.expand(session, given), ctx)
        await self._know(session, name, ctx)
        arguments, wishes = self.adapter.wishes(session, given, params.get("_meta"))
        if arguments != given:
            ctx = replace(ctx, params={**params, "arguments": arguments})
        try:
            with listening() as heard:
                result = await call_next(ctx)
        except MCPError as error:
            raise passed_on(error) from None
        except ValidationError:
            raise
        except Exception as error:  # noqa: BLE001 - every failure of a tool is told in one form
            return _enveloped(self._failed(session, name, error), ctx)
        if not isinstance(result, dict):
            return result
        if result.get("isError") and heard:
            return _enveloped(self._failed(session, name, heard[-1]), ctx)
        return self.adapter.finish(session, name, wishes, result)

    def _failed(self, session: Session, name: str, error: BaseException) -> dict[str, Any]:
        table = session.generation.config.errors
        debug = self.adapter.shaper.plan(name, surface="mcp").debug
        return self.adapter.failed(session, name, from_exception(error, table=table, debug=debug))

    async def _know(self, session: Session, name: str, ctx: ServerRequestContext[Any, Any]) -> None:
        """See to it that a tool's schema is known even to a client that calls before it lists."""
        entry = self.server.get_request_handler("tools/list")
        if name in session.tools or entry is None:
            return
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            listing = await entry.handler(ctx, mcp_types.PaginatedRequestParams(cursor=cursor))
            found = [tool for tool in listing.tools if tool.name == name]
            cursor = listing.next_cursor
            if found or cursor is None:
                wire = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in found]
                self.adapter.show(session, wire)
                return


def _enveloped(result: dict[str, Any], ctx: ServerRequestContext[Any, Any]) -> dict[str, Any]:
    """Say that a result of our own is complete, which the newer protocol wants said and the SDK leaves to us."""
    return {**result, "resultType": "complete"} if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else result
