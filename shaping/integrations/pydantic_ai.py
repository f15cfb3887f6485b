"""Pydantic AI: a capability for agents, and a callback for its MCP servers."""

from dataclasses import replace
from typing import Any, Unpack

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ToolReturn
from pydantic_ai.toolsets import FunctionToolset

from shaping.integrations import EXPAND, EXPAND_HELP, ConfigSource, ShaperOptions, ToolResults, holds_objects_of


class PydanticAIShaping(AbstractCapability[Any]):
    """Shapes what an agent's tools return: `Agent(model, tools=[…], capabilities=[PydanticAIShaping()])`."""

    def __init__(self, config: ConfigSource = None, *, expand: bool = True, **options: Unpack[ShaperOptions]) -> None:
        self._results = ToolResults("pydantic-ai", config, **options)
        self._expand = expand

    def get_toolset(self) -> FunctionToolset[Any] | None:
        """Offer the tool by which a model asks for what was left out."""
        if not self._expand:
            return None
        toolset: FunctionToolset[Any] = FunctionToolset()
        toolset.add_function(self._results.shaping_expand, name=EXPAND, description=EXPAND_HELP)
        return toolset

    async def after_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:  # noqa: ARG002 (the hook's signature)
        """Shape one result; ModelRetry, CallDeferred and ApprovalRequired never come here."""
        return result if call.tool_name == EXPAND else self._shaped(result, call.tool_name)

    async def process_tool_call(self, ctx: Any, call_tool: Any, name: str, arguments: dict[str, Any]) -> Any:  # noqa: ARG002 (the hook's signature)
        """Shape one result of an MCP server: `MCPToolset(…, process_tool_call=shaping.process_tool_call)`."""
        return self._shaped(await call_tool(name, arguments), name)

    def _shaped(self, result: Any, tool: str) -> Any:
        if isinstance(result, ToolReturn):
            return replace(result, return_value=self._shaped(result.return_value, tool))
        if result is None or holds_objects_of("pydantic_ai", result):
            return result  # pictures and files, which the model is shown as such
        return self._results.text(result, tool)
