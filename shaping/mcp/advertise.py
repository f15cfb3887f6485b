"""A tool as its client is shown it: the schema of what will really be sent, and no more words than needed."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shaping.mcp.channels import Channels, decide
from shaping.mcp.schema import tell_misses, wire_schema
from shaping.mcp.source import is_wrapper
from shaping.paths import open_schema
from shaping.paths.schema import WRAPPED
from shaping.settings.resolve import ranked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shaping.clients.table import Reads
    from shaping.settings import Config, Plan

logger = logging.getLogger("shaping")

EXPAND = "shaping_expand"
CONTROL = "_shape"
EXPAND_TOOL: dict[str, Any] = {
    "name": EXPAND,
    "description": "Get what an answer left out; path like items[0].name, rows[20:] or several: id,name",
    "inputSchema": {
        "type": "object",
        "properties": {
            "ref": {"type": "string"},
            "path": {"type": "string"},
            "cursor": {"type": "string"},
            "max_tokens": {"type": "integer"},
        },
        "required": ["ref"],
    },
}
_CONTROL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "How to shape the answer.",
    "properties": {
        "profile": {"type": "string"},
        "fields": {"type": "array", "items": {"type": "string"}},
        "max_tokens": {"type": "integer"},
    },
}


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool as one session knows it; fixed for that session's life."""

    wire: dict[str, Any]
    channels: Channels
    forced: bool
    declared: Mapping[str, Any] | None
    advertised: Mapping[str, Any] | None


def listed(tool: Mapping[str, Any], plan: Plan, reads: Reads | None, config: Config) -> Listed | None:
    """Show a tool to a client, or None where the config drops it from the list."""
    rules = _listing(tool["name"], config)
    if rules.get("drop"):
        return None
    chosen = decide(plan.channels, reads, typed=plan.typed)
    declared = tool.get("outputSchema")
    if declared is not None:
        tell_misses(plan, _inside_wrapper(declared) or dict(declared))
    shown = advertised_schema(plan, declared) if declared is not None and chosen.schema else None
    wire = {key: value for key, value in tool.items() if key != "outputSchema"}
    if shown is not None:
        wire["outputSchema"] = shown
    if config.agent_controls:
        wire["inputSchema"] = _with_control(tool.get("inputSchema") or {"type": "object"})
    described = _described(tool.get("description"), rules)
    if described is not None:
        wire["description"] = described
    return Listed(wire, chosen, plan.channels != "auto", declared, shown)


def advertised_schema(plan: Plan, declared: Mapping[str, Any]) -> dict[str, Any] | None:
    """Give the schema of what will be sent, or None where that cannot be said: a wrong schema is worse than none."""
    inner = _inside_wrapper(declared)
    projected = wire_schema(plan, dict(declared) if inner is None else inner)
    if not projected:
        return None
    # A call may choose its own fields, so no member can be promised to be there.
    schema = open_schema(projected, prune=True, lossy=True)
    if inner is not None:
        schema = _wrapped(schema, declared)
    if not _is_object(schema) or not _usable(schema):
        logger.warning("the output schema of %r is not one that clients accept and is not advertised", plan.tool)
        return None
    # Older clients accept a schema only with this word at its root, even beside a reference.
    return {"type": "object", **schema}


def _inside_wrapper(declared: Mapping[str, Any]) -> dict[str, Any] | None:
    """Give the schema of the value that a framework wrapped into an object, with the definitions it refers to."""
    properties = declared.get("properties") or {}
    if not is_wrapper(declared) or "result" not in properties:
        return None
    definitions = {key: declared[key] for key in ("$defs", "definitions") if key in declared}
    return {**properties["result"], **definitions}


def _wrapped(schema: dict[str, Any], declared: Mapping[str, Any]) -> dict[str, Any]:
    inner = dict(schema)
    definitions: dict[str, Any] = {key: inner.pop(key) for key in ("$defs", "definitions") if key in inner}
    mark: dict[str, Any] = {key: declared[key] for key in (WRAPPED, "title") if key in declared}
    return {"type": "object", "properties": {"result": inner}, **definitions, **mark}


def _is_object(schema: Mapping[str, Any]) -> bool:
    return schema.get("type", "object") == "object" and any(key in schema for key in ("type", "properties", "$ref"))


def _usable(schema: Mapping[str, Any]) -> bool:
    from shaping.mcp.validate import usable  # noqa: PLC0415 (an extra, and only for tools with a schema)

    return usable(schema)


def _listing(name: str, config: Config) -> dict[str, Any]:
    rules: dict[str, Any] = {}
    for pattern in ranked(name, config.tools):
        rules |= config.tools[pattern].model_dump(exclude_none=True)
    return rules


def _described(description: str | None, rules: Mapping[str, Any]) -> str | None:
    text: str | None = rules.get("description", description)
    most = rules.get("max_description")
    if text is None or most is None or len(text) <= most:
        return text
    return _cut(text, most)


def _cut(text: str, most: int) -> str:
    """Cut at the last sentence that fits, else at the last word: half a word says nothing."""
    head = text[:most]
    sentence = max(head.rfind(". "), head.rfind(".\n"))
    if sentence > most // 2:
        return head[: sentence + 1]
    return head[:-1].rsplit(None, 1)[0].rstrip(",;:") + "…" if " " in head else head


def _with_control(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {**schema, "properties": {**(schema.get("properties") or {}), CONTROL: _CONTROL_SCHEMA}}
