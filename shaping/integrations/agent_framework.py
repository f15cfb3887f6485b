"""Microsoft Agent Framework: a function middleware, and the tool that brings back what was left out."""

from collections.abc import Awaitable, Callable
from typing import Any, Unpack

from agent_framework import Content, FunctionMiddleware, FunctionTool

from shaping.integrations import EXPAND, EXPAND_HELP, ConfigSource, ShaperOptions, ToolResults


class AgentFrameworkShaping(FunctionMiddleware):
    """Shapes what an agent's tools return: `Agent(…, tools=[…, shaping.expand_tool()], middleware=[shaping])`."""

    def __init__(self, config: ConfigSource = None, **options: Unpack[ShaperOptions]) -> None:
        self._results = ToolResults("agent-framework", config, **options)

    async def process(self, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
        """Shape one result after the tool has run; what it raises is raised."""
        await call_next()
        name = context.function.name
        if name == EXPAND or context.result is None:
            return
        if isinstance(context.result, list) and any(isinstance(item, Content) for item in context.result):
            context.result = [self._content(item, name) for item in context.result]
        elif not isinstance(context.result, Content):  # a request for approval passes
            context.result = self._results.text(context.result, name)

    def expand_tool(self) -> FunctionTool:
        """Return the tool by which a model asks for what was left out."""
        return FunctionTool(name=EXPAND, description=EXPAND_HELP, func=self._results.shaping_expand)

    def _content(self, item: Any, name: str) -> Any:
        if getattr(item, "type", None) != "text":
            return item
        return Content.from_text(self._results.text(item.text, name))
