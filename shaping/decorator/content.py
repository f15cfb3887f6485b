"""What a tool returns for its MCP framework and not as data: pictures, sounds, files, content blocks, whole results."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, get_args

from shaping.decorator.frameworks import inside_fastmcp, inside_sdk, nested

if TYPE_CHECKING:
    from shaping.decorator.tool import Tool

_FRAMEWORKS = frozenset({"mcp", "mcp_types", "fastmcp"})
_BLOCKS = frozenset({"TextContent", "ImageContent", "AudioContent", "EmbeddedResource", "ResourceLink"})
_KINDS = _BLOCKS | {"Image", "Audio", "File", "ToolResult", "CallToolResult"}
_MOST = 100  # elements of a list that is looked through: nobody returns more pictures at once


def mentions_content(annotation: Any) -> bool:
    """Say whether a return annotation names something that only a framework can send."""
    return _is_kind(annotation) or any(mentions_content(part) for part in get_args(annotation))


def as_content(value: Any, tool: Tool) -> Any:
    """Give content as a result of the framework's own kind, shaped; None where it is data, or nobody could send it."""
    if "mcp_types" not in sys.modules or not _is_content(value) or tool.shaper.mode != "on":
        return None
    if nested(sys._getframe()):  # noqa: SLF001 (inspect's way is a hundred times slower)
        return None
    if inside_fastmcp():
        return _for_fastmcp(value, tool)
    return _for_sdk(value, tool) if inside_sdk(tool) and not tool.yields else None


def _is_kind(kind: Any) -> bool:
    return (
        getattr(kind, "__name__", None) in _KINDS and str(getattr(kind, "__module__", "")).split(".")[0] in _FRAMEWORKS
    )


def _is_content(value: Any) -> bool:
    if isinstance(value, list | tuple) and len(value) <= _MOST:
        return any(_is_kind(type(item)) for item in value)
    return _is_kind(type(value))


def _for_fastmcp(value: Any, tool: Tool) -> Any:
    from fastmcp.tools.base import ToolResult  # noqa: PLC0415 (an extra; imported where it is known to be there)

    from shaping.mcp.fastmcp import tool_result, wire_result  # noqa: PLC0415 (the same)

    given = value if isinstance(value, ToolResult) else ToolResult(content=value)
    return tool_result(_shaped(wire_result(given), value, tool))


def _for_sdk(value: Any, tool: Tool) -> Any:
    from mcp_types import CallToolResult  # noqa: PLC0415 (the same)

    blocks = value if isinstance(value, list | tuple) else [value]
    given = value if isinstance(value, CallToolResult) else CallToolResult(content=[_block(item) for item in blocks])
    wire = given.model_dump(mode="json", by_alias=True, exclude_none=True)
    return CallToolResult.model_validate(_shaped(wire, value, tool))


def _block(item: Any) -> Any:
    """Make a block as the SDK does."""
    from mcp_types import TextContent  # noqa: PLC0415 (the same)

    if type(item).__name__ in _BLOCKS:
        return item
    for make in ("to_image_content", "to_audio_content"):
        if hasattr(item, make):
            return getattr(item, make)()
    if isinstance(item, str):
        return TextContent(type="text", text=item)
    import pydantic_core  # noqa: PLC0415 (only data beside pictures is written here)

    return TextContent(type="text", text=pydantic_core.to_json(item, fallback=str).decode())


def _shaped(wire: dict[str, Any], value: Any, tool: Tool) -> dict[str, Any]:
    from shaping.mcp.result import shape_result  # noqa: PLC0415 (few tools return content)

    shaped = shape_result(tool.shaper, wire, tool=tool.name, profile=tool.profile)
    if tool.advertises:
        # A framework that was told of data by the annotation refuses an answer without.
        shaped["structuredContent"] = tool.shaper.shape(value, tool=tool.name, request=tool.pinned).value
    return shaped
