"""The frameworks around a decorated function: whose request is running, its errors, content that a client is sent."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypeAlias, get_args

import orjson

from shaping.errors import ToolError
from shaping.redaction import log_fault
from shaping.response import TOOL_WARNING, CallContext, Shaped, note, required

if TYPE_CHECKING:
    from shaping.decorator import DecoratedCall, DecoratedTool
    from shaping.settings.plan import Channels

Framework: TypeAlias = Literal["fastmcp", "sdk", "claude", "agents"]
_RAISING: Final = frozenset({"claude", "agents"})
_SDK = "mcp.server.mcpserver"
_STRANDS = "strands.telemetry.tracer"
_MCP_1 = {"mcp.server.lowlevel.server": "request_ctx"}  # version 2 has none
# The context variables that LangChain, LlamaIndex and Agno set around each call of a tool.
_TOOL_RUNS = {
    "langchain_core.runnables.config": "var_child_runnable_config",
    "llama_index_instrumentation.span": "active_span_id",
    "agno.run.authorization": "_AUTHORITY",
}
_MCP = frozenset({"mcp", "mcp_types", "fastmcp"})
_BLOCKS = frozenset({"TextContent", "ImageContent", "AudioContent", "EmbeddedResource", "ResourceLink"})
_KINDS = _BLOCKS | {"Image", "Audio", "File", "ToolResult", "CallToolResult"}
MOST_BLOCKS = 100  # elements of a list that is looked through: nobody returns more pictures at once


def calling_framework(tool: DecoratedTool, args: tuple[Any, ...]) -> Framework | None:
    """Return what kind of framework is making the call, by the context variables in which it keeps its request."""
    if _inside_fastmcp():
        return "fastmcp"
    span = _current_span()
    if tool.under_mcp_sdk and span is not None:
        return "sdk"
    if _is_set(_TOOL_RUNS) or (_STRANDS in sys.modules and span in {_STRANDS, ""}):
        return "agents"
    inside_sdk = _SDK in sys.modules and span in {"mcp-python-sdk", ""}
    if "claude_agent_sdk" in sys.modules and args and type(args[-1]) is dict and (inside_sdk or _is_set(_MCP_1)):
        # The in-process server of the Claude Agent SDK gives a tool its arguments in one dict; MCPServer gives none so.
        return "claude"
    # The SDK's own schema generator, no other's, asks a tool for its schema, where the tool has one.
    return "sdk" if inside_sdk and not tool.advertises else None


def _inside_fastmcp() -> bool:
    module = sys.modules.get("fastmcp.server.dependencies")
    if module is None:
        return False
    try:
        module.get_context()
    except RuntimeError:
        return False
    return True


def _is_set(variables: dict[str, str]) -> bool:
    """Return whether one of these context variables has a value, by module and name."""
    found = (getattr(sys.modules.get(module), name, None) for module, name in variables.items())
    return any(one is not None and one.get(None) is not None for one in found)


def _current_span() -> str | None:
    """Return whose span is OpenTelemetry's current one: "" where nobody records it, None where there is none.

    The MCP SDK and Strands keep a request in no context variable of their own, but open a span for each.
    """
    context, trace = (sys.modules.get(f"opentelemetry.{name}") for name in ("context", "trace"))
    if context is None or trace is None or not context.get_current():
        return None
    scope = getattr(trace.get_current_span(), "instrumentation_scope", None)
    return "" if scope is None else str(scope.name)


def report_error(shaped: Shaped, error: Exception | None, decorated_call: DecoratedCall) -> Any:
    """Raise, or return, what the surrounding framework takes for an error; None where the envelope itself will do."""
    if error is not None and _is_protocol_error(error):
        raise error
    tool, framework = decorated_call.tool, None
    if not decorated_call.nested:
        _log_fault(shaped, error, tool)
        framework = decorated_call.framework
        if framework == "fastmcp":
            _raise_in_fastmcp(shaped, error)
        if framework == "sdk" and not tool.yields:
            return _sdk_result(_envelope(shaped))
    if framework in _RAISING or shaped.plan.dialect == "none" or tool.form != "envelope":
        # Bare data has no place for an error, and these frameworks take what is returned for a success.
        raise error if isinstance(error, ToolError) else ToolError.of(required(shaped.envelope.error)) from error
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


def _is_protocol_error(error: Exception) -> bool:
    """Return whether the error answers the protocol, not the model: frameworks make a JSON-RPC error of it."""
    module = sys.modules.get("mcp.shared.exceptions")
    named = (getattr(module, name, None) for name in ("MCPError", "McpError"))  # the latter before version 2
    return isinstance(error, tuple(kind for kind in named if kind is not None))


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


def framework_content(value: Any, decorated_call: DecoratedCall) -> Any:
    """Return content as a result of the framework's own kind, shaped; None where it is data."""
    if "claude_agent_sdk" in sys.modules and decorated_call.framework == "claude":
        return _for_claude(value, decorated_call)
    if "mcp_types" not in sys.modules or not _is_content(value) or decorated_call.tool.shaper.mode != "on":
        return None
    if decorated_call.framework == "fastmcp":
        return _for_fastmcp(value, decorated_call)
    in_sdk = decorated_call.framework == "sdk" and not decorated_call.tool.yields
    return _for_sdk(value, decorated_call) if in_sdk else None


def _is_kind(kind: Any) -> bool:
    return getattr(kind, "__name__", None) in _KINDS and str(getattr(kind, "__module__", "")).split(".")[0] in _MCP


def _is_content(value: Any) -> bool:
    if isinstance(value, (list, tuple)) and len(value) <= MOST_BLOCKS:
        return any(_is_kind(type(item)) for item in value)
    return _is_kind(type(value))


def _for_claude(value: Any, decorated_call: DecoratedCall) -> dict[str, Any]:
    """Return the dict of which the Claude Agent SDK reads `content`; data stands beside it, for a tool's own code."""
    if _is_content(value):
        result = _for_sdk(value, decorated_call).model_dump(mode="json", by_alias=True, exclude_none=True)
        return {"content": result["content"]}
    if isinstance(value, dict) and isinstance(value.get("content"), list):
        wire = {"content": value["content"], "isError": bool(value.get("is_error"))}
        return {**value, "content": _shaped(wire, value, decorated_call, channels="text")["content"]}
    shaped = decorated_call.shape(value, as_json=False)
    if shaped.failed:
        report_error(shaped, None, decorated_call)
    beside = shaped.value if isinstance(shaped.value, dict) and shaped.plan.dialect != "none" else {}
    return {**beside, "content": [{"type": "text", "text": shaped.text}]}


def _for_fastmcp(value: Any, decorated_call: DecoratedCall) -> Any:
    from fastmcp.tools.base import ToolResult  # noqa: PLC0415 (an extra, loaded by now)

    from shaping.mcp.fastmcp import tool_result, wire_result  # noqa: PLC0415 (an extra, loaded by now)

    given = value if isinstance(value, ToolResult) else ToolResult(content=value)
    return tool_result(_shaped(wire_result(given), value, decorated_call))


def _for_sdk(value: Any, decorated_call: DecoratedCall) -> Any:
    from mcp_types import CallToolResult  # noqa: PLC0415 (an extra, loaded by now)

    blocks = value if isinstance(value, list | tuple) else [value]
    given = value if isinstance(value, CallToolResult) else CallToolResult(content=[_block(item) for item in blocks])
    wire = given.model_dump(mode="json", by_alias=True, exclude_none=True)
    return CallToolResult.model_validate(_shaped(wire, value, decorated_call))


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


def _shaped(
    wire: dict[str, Any], value: Any, decorated_call: DecoratedCall, channels: Channels | None = None
) -> dict[str, Any]:
    tool, context = decorated_call.tool, CallContext(**decorated_call.about())
    shaped = tool.shaper.shape_result(
        wire, tool=tool.name, channels=channels, default_profile=tool.profile, call=context
    )
    if tool.advertises:
        # A framework that advertises a schema refuses an answer without structured content.
        plan, wrong = decorated_call.chosen
        shaped["structuredContent"] = tool.shaper.shape_by(plan, value, CallContext(as_json=True, warnings=wrong)).value
    return shaped
