"""Agno: a tool hook that shapes results, and the tool that brings back what was left out."""

from collections.abc import Callable
from inspect import isawaitable
from typing import Any, Unpack

from agno.tools.function import Function

from shaping.integrations import EXPAND, ConfigSource, ShaperOptions, ToolResults, holds_objects_of


class AgnoShaping:
    """Shapes what an agent's tools return: `Agent(tools=[…, shaping.expand_tool()], tool_hooks=[shaping.hook])`."""

    def __init__(self, config: ConfigSource = None, **options: Unpack[ShaperOptions]) -> None:
        self._results = ToolResults("agno", config, **options)

    def hook(self, function_name: str, function_call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        """Shape one result; agno's exceptions that retry or stop an agent pass."""
        result = function_call(**arguments)
        if isawaitable(result):
            return self._later(result, function_name)
        return self._shaped(result, function_name)

    def expand_tool(self) -> Function:
        """Return the tool by which a model asks for what was left out."""
        return Function.from_callable(self._results.shaping_expand)

    async def _later(self, result: Any, tool: str) -> Any:
        return self._shaped(await result, tool)

    def _shaped(self, result: Any, tool: str) -> Any:
        if tool == EXPAND or result is None or holds_objects_of("agno", result) or hasattr(result, "__next__"):
            return result  # pictures and other media, and results that are streamed
        return self._results.text(result, tool)
