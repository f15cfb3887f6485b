"""The JSON Schema of a shaped answer: the declared one, projected by the plan and wrapped as the dialect wraps data."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from shaping.paths import Unprojectable, open_schema

if TYPE_CHECKING:
    from shaping.settings import Plan

logger = logging.getLogger("shaping")


def data_schema(plan: Plan, declared: dict[str, Any]) -> dict[str, Any]:
    """Project a schema as the plan projects data; an empty schema where that cannot be said."""
    try:
        projected = declared if plan.fields is None else plan.fields.schema(declared)
        prunes = plan.prune.nulls or plan.prune.empty_arrays or plan.prune.empty_objects or plan.prune.defaults
        return open_schema(projected, prune=bool(prunes or plan.noise), lossy=True)
    except Unprojectable as reason:
        logger.warning("the output schema of %r is not advertised: %s", plan.tool, reason)
        return {}


def wire_schema(plan: Plan, declared: dict[str, Any]) -> dict[str, Any]:
    """Wrap the projected schema as the plan's dialect wraps the data."""
    projected = data_schema(plan, declared)
    if plan.dialect == "none":
        return projected
    definitions: dict[str, Any] = {name: projected.pop(name) for name in ("$defs", "definitions") if name in projected}
    if plan.dialect == "flat":
        return (
            {**projected, "type": "object", **definitions} if projected.get("type") == "object" else {"type": "object"}
        )
    data = projected if plan.dialect == "lean" else {"anyOf": [projected, {"type": "null"}]}
    return {"type": "object", "properties": {"data": data}, "additionalProperties": True, **definitions}
