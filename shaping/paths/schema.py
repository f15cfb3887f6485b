"""A field plan applied to a JSON Schema, so that what is advertised is what is sent.

Two things hold for every value that is valid under the given schema: the filtered value is valid under the projected
one, and so is the unfiltered value, which debug sends, and the fallback for a result that does not fit. So constraints
are only ever dropped, never added, the result is open, and only members that are always there are required.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.paths.rules import State, after, fits_key, rule
from shaping.paths.schema_keywords import WRITERS
from shaping.paths.schema_projection import Projection, SchemaDocument, Unprojectable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shaping.paths.rules import Rest

# What FastMCP marks a schema with whose data is under `result`; the plan is about that data.
WRAPPED = "x-fastmcp-wrap-result"


def project(schema: dict[str, Any], state: State) -> dict[str, Any]:
    """Apply the rules to a schema, or raise Unprojectable."""
    return _run(Projection(SchemaDocument(schema), WRITERS), schema, state)


def open_schema(schema: dict[str, Any], *, prune: bool, lossy: bool) -> dict[str, Any]:
    """Open a schema for data that may be pruned (nothing is required) or cut and redacted (no fine constraints)."""
    return _run(Projection(SchemaDocument(schema), WRITERS, prune=prune, lossy=lossy), schema, State())


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


_CHOICES = ("allOf", "anyOf", "oneOf", "prefixItems")
_BESIDE = ("then", "else", "items", "additionalItems")
_MEMBERS = ("properties", "patternProperties", "additionalProperties", "dependentSchemas")
_TELLING = (*_CHOICES, *_BESIDE, *_MEMBERS, "$ref")
_SCALARS = frozenset(("string", "number", "integer", "boolean", "null"))


def may_match(path: str, schema: dict[str, Any]) -> bool:
    """Say whether some value under a schema may have something at a path.

    An object with declared properties is taken to have no others unless it says what they are: that a schema is silent
    about them is how most schemas are written, and a misspelt path must not hide behind it.
    """
    document = SchemaDocument(schema)
    start = schema.get("properties", {}).get("result", True) if schema.get(WRAPPED) is True else schema
    seen: set[tuple[int, Rest]] = set()
    todo: list[tuple[Any, Rest]] = [(start, rule(path))]
    while todo:
        here, rest = todo.pop()
        if here is False or (id(here), rest) in seen:
            continue
        seen.add((id(here), rest))
        if not rest or not isinstance(here, dict) or _says_nothing(here):
            return True
        todo += _beside(document, here, rest)
        todo += _below(here, rest)
    return False


def _says_nothing(schema: dict[str, Any]) -> bool:
    """Say whether a schema leaves open what is in a value under it."""
    if any(word in schema for word in _TELLING):
        return False
    listed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if listed is not None:
        return any(isinstance(value, dict | list) for value in listed)
    types = schema.get("type", "object")
    return not _SCALARS.issuperset([types] if isinstance(types, str) else types)


def _beside(document: SchemaDocument, schema: dict[str, Any], rest: Rest) -> Iterator[tuple[Any, Rest]]:
    """Give the subschemas for the same value and, because paths map through lists, for its elements."""
    for word in _CHOICES:
        yield from ((part, rest) for part in schema.get(word, ()))
    for word in _BESIDE:
        part = schema.get(word, False)
        yield from ((each, rest) for each in (part if isinstance(part, list) else [part]))
    yield from ((part, rest) for part in schema.get("dependentSchemas", {}).values())
    if "$ref" in schema:
        yield document.target(schema["$ref"]), rest


def _below(schema: dict[str, Any], rest: Rest) -> Iterator[tuple[Any, Rest]]:
    """Give the subschemas of members, declared and not."""
    for key, part in schema.get("properties", {}).items():
        yield from ((part, left) for left in after((rest,), fits_key(key)))
    unknown = [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties", False)]
    for part in unknown:
        yield from ((part, left) for left in after((rest,), lambda _: True))
