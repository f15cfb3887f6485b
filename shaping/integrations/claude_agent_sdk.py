"""Claude Agent SDK: in-process tools with shaped results, and a hook for the tools of MCP servers."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Unpack

from claude_agent_sdk import HookMatcher, SdkMcpTool, tool

from shaping.integrations import EXPAND, EXPAND_HELP, ConfigSource, ShaperOptions, ToolResults


def shape_tools(
    tools: Iterable[SdkMcpTool[Any]],
    config: ConfigSource = None,
    *,
    expand: bool = True,
    **options: Unpack[ShaperOptions],
) -> list[SdkMcpTool[Any]]:
    """Return the tools with shaped results: `create_sdk_mcp_server("name", tools=shape_tools([search, fetch]))`."""
    results = ToolResults("claude-agent-sdk", config, **options)
    shaped = [replace(one, handler=_handler(one, results)) for one in tools]
    return [*shaped, _expand_tool(results)] if expand else shaped


def shaping_hooks(config: ConfigSource = None, **options: Unpack[ShaperOptions]) -> dict[Any, list[HookMatcher]]:
    """Return hooks that shape what the tools of MCP servers return: `ClaudeAgentOptions(hooks=shaping_hooks())`."""
    results = ToolResults("claude-agent-sdk", config, **options)

    async def after_tool_use(said: Any, _tool_use_id: str | None, _context: Any) -> Any:
        name = str(said["tool_name"])
        tool_name = name.rpartition("__")[2]
        if tool_name == EXPAND:
            return {}
        output = _shaped_response(said["tool_response"], tool_name, results)
        if output is None:
            return {}
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": output}}

    return {"PostToolUse": [HookMatcher(matcher="mcp__.*", hooks=[after_tool_use])]}


def _handler(one: SdkMcpTool[Any], results: ToolResults) -> Any:
    async def handler(arguments: Any) -> dict[str, Any]:
        result: Any = await one.handler(arguments)
        if not isinstance(result, Mapping) or not isinstance(result.get("content"), list):
            # Data, as a function under @shape returns it; the SDK would show its model nothing of it.
            return {"content": [{"type": "text", "text": results.text(result, one.name)}]}
        failed = bool(result.get("is_error"))
        return {**result, "content": results.blocks(result["content"], one.name, failed=failed)}

    return handler


def _expand_tool(results: ToolResults) -> SdkMcpTool[Any]:
    properties = {name: {"type": "string"} for name in ("ref", "path", "cursor", "sql", "search")}

    @tool(EXPAND, EXPAND_HELP, {"type": "object", "properties": properties, "required": ["ref"]})
    async def expand(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": results.shaping_expand(**arguments)}]}

    return expand


def _shaped_response(response: Any, tool_name: str, results: ToolResults) -> Any:
    """Shape a response in the form that it came in: a text, content blocks, or a result with them; None for others."""
    if isinstance(response, str):
        return results.text(response, tool_name)
    if isinstance(response, list) and all(isinstance(block, Mapping) and "type" in block for block in response):
        return results.blocks(response, tool_name)
    if isinstance(response, Mapping) and isinstance(response.get("content"), list):
        return {**response, "content": results.blocks(response["content"], tool_name)}
    return None
