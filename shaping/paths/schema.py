"""A field plan applied to a JSON Schema, so that what is advertised is what is sent.

Two things hold for every value that is valid under the given schema: the filtered value is valid under the projected
one, and so is the unfiltered value, which debug sends, and the fallback for a result that does not fit. So constraints
are only ever dropped, never added, the result is open, and only members that are always there are required.
"""

from __future__ import annotations

from typing import Any

from shaping.paths import schema_members, schema_values
from shaping.paths.projection import Projection
from shaping.paths.rules import State
from shaping.paths.schema_refs import Document, Unprojectable

# What FastMCP marks a schema with whose data is under `result`; the plan is about that data.
WRAPPED = "x-fastmcp-wrap-result"

_WRITERS = {**schema_values.WRITERS, **schema_members.WRITERS}


def project(schema: dict[str, Any], state: State) -> dict[str, Any]:
    """Apply the rules to a schema, or raise Unprojectable."""
    return _run(Projection(Document(schema), _WRITERS), schema, state)


def open_schema(schema: dict[str, Any], *, prune: bool, lossy: bool) -> dict[str, Any]:
    """Open a schema for data that may be pruned (nothing is required) or cut and redacted (no fine constraints)."""
    return _run(Projection(Document(schema), _WRITERS, prune=prune, lossy=lossy), schema, State())


def _run(projection: Projection, schema: dict[str, Any], state: State) -> dict[str, Any]:
    try:
        result = _wrapped(projection, schema, state) if schema.get(WRAPPED) is True else projection.sub(schema, state)
    except RecursionError:
        raise Unprojectable("the schema is nested too deep") from None
    return {**result, "$defs": projection.definitions} if projection.definitions else result


def _wrapped(projection: Projection, schema: dict[str, Any], state: State) -> dict[str, Any]:
    """Apply the rules to the data under `result`, which itself always stays."""
    outer = {word: value for word, value in schema.items() if word not in {"properties", "$defs", "definitions"}}
    inner = schema.get("properties", {}).get("result", {})
    return {**outer, "properties": {"result": projection.sub(inner, state)}}
