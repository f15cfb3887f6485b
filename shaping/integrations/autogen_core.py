"""AutoGen: tools whose results are shaped where AutoGen writes them as text."""

from collections.abc import Iterable
from copy import copy
from typing import Any, Unpack

from autogen_core.tools import FunctionTool

from shaping.integrations import EXPAND, EXPAND_HELP, ConfigSource, ShaperOptions, ToolResults, holds_objects_of


def shape_tools(
    tools: Iterable[Any], config: ConfigSource = None, *, expand: bool = True, **options: Unpack[ShaperOptions]
) -> list[Any]:
    """Return the tools with shaped results: `AssistantAgent("a", model_client, tools=shape_tools([search, fetch]))`."""
    results = ToolResults("autogen-core", config, **options)
    shaped = [_shaped(tool, results) for tool in tools]
    if expand:
        shaped.append(FunctionTool(results.shaping_expand, EXPAND_HELP, name=EXPAND))
    return shaped


def _shaped(tool: Any, results: ToolResults) -> Any:
    """Return a copy of a tool, or a tool of a function, whose results are shaped; what it raises is raised."""
    if not hasattr(tool, "return_value_as_string"):
        tool = FunctionTool(tool, tool.__doc__ or "")
    wrapped = copy(tool)

    def text(value: Any) -> str:
        if value is None or holds_objects_of("autogen_core", value):
            return str(tool.return_value_as_string(value))
        return results.text(value, tool.name)

    wrapped.return_value_as_string = text
    return wrapped
