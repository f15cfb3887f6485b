"""Whether a path can match anything in data that a JSON Schema describes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.paths.rules import after, fits_key, rule
from shaping.paths.schema import WRAPPED
from shaping.paths.schema_refs import Document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shaping.paths.rules import Rest

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
    document = Document(schema)
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


def _beside(document: Document, schema: dict[str, Any], rest: Rest) -> Iterator[tuple[Any, Rest]]:
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
