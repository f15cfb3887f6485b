"""How a failed tool tells its MCP framework: by the framework's own error, with the coded envelope as its text."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any, NoReturn

import orjson

if TYPE_CHECKING:
    from types import FrameType

    from shaping.surfaces.decorator import Tool

_SDK = "mcp.server.mcpserver"


def hand_over_error(envelope: Any, error: Exception, tool: Tool) -> Any:
    """Return the error envelope, or raise or return what the surrounding framework takes for an error."""
    if _is_protocol_error(error):
        raise error
    if _inside_fastmcp():
        _raise_in_fastmcp(envelope, error)
    if _inside_sdk(tool):
        return _sdk_result(envelope)
    return envelope


def asks_for_signature(frame: FrameType | None) -> bool:
    """Whether the SDK is reading a signature, which it does to register a tool."""
    return _called_from(frame, _SDK, within=8)


def _is_protocol_error(error: Exception) -> bool:
    """Say whether the error answers the protocol, not the model: frameworks make a JSON-RPC error of it themselves."""
    module = sys.modules.get("mcp.shared.exceptions")
    return module is not None and isinstance(error, module.MCPError)


def _inside_fastmcp() -> bool:
    module = sys.modules.get("fastmcp.server.context")
    return module is not None and module._current_context.get() is not None  # noqa: SLF001 (the public getter raises)


def _raise_in_fastmcp(envelope: Any, error: Exception) -> NoReturn:
    from fastmcp.exceptions import ToolError  # noqa: PLC0415 (an extra; imported where it is known to be there)

    raise ToolError(_text(envelope)) from error


def _inside_sdk(tool: Tool) -> bool:
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
