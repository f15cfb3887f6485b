"""Google ADK: a plugin for runners, and a callback for single agents."""

from typing import Any, Unpack

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools import FunctionTool

from shaping.integrations import EXPAND, ConfigSource, ShaperOptions, ToolResults, holds_objects_of


class GoogleADKShaping(BasePlugin):
    """Shapes what tools return: `Runner(…, plugins=[shaping])`, with `shaping.expand_tool()` among the tools."""

    def __init__(self, config: ConfigSource = None, **options: Unpack[ShaperOptions]) -> None:
        super().__init__(name="shaping")
        self._results = ToolResults("google-adk", config, **options)

    async def after_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, result: Any) -> Any:
        """Shape one result for a runner; None leaves it as it is."""
        return self.shape_response(tool, tool_args, tool_context, result)

    def shape_response(self, tool: Any, args: Any, tool_context: Any, tool_response: Any) -> Any:  # noqa: ARG002 (the hook's signature)
        """Shape one result for one agent: `LlmAgent(…, after_tool_callback=shaping.shape_response)`."""
        if tool.name == EXPAND or tool_response is None or holds_objects_of("google", tool_response):
            return None
        if isinstance(tool_response, dict):
            if isinstance(tool_response.get("content"), list) and "isError" in tool_response:  # of an MCP server
                return self._results.result(tool_response, tool.name)
            if "error" in tool_response:
                return None
            if set(tool_response) == {"result"}:
                tool_response = tool_response["result"]
        return {"result": self._results.text(tool_response, tool.name)}

    def expand_tool(self) -> FunctionTool:
        """Return the tool by which a model asks for what was left out."""
        return FunctionTool(self._results.shaping_expand)
