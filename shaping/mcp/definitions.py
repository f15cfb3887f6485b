"""What a server says of what it has: names, descriptions, addresses and schemas, without private fields in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from shaping.paths import FieldPlan

# Answers that describe what a server has: the names and descriptions in them are no data of its tools.
DEFINITIONS = frozenset(
    {"initialize", "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"}
)
# Members of a definition: words about what there is, schemas, and parts that are definitions in turn. All others may
# hold data.
_WORDS = frozenset({"name", "title", "description", "instructions", "uri", "uriTemplate", "mimeType", "version"})
_ADDRESSES = frozenset({"uri", "uriTemplate"})
_PARAMETER = re.compile(r"([?&;#/]([^?&;#/=]{1,400})=)([^?&;#/{}]+)")
NO_ADDRESS = "data:,"
ANSWER_WORDS = frozenset({"instructions", "protocolVersion"})  # of an answer that holds definitions
_SCHEMAS = frozenset({"inputSchema", "outputSchema"})
_PARTS = frozenset(
    {"tools", "prompts", "resources", "resourceTemplates", "arguments", "annotations", "serverInfo", "capabilities"}
)
# Members of a schema: words about a value, schemas by name, and schemas. All others may hold data.
_SCHEMA_WORDS = frozenset({"title", "description", "$comment", "pattern", "$ref", "$id", "required", "enum", "type"})
_SCHEMA_TEXTS = frozenset({"$comment", "pattern", "enum"})  # words in which a value may stand too
_HELD_WORDS = _SCHEMA_WORDS - {"enum", "pattern"} | {"format"}  # what a private property may still say
_SCHEMAS_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_SUBSCHEMAS = frozenset(
    {"items", "prefixItems", "anyOf", "allOf", "oneOf", "not", "if", "then", "else", "contains", "propertyNames"}
) | {"additionalProperties", "unevaluatedProperties", "unevaluatedItems", "additionalItems"}


def clean_members(
    value: Mapping[str, Any], clean: Callable[[dict[str, Any]], Mapping[str, Any]], skipped: Collection[str] = ()
) -> dict[str, Any]:
    """Clean an object as a whole but for the members to skip; the order of its members stays."""
    out = {
        **clean({name: member for name, member in value.items() if name not in skipped}),
        **{name: member for name, member in value.items() if name in skipped},
    }
    return {name: out[name] for name in (*value, *out) if name in out}


def clean_definition(said: Any, private: FieldPlan, names: Collection[str] = _WORDS) -> Any:
    """Take private fields out of a definition, or several; its `names`, and those in its schemas, are no data."""
    if isinstance(said, list):
        return [clean_definition(one, private) for one in said]
    if not isinstance(said, dict):
        return private.apply(said)
    words = {key for key in said.keys() & set(names) if isinstance(said[key], str)}
    parts = {key for key in said.keys() & (_SCHEMAS | _PARTS) if isinstance(said[key], dict | list)}
    if private.is_label(said.get("name")) or private.is_label(said.get("title")):
        said = {key: value for key, value in said.items() if key in words | parts or isinstance(value, bool)}
    cleaned = {key: clean_address(said[key], private) for key in words & _ADDRESSES}
    cleaned |= {
        key: (_clean_whole_schema if key in _SCHEMAS else clean_definition)(said[key], private) for key in parts
    }
    return clean_members({**said, **cleaned}, private.apply, words | parts)


def clean_address(address: str, private: FieldPlan) -> str:
    """Take the values of private parameters out of an address, which stays one."""
    if address.lstrip()[:5].lower() == "data:":
        return NO_ADDRESS if _names_private(address, private) else address
    # A value may be the name of what another parameter holds.
    is_label = any(private.is_label(unquote(found[3])) for found in _PARAMETER.finditer(address))

    def value(found: re.Match[str]) -> str:
        is_private = is_label or private.is_label(found[2]) or _names_private(found[3], private)
        return found[1] if is_private else found[0]

    return _PARAMETER.sub(value, address)


def _names_private(text: Any, private: FieldPlan) -> bool:
    """Return whether a text is more than the name of a private field and holds one."""
    return isinstance(text, str) and private.apply([text]) != [text]


def _clean_whole_schema(schema: Any, private: FieldPlan) -> Any:
    """Take private fields out of a schema; what a private property refers to is a part of it."""
    refs: set[str] = set()
    known = -1
    while known < len(refs):
        known = len(refs)
        clean = _clean_schema(schema, private, refs)
    return clean


def _clean_schema(schema: Any, private: FieldPlan, refs: set[str], *, held: bool = False) -> Any:
    """Take private fields out of the data in a schema; of a property that is one (`held`) only what it is stays.

    What such a property refers to is added to `refs`, which are held too.
    """
    if isinstance(schema, list):
        return [_clean_schema(one, private, refs, held=held) for one in schema]
    if not isinstance(schema, dict):
        return private.apply(schema)
    held = held or _is_private_schema(schema, private)
    if held and isinstance(schema.get("$ref"), str):
        refs.add(schema["$ref"])
    schema = {key: value for key, value in schema.items() if not _tells_value(key, schema, private)}
    named = {key for key in schema.keys() & _SCHEMAS_BY_NAME if isinstance(schema[key], dict)}
    inner = {key for key in schema.keys() & _SUBSCHEMAS if isinstance(schema[key], dict | list)}
    out: dict[str, Any] = {}
    for key, value in clean_members(schema, private.apply, named | inner | _SCHEMA_WORDS).items():
        if key in named:
            out[key] = {
                name: _clean_schema(
                    one, private, refs, held=held or private.is_label(name) or f"#/{key}/{name}" in refs
                )
                for name, one in value.items()
            }
        elif key in inner:
            out[key] = _clean_schema(value, private, refs, held=held)
        elif not held or key in _HELD_WORDS or isinstance(value, bool):
            out[key] = value
    return out


def _is_private_schema(schema: dict[str, Any], private: FieldPlan) -> bool:
    """Return whether a schema has a private title, or one of those that it is put together of."""
    parts = [one for key in ("anyOf", "allOf", "oneOf") if isinstance(schema.get(key), list) for one in schema[key]]
    return any(private.is_label(one.get("title")) for one in (schema, *parts) if isinstance(one, dict))


def _tells_value(key: str, schema: dict[str, Any], private: FieldPlan) -> bool:
    """Return whether a member of a schema is a text with a private field in it, or the values of a private name."""
    if key not in _SCHEMA_TEXTS:
        return False
    texts = schema[key] if isinstance(schema[key], list) else [schema[key]]
    names = schema.get("enumNames")
    is_named = key == "enum" and isinstance(names, list) and any(map(private.is_label, names))
    return is_named or any(_names_private(text, private) for text in texts)
