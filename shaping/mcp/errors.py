"""An MCP error result: coded in its text and in its `_meta`, and never in its structured content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from shaping.mcp import faults
from shaping.mcp.meta import ERROR, marked
from shaping.response import CallContext, required

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from shaping.errors import ErrorDetail
    from shaping.settings import Plan
    from shaping.shaper import Shaper


def error_result(shaper: Shaper, result: Mapping[str, Any], plan: Plan, tools: Collection[str] = ()) -> dict[str, Any]:
    """Code an error result by what its text or its data says; what is not text stays."""
    content = result.get("content") or []
    text = "\n".join(block["text"] for block in content if block.get("type") == "text")
    data = result.get("structuredContent")
    if not text and data is not None:
        text = orjson.dumps(data).decode()
    error = faults.of_text(text, plan.tool, tools)
    written = coded(shaper, plan, error, data)
    rest = [block for block in content if block.get("type") != "text"]
    kept = {key: value for key, value in result.items() if key not in {"content", "structuredContent", "_meta"}}
    meta = {**(result.get("_meta") or {}), **written["_meta"]}
    return {**kept, "content": [*written["content"], *rest], "isError": True, "_meta": meta}


def coded(shaper: Shaper, plan: Plan, error: ErrorDetail, data: Any = None) -> dict[str, Any]:
    """Write an error as an MCP result."""
    shaped = shaper.shape_by(plan, data, CallContext(error=error))
    error = required(shaped.envelope.error)
    if plan.dialect == "none":
        body = {"error": faults.said(error, hint=plan.debug or "error" in plan.envelope)}
        if data is not None and shaped.data is not None and not _repeats(shaped.data, error):
            body["data"] = shaped.data
        text = orjson.dumps(body).decode()
    else:
        text = shaped.text
    bare = {"content": [{"type": "text", "text": text}], "isError": True}
    return marked(bare, plan, [], **{ERROR: faults.whole(error)})


def _repeats(data: Any, error: ErrorDetail) -> bool:
    return error.message in orjson.dumps(data).decode()
