"""The JSON Schema of a shaped answer: the declared one, projected by the plan and wrapped as the dialect wraps data."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from shaping.envelope.dialects.flat import TAKEN
from shaping.paths import Unprojectable, open_schema

if TYPE_CHECKING:
    from shaping.settings import Plan

logger = logging.getLogger("shaping")


def data_schema(plan: Plan, declared: dict[str, Any]) -> dict[str, Any]:
    """Project a schema as the plan projects data; an empty schema where that cannot be said."""
    try:
        projected = declared if plan.fields is None else plan.fields.schema(declared)
        return open_schema(projected, prune=plan.prune.anything or bool(plan.noise), lossy=True)
    except Unprojectable as reason:
        logger.warning("the output schema of %r is not advertised: %s", plan.tool, reason)
    except Exception as fault:  # noqa: BLE001 - a server may declare anything, and its tools must still be listed
        logger.warning("the output schema of %r cannot be read (%s)", plan.tool, type(fault).__name__)
    return {}


def tell_misses(plan: Plan, declared: dict[str, Any]) -> None:
    """Log the fields to keep that no answer of a tool can have: somebody misspelt them."""
    try:
        missed = [] if plan.fields is None else plan.fields.matches_nothing_in(declared)
    except Exception:  # noqa: BLE001 - what cannot be followed is told where it is to be advertised
        return
    if missed:
        logger.warning(
            "of %r, include_only names what its output schema does not have: %s", plan.tool, ", ".join(missed)
        )


def wire_schema(plan: Plan, declared: dict[str, Any], *, nullable: bool = False) -> dict[str, Any]:
    """Wrap the projected schema as the plan's dialect wraps the data; nullable where nothing may have changed."""
    projected = data_schema(plan, declared)
    definitions: dict[str, Any] = {name: projected.pop(name) for name in ("$defs", "definitions") if name in projected}
    if plan.dialect == "flat":
        return {**_flat(projected), **definitions}
    may_be_null = nullable or plan.dialect not in {"none", "lean"}
    data = {"anyOf": [*_forms(plan, projected), {"type": "null"}]} if may_be_null else projected
    if plan.dialect == "none":
        return {**data, **definitions}
    return {"type": "object", "properties": {"data": data}, "additionalProperties": True, **definitions}


def _forms(plan: Plan, projected: dict[str, Any]) -> list[dict[str, Any]]:
    """List what may stand for the data: where the contract takes no bare scalar, an object that holds it."""
    if plan.dialect != "invariant" or projected.get("type") in ("object", "array"):
        return [projected]
    return [projected, {"type": "object", "properties": {"value": projected}}]


def _flat(projected: dict[str, Any]) -> dict[str, Any]:
    """Say of the root only what holds beside `ok` and `_meta`; data whose own names are taken is under `result`."""
    known = projected.get("properties", {})
    if projected.get("type") != "object" or not TAKEN.isdisjoint(known):
        return {"type": "object"}
    unsaid = ("required", "additionalProperties", "patternProperties", "propertyNames", "maxProperties")
    return {word: said for word, said in projected.items() if word not in unsaid}
