"""What was really raised where the SDK's `MCPServer` tells only that a tool crashed."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver.exceptions import UnexpectedResourceError, UnexpectedToolError

if TYPE_CHECKING:
    from collections.abc import Iterator

# The handler that masks runs inside the middleware that must not be told, in one task: the context joins the two.
_HEARD: ContextVar[list[BaseException] | None] = ContextVar("shaping_heard", default=None)
_MASKS = (UnexpectedToolError, UnexpectedResourceError)


@contextmanager
def listening() -> Iterator[list[BaseException]]:
    """Give the list that a crash inside this block ends up in; it stays empty where nothing was masked."""
    heard: list[BaseException] = []
    token = _HEARD.set(heard)
    try:
        yield heard
    finally:
        _HEARD.reset(token)


def overhear(server: Any) -> None:
    """Note each crash of a server's tools before it is masked."""
    call = server.call_tool

    async def call_tool(*arguments: Any, **named: Any) -> Any:
        heard = _HEARD.get()
        if heard is None:
            return await call(*arguments, **named)
        try:
            result = await call(*arguments, **named)
        except _MASKS as mask:
            heard[:] = [_beneath(mask)]
            raise
        except Exception:
            heard.clear()
            raise
        # A tool that called another one and lived with its crash has not crashed.
        heard.clear()
        return result

    vars(server)["call_tool"] = call_tool


def _beneath(mask: BaseException) -> BaseException:
    while isinstance(mask, _MASKS) and mask.__cause__ is not None:
        mask = mask.__cause__
    return mask
