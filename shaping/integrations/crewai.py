"""CrewAI: a hook that shapes tool results, and the tool that brings back what was left out."""

from typing import Any, Self, Unpack

from crewai.hooks import register_after_tool_call_hook, unregister_after_tool_call_hook
from crewai.tools import tool

from shaping.integrations import EXPAND, ConfigSource, ShaperOptions, ToolResults, holds_objects_of


class CrewAIShaping:
    """Shapes what tools return while it is registered: `shaping = CrewAIShaping().register()`, once a process."""

    def __init__(self, config: ConfigSource = None, **options: Unpack[ShaperOptions]) -> None:
        self._results = ToolResults("crewai", config, **options)
        self._hook = self.after_tool_call

    def register(self) -> Self:
        """Take part in the tool calls of every crew of this process, as CrewAI's hooks do."""
        register_after_tool_call_hook(self._hook)
        return self

    def unregister(self) -> None:
        """Stop shaping."""
        unregister_after_tool_call_hook(self._hook)

    def after_tool_call(self, context: Any) -> str | None:
        """Shape one result; None leaves it as it is."""
        if context.tool_name == EXPAND or context.tool_result is None:
            return None
        raw = context.raw_tool_result
        if raw is None or isinstance(raw, str) or holds_objects_of("crewai", raw):
            raw = context.tool_result
        return self._results.text(raw, context.tool_name)

    def expand_tool(self) -> Any:
        """Return the tool by which a model asks for what was left out."""
        return tool(EXPAND)(self._results.shaping_expand)
