"""The JSON Schema of a tool's structured content, once it is shaped."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson

from shaping.envelope.dialects.flat import TAKEN
from shaping.paths import Unprojectable, open_schema
from shaping.paths.schema import WRAPPED
from shaping.response import import_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shaping.settings.plan import Plan

logger = logging.getLogger("shaping")


def data_schema(plan: Plan, declared: dict[str, Any]) -> dict[str, Any]:
    """Project a schema as the plan projects data; an empty schema where that cannot be said."""
    if declared.get("type") == "string":
        # Data in a string stays in a string where the data stands alone; an envelope holds it as data.
        return declared if plan.dialect == "none" else {}
    try:
        if plan.fields is None or _asks_inside_string(plan, declared):
            return open_schema(declared)
        return plan.fields.schema(declared)
    except Unprojectable as reason:
        logger.warning("the output schema of %r is not advertised: %s", plan.tool, reason)
    except Exception as fault:  # noqa: BLE001 - a server may declare anything, and its tools must still be listed
        logger.warning("the output schema of %r cannot be read (%s)", plan.tool, type(fault).__name__)
    return {}


def warn_unmatched(plan: Plan, declared: dict[str, Any]) -> None:
    """Log the fields to keep that no answer of a tool can have: somebody misspelt them."""
    try:
        if plan.fields is None or _asks_inside_string(plan, declared):
            return
        missed = plan.fields.matches_nothing_in(declared)
    except Exception:  # noqa: BLE001 - what cannot be followed is told where it is to be advertised
        return
    if missed:
        logger.warning(
            "of %r, include_only names what its output schema does not have: %s", plan.tool, ", ".join(missed)
        )


def asks_inside(plan: Plan, key: str) -> bool:
    """Return whether fields to keep mean what the one string of an object holds, because none names the string."""
    fields = plan.fields
    is_named = fields is None or not fields.selective or fields.state.member(key) is not None
    return not is_named and not is_excluded(plan, key)


def is_excluded(plan: Plan, key: str) -> bool:
    """Return whether a member of the data goes by its name."""
    states = [held.state for held in (plan.fields, plan.private) if held is not None]
    return any(type(state)(exclude=state.exclude).member(key) is None for state in states)


def _asks_inside_string(plan: Plan, declared: Mapping[str, Any]) -> bool:
    """Return whether fields mean what the one string of an object holds, by the object's schema."""
    members = list((declared.get("properties") or {}).items())
    return len(members) == 1 and members[0][1].get("type") == "string" and asks_inside(plan, members[0][0])


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
    """Describe only what holds beside `ok` and `_meta`; data whose own names are taken stands under `result`."""
    known = projected.get("properties", {})
    if projected.get("type") != "object" or not TAKEN.isdisjoint(known):
        return {"type": "object"}
    unsaid = ("required", "additionalProperties", "patternProperties", "propertyNames", "maxProperties")
    return {word: said for word, said in projected.items() if word not in unsaid}


def advertised_schema(plan: Plan, declared: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the schema of what will be sent, or None where that cannot be said: a wrong schema is worse than none."""
    inner = inside_wrapper(declared)
    projected = wire_schema(plan, dict(declared) if inner is None else inner)
    if not projected:
        return None
    # A call may choose its own fields, so no member can be promised to be there.
    schema = open_schema(projected)
    if inner is not None:
        schema = _wrapped(schema, declared)
    if not _is_object(schema) or not usable(schema):
        logger.warning("the output schema of %r is not one that clients accept and is not advertised", plan.tool)
        return None
    # Older clients accept a schema only with this word at its root, even beside a reference.
    return {"type": "object", **schema}


def is_wrapper(schema: Mapping[str, Any]) -> bool:
    """Return whether a schema is of an object into which a framework put a value that is none."""
    if schema.get(WRAPPED) is True:
        return True
    # The SDK's own wrapper carries no mark but a title of its own making.
    return str(schema.get("title", "")).endswith("Output") and (schema.get("properties") or {}).keys() == {"result"}


def inside_wrapper(declared: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the schema of the value that a framework wrapped into an object, with the definitions it refers to."""
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


def shows_no_more(new: Any, old: Any) -> bool:
    """Return whether every property of one schema is also one of another, at the same place."""
    if isinstance(new, dict) and isinstance(old, dict):
        named = new.get("properties") or {}
        return named.keys() <= (old.get("properties") or {}).keys() and all(
            shows_no_more(value, old.get(key)) for key, value in new.items() if isinstance(value, dict | list)
        )
    if isinstance(new, list) and isinstance(old, list):
        return len(new) == len(old) and all(map(shows_no_more, new, old))
    return not isinstance(new, dict | list)


def is_valid(schema: Mapping[str, Any], value: Any) -> bool:
    """Return whether a value fits a schema; the schema is compiled once."""
    valid = _compiled(orjson.dumps(schema))
    try:
        return valid(value)
    except ValueError:  # it takes no subclass, as the digits of an integer beyond 64 bits are of a string
        return valid(orjson.loads(orjson.dumps(value)))


def usable(schema: Mapping[str, Any]) -> bool:
    """Return whether a schema can be compiled at all: one that cannot must not be advertised."""
    try:
        _compiled(orjson.dumps(schema))
    except ValueError:
        return False
    return True


@lru_cache(maxsize=1024)
def _compiled(schema: bytes) -> Callable[[Any], bool]:
    rules = import_extra("jsonschema_rs", "mcp", "checking an MCP result")
    is_valid: Callable[[Any], bool] = rules.validator_for(orjson.loads(schema)).is_valid
    return is_valid
