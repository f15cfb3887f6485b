"""OpenAI Agents SDK: function tools whose results are shaped."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from agents import FunctionTool, function_tool

from shaping.integrations.results import EXPAND, EXPAND_HELP, ToolResults, holds_objects_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

    from shaping.shaper import Shaper


def shape_tools(
    tools: Iterable[Any],
    config: str | PathLike[str] | Mapping[str, Any] | None = None,
    *,
    profile: str | None = None,
    shaper: Shaper | None = None,
    expand: bool = True,
) -> list[Any]:
    """Return the tools with shaped results: `Agent(name=…, tools=shape_tools([search, fetch]))`."""
    results = ToolResults(config, client="openai-agents", profile=profile, shaper=shaper)
    shaped = [_shaped(tool, results) if isinstance(tool, FunctionTool) else tool for tool in tools]
    if expand:
        shaped.append(function_tool(results.expand, name_override=EXPAND, description_override=EXPAND_HELP))
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
