"""AG2 (AutoGen): a middleware that shapes tool results, and the tool that brings back what was left out."""

from typing import Any, Unpack

from ag2.events import DataInput, TextInput, ToolErrorEvent, ToolResultEvent
from ag2.events.tool_events import ToolResult
from ag2.middleware import BaseMiddleware
from ag2.tools import tool

from shaping.integrations import EXPAND, EXPAND_HELP, ConfigSource, ShaperOptions, ToolResults, holds_objects_of


class AG2Shaping:
    """Shapes what an agent's tools return: `Agent("name", tools=[…, shaping.expand_tool()], middleware=[shaping])`."""

    def __init__(self, config: ConfigSource = None, **options: Unpack[ShaperOptions]) -> None:
        self._results = ToolResults("ag2", config, **options)

    def __call__(self, event: Any, context: Any) -> BaseMiddleware:
        """Make the middleware of one turn."""
        return _Turn(event, context, self._results)

    def expand_tool(self) -> Any:
        """Return the tool by which a model asks for what was left out."""
        return tool(self._results.shaping_expand, name=EXPAND, description=EXPAND_HELP)


class _Turn(BaseMiddleware):
    """Shapes the tool results of one turn; what tools raise stays the framework's ToolErrorEvent."""

    def __init__(self, event: Any, context: Any, results: ToolResults) -> None:
        super().__init__(event, context)
        self._results = results

    async def on_tool_execution(self, call_next: Any, event: Any, context: Any) -> Any:
        done = await call_next(event, context)
        if event.name == EXPAND or not isinstance(done, ToolResultEvent) or isinstance(done, ToolErrorEvent):
            return done
        given = done.result
        parts = [self._part(part, event.name) for part in given.parts]
        done.result = ToolResult(parts=parts, final=given.final, metadata=given.metadata)
        return done

    def _part(self, part: Any, name: str) -> Any:
        if isinstance(part, TextInput):
            return TextInput(self._results.text(part.content, name), metadata=part.metadata)
        if isinstance(part, DataInput) and not holds_objects_of("ag2", part.data):
            return TextInput(self._results.text(part.data, name), metadata=part.metadata)
        return part  # pictures and files
