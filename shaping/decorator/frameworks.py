"""How a failed tool tells its MCP framework: by the framework's own error, with the coded envelope as its text."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import orjson

from shaping.errors import ToolError
from shaping.response import required

if TYPE_CHECKING:
    from types import FrameType

    from shaping.decorator.tool import Tool
    from shaping.response import Shaped

_SDK, _FASTMCP = "mcp.server.mcpserver", "fastmcp.tools"
_DECORATOR = "shaping.decorator.shape"
_CALLS = frozenset({"call", "_awaited"})


def hand_over(shaped: Shaped, error: Exception | None, tool: Tool) -> Any:
    """Raise, or return, what the surrounding framework takes for an error; None where the envelope itself will do."""
    if error is not None and _is_protocol_error(error):
        raise error
    if not nested(sys._getframe()):  # noqa: SLF001 (inspect's way is a hundred times slower)
        _log_fault(shaped, error, tool)
        if inside_fastmcp():
            _raise_in_fastmcp(_told(shaped), error)
        if inside_sdk(tool) and not tool.yields:
            return _sdk_result(_told(shaped))
    if shaped.plan.dialect == "none":
        # Bare data has no place for an error: Python's own way to tell of one is left.
        raise _coded(shaped, error) from error
    return None


def _log_fault(shaped: Shaped, error: Exception | None, tool: Tool) -> None:
    """Tell whoever runs the tool where its code is at fault: its caller is told only that it is."""
    if error is None or isinstance(error, ToolError):
        return
    if required(shaped.envelope.error).code == "INTERNAL_ERROR":
        from shaping.cleaning.failsafe import log_fault  # noqa: PLC0415 (only a tool with a fault needs it)

        log_fault("%r failed with %s\n%s", tool.name, error)


def _told(shaped: Shaped) -> Any:
    """Give the coded envelope; where the dialect is the data alone, in the lean one."""
    plan = shaped.plan
    if plan.dialect != "none":
        return shaped.value
    return shaped.envelope.render("lean", include=plan.envelope, debug=plan.debug)


def _coded(shaped: Shaped, error: Exception | None) -> ToolError:
    return error if isinstance(error, ToolError) else ToolError.of(required(shaped.envelope.error))


def nested(frame: FrameType | None) -> bool:
    """Whether another decorated tool is calling this one: then the outer one hands over."""
    calls = 0
    while frame is not None and calls < 2:
        calls += frame.f_globals.get("__name__") == _DECORATOR and frame.f_code.co_name in _CALLS
        frame = frame.f_back
    return calls > 1


def reader_of_signature(frame: FrameType | None) -> Literal["sdk", "fastmcp"] | None:
    """Say which framework is reading a signature, which it does to register a tool."""
    if _called_from(frame, _SDK, within=8):
        return "sdk"
    return "fastmcp" if _called_from(frame, _FASTMCP, within=8) else None


def _is_protocol_error(error: Exception) -> bool:
    """Say whether the error answers the protocol, not the model: frameworks make a JSON-RPC error of it themselves."""
    module = sys.modules.get("mcp.shared.exceptions")
    return module is not None and isinstance(error, module.MCPError)


def inside_fastmcp() -> bool:
    """Say whether FastMCP is making a call."""
    module = sys.modules.get("fastmcp.server.context")
    return module is not None and module._current_context.get() is not None  # noqa: SLF001 (the public getter raises)


def _raise_in_fastmcp(envelope: Any, error: Exception | None) -> NoReturn:
    from fastmcp.exceptions import ToolError as Told  # noqa: PLC0415 (an extra; imported where it is known to be there)

    raise Told(_text(envelope)) from error


def inside_sdk(tool: Tool) -> bool:
    """Look for the SDK: on the stack, where it awaits async tools; or by the worker thread, where it runs sync ones."""
    if _SDK not in sys.modules:
        return False
    if _called_from(sys._getframe(), _SDK, within=64):  # noqa: SLF001 (inspect's way is a hundred times slower)
        return True
    return tool.under_mcp_sdk and type(threading.current_thread()).__module__.startswith("anyio.")


def _sdk_result(envelope: Any) -> Any:
    # Raised, the SDK would put its own words before the envelope, and no program could parse it.
    from mcp_types import CallToolResult, TextContent  # noqa: PLC0415 (an extra; imported where it is known to be there)

    return CallToolResult(content=[TextContent(type="text", text=_text(envelope))], is_error=True)


def _called_from(frame: FrameType | None, package: str, *, within: int) -> bool:
    for _ in range(within):
        if frame is None:
            return False
        if frame.f_globals.get("__name__", "").startswith(package):
            return True
        frame = frame.f_back
    return False


def _text(envelope: Any) -> str:
    return orjson.dumps(envelope).decode()
