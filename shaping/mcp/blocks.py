"""Content blocks besides a tool's text (resources, links, unknown ones), within the budget of the result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from shaping.cleaning.call import limit_value
from shaping.mcp.redaction import binary_members
from shaping.parsers.json import write_json
from shaping.tokens import counter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shaping.mcp.parts import ResultContext

_SMALL: Final = 0.125  # the share of a budget that blocks may have besides what the texts have
_MOST: Final = 0.5  # and the share above which they are cut
_TEXT: Final = frozenset({"type", "text"})


def fit_blocks(result: Mapping[str, Any], context: ResultContext) -> tuple[Mapping[str, Any], ResultContext]:
    """Return a result whose blocks besides its texts are within the budget, and the context with what they leave of it.

    Blocks that are too large become one text block of JSON, which is shaped, cut and kept like any other data. Base64
    is not read as text by a model, and stays.
    """
    plan = context.plan
    if plan.max_tokens is None:
        return result, context
    if result.get("_meta") and context.client.shows_meta(failed=result.get("isError") is True):
        result = {**result, "_meta": limit_value(result["_meta"], _SMALL, plan)}
    texts = [_readable(block) for block in result.get("content") or ()]
    written = write_json([text for text in texts if text]).decode()
    if len(written) <= plan.max_tokens * _SMALL:
        return result, context
    tokens = counter(plan.tokenizer).exact(written)
    if tokens <= plan.max_tokens * _MOST:
        return result, replace(context, plan=replace(plan, max_tokens=plan.max_tokens - tokens))
    first = next(place for place, text in enumerate(texts) if text)
    folded = [text.get("resource", text) for text in texts if text]
    content: list[Any] = []
    for place, block in enumerate(result["content"]):
        if place == first:
            content.append({"type": "text", "text": write_json(folded[0] if len(folded) == 1 else folded).decode()})
        if not texts[place]:
            content.append(block)
        elif block.get("type") == "text":
            content.append({name: block[name] for name in block if name in _TEXT})
        elif binary := _binary(block):
            content.append(binary)
    return {**result, "content": content}, context


def _readable(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model may read of a block besides a tool's text; nothing where it is only that, or base64."""
    resource = block.get("resource")
    if isinstance(resource, dict):
        text = {name: value for name, value in resource.items() if name not in binary_members(resource)}
        return {**block, "resource": text}
    own = _TEXT if block.get("type") == "text" and isinstance(block.get("text"), str) else binary_members(block)
    rest = {name: value for name, value in block.items() if name not in own}
    return {} if rest.keys() <= {"type", "mimeType"} and own else rest


def _binary(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return a block that holds base64 without its texts, or nothing where it holds none."""
    resource = block.get("resource")
    if isinstance(resource, dict):
        held = {name: resource[name] for name in ("uri", "mimeType", *binary_members(resource)) if name in resource}
        return {"type": block["type"], "resource": held} if binary_members(resource) else {}
    named = ("type", "mimeType", *binary_members(block))
    return {name: block[name] for name in named if name in block} if binary_members(block) else {}
