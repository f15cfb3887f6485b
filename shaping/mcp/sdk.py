"""The MCP SDK's servers: one call, and every tool of the server is shaped."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import mcp_types
from mcp.server.mcpserver.exceptions import UnexpectedResourceError, UnexpectedToolError
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from shaping.mcp.errors import error_text
from shaping.mcp.mcp_shaper import MCPShaper, open_mcp_shaper
from shaping.response import CallNotes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    from shaping.learning.record import Recorder
    from shaping.mcp.sessions import Session, ToolRequest
    from shaping.shaper import Shaper

ServerT = TypeVar("ServerT")
# The handler that masks a crash runs inside the middleware that wants to know of it, in one task.
_CRASHES: ContextVar[list[BaseException] | None] = ContextVar("shaping_crashes", default=None)
_MASKS = (UnexpectedToolError, UnexpectedResourceError)
_READ = frozenset({"resources/read", "prompts/get"})
_MOST_PAGES = 100  # a server whose list never ends must not keep a call from being made
_TOOLS = frozenset({"tools/list", "tools/call"})


def shape_server(
    server: ServerT,
    config: str | PathLike[str] | Mapping[str, Any] | None = None,
    *,
    shaper: Shaper | None = None,
    expand: bool = True,
    mask_errors: bool = False,
    recorder: Recorder | None = None,
) -> ServerT:
    """Shape every tool of a server: the SDK's `MCPServer`, its low-level `Server`, or a FastMCP server.

    `mask_errors` keeps what the SDK's `MCPServer` hides of a tool's crash hidden; else the model reads the coded
    error of what was really raised, without secrets. A FastMCP server has its own setting for that. `recorder` keeps
    what the tools answer.
    """
    if hasattr(server, "add_middleware"):
        from shaping.mcp.fastmcp import ShapingMiddleware  # noqa: PLC0415 (an extra that SDK servers do not need)

        server.add_middleware(ShapingMiddleware(config, shaper=shaper, expand=expand, recorder=recorder))
        return server
    lowlevel = lowlevel_server(server)
    mcp_shaper = open_mcp_shaper(config, shaper=shaper, expand=expand, recorder=recorder)
    if lowlevel is not server and not mask_errors:
        _record_crashes(server)
    # Last in the list is nearest to the tool: what the SDK seals and traces is what really goes out.
    server.middleware.append(ShapedServer(mcp_shaper, lowlevel))  # type: ignore[attr-defined]  # both SDK servers have the list, no base class of theirs says so
    return server


def lowlevel_server(server: Any) -> Any:
    """Return the low-level server inside an `MCPServer`, or the server itself where it is one.

    It is private API of the SDK, as of mcp 2.3.0; tests/mcp/test_private_api.py fails when it moves.
    """
    return getattr(server, "_lowlevel_server", server)


class ShapedServer:
    """The SDK's own kind of middleware, which sees every message in its wire form."""

    def __init__(self, mcp_shaper: MCPShaper, server: Any) -> None:
        self.mcp_shaper = mcp_shaper
        self.server = server

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Shape tools and their results, and take the secrets out of every other answer of the server."""
        if ctx.request_id is None:
            return await call_next(ctx)
        if ctx.method in _READ:
            return await self._read(ctx, call_next)
        if ctx.method not in _TOOLS:
            answer = await call_next(ctx)
            return self.mcp_shaper.protection.protect(answer, ctx.method) if isinstance(answer, dict) else answer
        session = await self.mcp_shaper.open_session(ctx.session)
        if ctx.method == "tools/call":
            return await self._call(session, ctx, call_next)
        result = await call_next(ctx)
        if isinstance(result, dict):
            return self.mcp_shaper.list_result(session, result, lambda _: self.server.name)
        return result

    async def _read(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Pass a resource or a prompt on without the secrets in it."""
        asked = str((ctx.params or {}).get("uri" if ctx.method == "resources/read" else "name"))
        name = self.mcp_shaper.name_of(ctx.method, asked, self.server.name)
        try:
            result = await call_next(ctx)
        except MCPError as error:
            raise self.mcp_shaper.protection.protocol_error(error, name) from None
        if not isinstance(result, dict):
            return result
        return self.mcp_shaper.protection.resource_or_prompt(name, result, asked)

    async def _call(self, session: Session, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        params = dict(ctx.params or {})
        name, given = params.get("name"), params.get("arguments") or {}
        if not isinstance(name, str) or not isinstance(given, dict):
            return await call_next(ctx)
        await self._know(session, name, ctx)
        asked, called = self.mcp_shaper.take_call(session, params, self.server.name)
        if self.mcp_shaper.is_own(session, called):
            return _enveloped(self.mcp_shaper.own_answer(session, called), ctx)
        if asked is not params:
            ctx = replace(ctx, params=asked)
        notes = CallNotes()
        try:
            with notes, _crashes() as crashes:
                result = await call_next(ctx)
        except MCPError as error:
            full_name = self.mcp_shaper.full_name(name, self.server.name)
            raise self.mcp_shaper.protection.protocol_error(error, full_name) from None
        except ValidationError:
            raise
        except Exception as error:  # noqa: BLE001 - every failure of a tool is told in one form
            return _enveloped(self._failed(session, called, error, notes.about(), error_text(error)), ctx)
        if not isinstance(result, dict):
            return result
        if result.get("isError") and crashes:
            return _enveloped(self._failed(session, called, crashes[-1], notes.about(), result), ctx)
        return self.mcp_shaper.shape_result(session, called, result, **notes.about())

    def _failed(
        self, session: Session, called: ToolRequest, error: BaseException, about: dict[str, Any], raw: Mapping[str, Any]
    ) -> dict[str, Any]:
        detail = self.mcp_shaper.describe_error(called, error)
        return self.mcp_shaper.error_result(session, called, detail, raised=error, raw=raw, **about)

    async def _know(self, session: Session, name: str, ctx: ServerRequestContext[Any, Any]) -> None:
        """Make a tool's schema known even for a client that calls before it lists."""
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
                self.mcp_shaper.list_tools(session, wire, lambda _: self.server.name)
                return


def _enveloped(result: dict[str, Any], ctx: ServerRequestContext[Any, Any]) -> dict[str, Any]:
    """Mark a result of our own as complete, which the newer protocol requires and the SDK leaves to us."""
    return {**result, "resultType": "complete"} if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else result


@contextmanager
def _crashes() -> Iterator[list[BaseException]]:
    """Return the list in which a crash inside this block is recorded; it stays empty where nothing was masked."""
    recorded: list[BaseException] = []
    token = _CRASHES.set(recorded)
    try:
        yield recorded
    finally:
        _CRASHES.reset(token)


def _record_crashes(server: Any) -> None:
    """Record what a server's tools really raise, before `MCPServer` masks it."""
    call = server.call_tool

    async def call_tool(*arguments: Any, **named: Any) -> Any:
        recorded = _CRASHES.get()
        if recorded is None:
            return await call(*arguments, **named)
        try:
            result = await call(*arguments, **named)
        except _MASKS as mask:
            recorded[:] = [_cause_of(mask)]
            raise
        except Exception:
            recorded.clear()
            raise
        # A tool that called another one and lived with its crash has not crashed.
        recorded.clear()
        return result

    vars(server)["call_tool"] = call_tool


def _cause_of(mask: BaseException) -> BaseException:
    while isinstance(mask, _MASKS) and mask.__cause__ is not None:
        mask = mask.__cause__
    return mask
