"""smolagents: tools for a ToolCallingAgent; a CodeAgent computes with what tools return, and needs it unshaped."""

from collections.abc import Iterable
from copy import copy
from typing import Any, Unpack

from smolagents import Tool, tool

from shaping.integrations import EXPAND, EXPAND_HELP, ConfigSource, ShaperOptions, ToolResults


def shape_tools(
    tools: Iterable[Tool], config: ConfigSource = None, *, expand: bool = True, **options: Unpack[ShaperOptions]
) -> list[Tool]:
    """Return the tools with shaped results: `ToolCallingAgent(tools=shape_tools([search, fetch]), model=…)`."""
    results = ToolResults("smolagents", config, **options)
    shaped = [_shaped(one, results) for one in tools]
    return [*shaped, _expand_tool(results)] if expand else shaped


def _shaped(one: Tool, results: ToolResults) -> Tool:
    if one.output_type in {"image", "audio"}:
        return one
    wrapped = copy(one)

    def forward(*args: Any, **kwargs: Any) -> str:
        return results.text(one.forward(*args, **kwargs), one.name)

    wrapped.forward = forward
    wrapped.output_type = "string"
    return wrapped


def _expand_tool(results: ToolResults) -> Tool:
    @tool
    def shaping_expand(ref: str, path: str = "", cursor: str = "", sql: str = "", search: str = "") -> str:
        """Get back what a shortened tool result left out.

        Args:
            ref: the reference in that result's note.
            path: which part, such as items[3].body.
            cursor: from the note, for the next page.
            sql: one SELECT over its records.
            search: a text or /regex/ to find in it.
        """
        return results.shaping_expand(ref, path, cursor, sql, search)

    shaping_expand.description = EXPAND_HELP
    assert shaping_expand.name == EXPAND  # noqa: S101 (the name in notes is the name of the tool)
    return shaping_expand
