"""OpenAI Agents SDK: function tools whose results are shaped."""

from collections.abc import Iterable
from copy import copy
from typing import Any, Unpack

from agents import FunctionTool, function_tool

from shaping.integrations import EXPAND, EXPAND_HELP, ConfigSource, ShaperOptions, ToolResults, holds_objects_of


def shape_tools(
    tools: Iterable[Any], config: ConfigSource = None, *, expand: bool = True, **options: Unpack[ShaperOptions]
) -> list[Any]:
    """Return the tools with shaped results: `Agent(name=…, tools=shape_tools([search, fetch]))`."""
    results = ToolResults("openai-agents", config, **options)
    shaped = [_shaped(tool, results) if isinstance(tool, FunctionTool) else tool for tool in tools]
    if expand:
        shaped.append(function_tool(results.shaping_expand, name_override=EXPAND, description_override=EXPAND_HELP))
    return shaped


def _shaped(tool: FunctionTool, results: ToolResults) -> FunctionTool:
    """Return a copy of a tool whose invocation ends with shaping; what it raises is raised."""
    invoke = tool.on_invoke_tool

    async def shaped(context: Any, arguments: str) -> Any:
        output = await invoke(context, arguments)
        if output is None or _is_rich(output) or holds_objects_of("agents", output):
            return output  # pictures, files and handoffs are the framework's own
        return results.text(output, tool.name)

    wrapped = copy(tool)
    wrapped.on_invoke_tool = shaped
    return wrapped


def _is_rich(output: Any) -> bool:
    """Return whether an output is made of the framework's content dicts: {"type": "image", …}."""
    items = output if isinstance(output, list | tuple) and output else [output]
    return all(isinstance(item, dict) and item.get("type") in {"image", "file"} for item in items)
