"""Strands Agents: a hook provider that shapes tool results, and the tool that brings back what was left out."""

from typing import Any, Unpack

from strands import tool
from strands.hooks import AfterToolCallEvent

from shaping.integrations import EXPAND, EXPAND_HELP, ConfigSource, ShaperOptions, ToolResults


class StrandsShaping:
    """Shapes what an agent's tools return: `Agent(tools=[…, shaping.expand_tool()], hooks=[shaping])`."""

    def __init__(self, config: ConfigSource = None, **options: Unpack[ShaperOptions]) -> None:
        self._results = ToolResults("strands", config, **options)

    def register_hooks(self, registry: Any, **_: Any) -> None:
        """Take part in the agent's tool calls."""
        registry.add_callback(AfterToolCallEvent, self.after_tool_call)

    def after_tool_call(self, event: Any) -> None:
        """Shape one result; its status stays what the tool or the framework made it."""
        name = event.tool_use["name"]
        if name == EXPAND or not event.result.get("content"):
            return
        failed = event.result.get("status") == "error"
        blocks = [self._block(block, name, failed=failed) for block in event.result["content"]]
        event.result = {**event.result, "content": blocks}

    def expand_tool(self) -> Any:
        """Return the tool by which a model asks for what was left out."""
        return tool(name=EXPAND, description=EXPAND_HELP)(self._results.shaping_expand)

    def _block(self, block: dict[str, Any], name: str, *, failed: bool) -> dict[str, Any]:
        if "text" in block:
            return {**block, "text": self._results.text(block["text"], name, failed=failed)}
        if "json" in block:
            return {"text": self._results.text(block["json"], name, failed=failed)}
        return block  # pictures, documents, videos
