"""The frameworks around a decorated function: MCP requests, agents' control flow, content that a client is sent."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any, NoReturn, get_args

import orjson

from shaping.cleaning import log_fault
from shaping.errors import ToolError
from shaping.response import TOOL_WARNING, required
from shaping.settings.context import note

if TYPE_CHECKING:
    from shaping.decorator import DecoratedTool
    from shaping.response import Shaped

logger = logging.getLogger("shaping")
_SDK = "mcp.server.mcpserver"
# Packages whose exceptions steer an agent (interrupts, retries, approvals) and whose result objects only they can read.
_AGENTS = frozenset({
    "ag2", "agent_framework", "agents", "agno", "autogen", "autogen_agentchat", "autogen_core", "claude_agent_sdk",
    "crewai", "langchain", "langchain_core", "langgraph", "llama_index", "pydantic_ai", "smolagents",
    "strands",
})  # fmt: skip
_MCP = frozenset({"mcp", "mcp_types", "fastmcp"})
_OBJECTS = ("PIL.", "google.genai.")  # pictures and parts of messages, which no agent framework defines itself
_BLOCKS = frozenset({"TextContent", "ImageContent", "AudioContent", "EmbeddedResource", "ResourceLink"})
_KINDS = _BLOCKS | {"Image", "Audio", "File", "ToolResult", "CallToolResult"}
_MOST = 100  # elements of a list that is looked through: nobody returns more pictures at once


def is_control_flow(error: Exception) -> bool:
    """Return whether an exception is an agent framework's own: it must reach that framework as it is."""
    return any(_is_of_agents(kind) for kind in type(error).__mro__)


def is_foreign(result: Any) -> bool:
    """Return whether a result is, or is a list with, an object that only an agent framework can read, or a picture."""
    kinds = {type(result)}
    if isinstance(result, list | tuple) and len(result) <= _MOST:
        kinds.update(map(type, result))
    known = next((kind for kind in kinds if _is_of_agents(kind) or kind.__module__.startswith(_OBJECTS)), None)
    if known is None and not _is_of_strands(result):
        return False
    kind = known or type(result)
    logger.debug("a result with a %s of %s passes unshaped", kind.__name__, kind.__module__)
    return True


def _is_of_strands(result: Any) -> bool:
    """Return whether a result is the dict that a Strands tool returns, where Strands is loaded."""
    return (
        type(result) is dict
        and "strands" in sys.modules
        and result.keys() <= {"status", "content", "toolUseId"}
        and result.get("status") in {"success", "error"}
        and isinstance(result.get("content"), list)
    )


def _is_of_agents(kind: type) -> bool:
    module = kind.__module__
    return module.partition(".")[0] in _AGENTS or module.startswith("google.adk")


def inside_mcp(tool: DecoratedTool) -> bool:
    """Return whether a request of an MCP framework is running that this tool answers."""
    return inside_fastmcp() or inside_sdk(tool)


def inside_fastmcp() -> bool:
    """Return whether FastMCP is making a call, by its own context variable."""
    module = sys.modules.get("fastmcp.server.dependencies")
    if module is None:
        return False
    try:
        module.get_context()
    except RuntimeError:
        return False
    return True


def inside_sdk(tool: DecoratedTool) -> bool:
    """Return whether the SDK's `MCPServer` is making a call.

    The SDK keeps its request in no context variable of its own, but opens a span for each request in OpenTelemetry's;
    and its own schema generator, no other's, asks a tool for its schema, where the tool has one.
    """
    if _SDK not in sys.modules or (tool.advertises and not tool.under_mcp_sdk):
        return False
    from opentelemetry.context import get_current  # noqa: PLC0415 (the SDK has loaded it)

    return bool(get_current())


def report_error(shaped: Shaped, error: Exception | None, tool: DecoratedTool, *, nested: bool) -> Any:
    """Raise, or return, what the surrounding framework takes for an error; None where the envelope itself will do."""
    if error is not None and _is_protocol_error(error):
        raise error
    if not nested:
        _log_fault(shaped, error, tool)
        if inside_fastmcp():
            _raise_in_fastmcp(shaped, error)
        if inside_sdk(tool) and not tool.yields:
            return _sdk_result(_envelope(shaped))
    if shaped.plan.dialect == "none" or tool.form != "envelope":
        # Bare data has no place for an error, so it is raised.
        raise _coded(shaped, error) from error
    return None


def _log_fault(shaped: Shaped, error: Exception | None, tool: DecoratedTool) -> None:
    """Log an exception in a tool's own code, which its caller gets only as INTERNAL_ERROR."""
    if error is None or isinstance(error, ToolError):
        return
    if required(shaped.envelope.error).code == "INTERNAL_ERROR":
        log_fault("%r failed with %s\n%s", tool.name, error)


def _envelope(shaped: Shaped) -> Any:
    """Return the coded envelope; where the dialect is the data alone, in the lean one."""
    plan = shaped.plan
    if plan.dialect != "none":
        return shaped.value
    return shaped.envelope.render("lean", include=plan.envelope, debug=plan.debug)


def _coded(shaped: Shaped, error: Exception | None) -> ToolError:
    return error if isinstance(error, ToolError) else ToolError.of(required(shaped.envelope.error))


def _is_protocol_error(error: Exception) -> bool:
    """Return whether the error answers the protocol, not the model: frameworks make a JSON-RPC error of it."""
    module = sys.modules.get("mcp.shared.exceptions")
    return module is not None and isinstance(error, module.MCPError)


def _raise_in_fastmcp(shaped: Shaped, error: Exception | None) -> NoReturn:
    from fastmcp.exceptions import ToolError as FastMCPError  # noqa: PLC0415 (an extra, loaded by now)

    for warned in shaped.envelope.warnings:
        if warned.code == TOOL_WARNING:
            # Middleware of ours writes the error anew, from what was raised and noted.
            note(warning=warned.message)
    raise FastMCPError(orjson.dumps(_envelope(shaped)).decode()) from error


def _sdk_result(envelope: Any) -> Any:
    # If it were raised, the SDK would put its own text before the envelope, and no program could parse it.
    from mcp_types import CallToolResult, TextContent  # noqa: PLC0415 (an extra, loaded by now)

    return CallToolResult(content=[TextContent(type="text", text=orjson.dumps(envelope).decode())], is_error=True)


def mentions_content(annotation: Any) -> bool:
    """Return whether a return annotation names something that only a framework can send."""
    return _is_kind(annotation) or any(mentions_content(part) for part in get_args(annotation))


def as_content(value: Any, tool: DecoratedTool, metadata: dict[str, Any], *, nested: bool) -> Any:
    """Return content as a result of the framework's own kind, shaped; None where it is data.

    `metadata` is what is known of the call: the tool's notes, and the tag that the caller holds.
    """
    if nested or "mcp_types" not in sys.modules or not _is_content(value) or tool.shaper.mode != "on":
        return None
    if inside_fastmcp():
        return _for_fastmcp(value, tool, metadata)
    return _for_sdk(value, tool, metadata) if inside_sdk(tool) and not tool.yields else None


def _is_kind(kind: Any) -> bool:
    return getattr(kind, "__name__", None) in _KINDS and str(getattr(kind, "__module__", "")).split(".")[0] in _MCP


def _is_content(value: Any) -> bool:
    if isinstance(value, list | tuple) and len(value) <= _MOST:
        return any(_is_kind(type(item)) for item in value)
    return _is_kind(type(value))


def _for_fastmcp(value: Any, tool: DecoratedTool, metadata: dict[str, Any]) -> Any:
    from fastmcp.tools.base import ToolResult  # noqa: PLC0415 (an extra, loaded by now)

    from shaping.mcp.fastmcp import tool_result, wire_result  # noqa: PLC0415 (an extra, loaded by now)

    given = value if isinstance(value, ToolResult) else ToolResult(content=value)
    return tool_result(_shaped(wire_result(given), value, tool, metadata))


def _for_sdk(value: Any, tool: DecoratedTool, metadata: dict[str, Any]) -> Any:
    from mcp_types import CallToolResult  # noqa: PLC0415 (an extra, loaded by now)

    blocks = value if isinstance(value, list | tuple) else [value]
    given = value if isinstance(value, CallToolResult) else CallToolResult(content=[_block(item) for item in blocks])
    wire = given.model_dump(mode="json", by_alias=True, exclude_none=True)
    return CallToolResult.model_validate(_shaped(wire, value, tool, metadata))


def _block(item: Any) -> Any:
    """Make a block as the SDK does."""
    from mcp_types import TextContent  # noqa: PLC0415 (an extra, loaded by now)

    if type(item).__name__ in _BLOCKS:
        return item
    for make in ("to_image_content", "to_audio_content"):
        if hasattr(item, make):
            return getattr(item, make)()
    if isinstance(item, str):
        return TextContent(type="text", text=item)
    import pydantic_core  # noqa: PLC0415 (only data beside pictures is written here)

    return TextContent(type="text", text=pydantic_core.to_json(item, fallback=str).decode())


def _shaped(wire: dict[str, Any], value: Any, tool: DecoratedTool, metadata: dict[str, Any]) -> dict[str, Any]:
    shaped = tool.shaper.shape_result(wire, tool=tool.name, default_profile=tool.profile, **metadata)
    if tool.advertises:
        # A framework that advertises a schema refuses an answer without structured content.
        data = tool.shaper.shape(value, tool=tool.name, default_profile=tool.profile, request=tool.pinned, as_json=True)
        shaped["structuredContent"] = data.value
    return shaped
