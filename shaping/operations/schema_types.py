"""From a JSON Schema to a pydantic type.

The type has models for objects, lists, unions and literals where these say what the schema says; what decides whether a
value is valid is the schema itself, by a library that implements the whole standard. So a type never takes what its
schema refuses, and never refuses what it takes.
"""

from __future__ import annotations

import keyword
import re
import warnings
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, WithJsonSchema, create_model

from shaping.operations.schemas import Draft, Validator
from shaping.paths.schema_projection import pointed

if TYPE_CHECKING:
    from collections.abc import Mapping

SCALARS: dict[str, Any] = {"string": str, "integer": int, "number": float | int, "boolean": bool, "null": None}
# Read as what they mean where they can be. JSON Schema only notes a format, so text stays text where they cannot.
FORMATS: dict[str, Any] = {
    name: Annotated[kind | str, Field(union_mode="left_to_right")]
    for name, kind in {"date-time": datetime, "date": date, "time": time, "duration": timedelta, "uuid": UUID}.items()
}
SHAPING_KEYWORDS = ("type", "properties", "items", "prefixItems", "enum", "const", "anyOf", "oneOf", "allOf", "$ref")
OBJECT_WORDS = frozenset({"properties", "required", "additionalProperties", "patternProperties"})
RESERVED = frozenset(dir(BaseModel))


class SchemaWarning(UserWarning):
    """A part of a schema that no type expresses, and what stands in its place."""


def from_schema(schema: Mapping[str, Any] | bool, name: str = "Model", *, draft: Draft | None = None) -> Any:
    """Return a pydantic type for a JSON Schema: models for objects, lists, unions, literals.

    The schema itself decides what is valid, so the type takes exactly what the schema takes. A part that no type
    expresses becomes Any, with a `SchemaWarning`. `draft` is read from the schema where it is not given.
    """
    written: dict[str, Any] = dict(schema) if not isinstance(schema, bool) else {} if schema else {"not": {}}
    try:
        validator = Validator(written, draft)
    except ImportError:
        raise
    except Exception as problem:  # noqa: BLE001  the library raises its own kinds for each thing a schema can get wrong
        warnings.warn(f"{name}: {_short(problem)}; any value is taken", SchemaWarning, stacklevel=2)
        return Any
    return Annotated[_built(written, name), BeforeValidator(_checking(validator)), WithJsonSchema(written)]


def _built(schema: dict[str, Any], name: str) -> Any:
    """Build the type and try it out; a type that pydantic cannot make is Any, which the schema still checks."""
    builder = _Builder(schema)
    try:
        built = builder.type_of(schema, name)
        builder.finish()
        TypeAdapter(built)
    except Exception as problem:  # noqa: BLE001  a schema may ask for a type that cannot exist
        warnings.warn(f"{name}: {_short(problem)}; its values have no type", SchemaWarning, stacklevel=3)
        return Any
    return built


def _checking(validator: Validator) -> Any:
    def check(value: Any) -> Any:
        if isinstance(value, BaseModel):
            return value
        if found := validator.issues(value):
            first = found[0]
            raise ValueError(f"{first['path']}: {first['message']}" if first["path"] else first["message"])
        return value

    return check


def _short(problem: Exception) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]


class _Builder:
    """One schema document on its way to types: each definition becomes one model, also where it contains itself."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._models: dict[str, Any] = {}
        self._names: set[str] = set()
        self._reserved: dict[str, str] = {}  # names of definitions, by reference, kept for their models

    def finish(self) -> None:
        """Join models that name one another."""
        known = {m.__name__: m for m in self._models.values() if isinstance(m, type) and issubclass(m, BaseModel)}
        for model in known.values():
            model.model_rebuild(_types_namespace=known)

    def type_of(self, schema: Any, name: str) -> Any:
        if not isinstance(schema, dict) or not any(word in schema for word in SHAPING_KEYWORDS):
            return Any
        if "$ref" in schema:
            return self._reference(schema["$ref"])
        if "const" in schema:
            return _literal([schema["const"]])
        if "enum" in schema:
            return _literal(schema["enum"])
        for word in ("anyOf", "oneOf"):
            if word in schema:
                return self._union(schema[word], name)
        if "allOf" in schema:
            return self._together(schema, name)
        return self._by_type(schema, name)

    def _by_type(self, schema: dict[str, Any], name: str) -> Any:
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return _joined([self._by_type({**schema, "type": kind}, name) for kind in kinds])
        if kinds == "object" and schema.get("properties"):
            return self._model(schema, name)
        if kinds == "object":
            extra = schema.get("additionalProperties")
            closed = "patternProperties" in schema
            value = Any if closed else self.type_of(extra, f"{name}Value")
            return dict[str, value]  # type: ignore[valid-type]  # a type made at run time
        if kinds == "array":
            return self._list(schema, name)
        if kinds == "string":
            return FORMATS.get(schema.get("format", ""), str)
        # Without a type the other keywords only hold for values of theirs, so any other value is valid.
        return SCALARS.get(kinds, Any) if isinstance(kinds, str) else Any

    def _list(self, schema: dict[str, Any], name: str) -> Any:
        first = schema.get("prefixItems", schema.get("items"))
        if isinstance(first, list):
            exact = schema.get("minItems") == schema.get("maxItems") == len(first) > 0
            kinds = tuple(self.type_of(item, f"{name}{number}") for number, item in enumerate(first))
            return tuple.__class_getitem__(kinds) if exact else list[Any]
        item = self.type_of(first, f"{name}Item")
        return list[item]  # type: ignore[valid-type]  # the same

    def _model(self, schema: dict[str, Any], name: str) -> Any:
        required = schema.get("required") or ()
        fields: dict[str, Any] = {}
        for member, part in schema["properties"].items():
            kind = self.type_of(part, f"{name}{_capital(member)}")
            field_name = _field_name(member, fields)
            fields[field_name] = _field(kind, part, member, needed=member in required)
        closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
        config = ConfigDict(extra="forbid" if closed else "allow", populate_by_name=True, protected_namespaces=())
        doc = schema.get("description")
        made = create_model(self._own(name), __config__=config, __doc__=doc if isinstance(doc, str) else None, **fields)
        self._models.setdefault(f" {made.__name__}", made)
        return made

    def _own(self, name: str) -> str:
        """Return the name of a model: its definition's, which others may already refer to, else one of its own."""
        return name if name in self._reserved.values() else self._unique(name)

    def _unique(self, name: str) -> str:
        unique, number = name, 2
        while unique in self._names:
            unique, number = f"{name}{number}", number + 1
        self._names.add(unique)
        return unique

    def _union(self, choices: list[Any], name: str) -> Any:
        return _joined([self.type_of(choice, f"{name}{number or ''}") for number, choice in enumerate(choices)])

    def _together(self, schema: dict[str, Any], name: str) -> Any:
        """Read `allOf` of objects as one object with the members of all of them."""
        own = {word: schema[word] for word in (*SHAPING_KEYWORDS, *OBJECT_WORDS) if word in schema and word != "allOf"}
        parts = [part for part in map(self._resolved, (*schema["allOf"], own)) if part]
        if len(parts) == 1:
            return self.type_of(parts[0], name)
        if not all(set(part) & OBJECT_WORDS and part.get("type", "object") == "object" for part in parts):
            return Any
        merged: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
        for part in parts:
            if set(part) & {"anyOf", "oneOf", "allOf", "$ref"}:
                return Any
            merged["properties"].update(part.get("properties") or {})
            merged["required"] += part.get("required") or []
        # Only an object of a declared type is surely one; without, any other value is valid too.
        return self._by_type(merged, name) if any("type" in part for part in parts) else Any

    def _resolved(self, part: Any) -> dict[str, Any]:
        if isinstance(part, dict) and set(part) == {"$ref"}:
            found = self._look_up(part["$ref"])
            return found if isinstance(found, dict) else {}
        return part if isinstance(part, dict) else {}

    def _reference(self, ref: str) -> Any:
        """Return the type of a definition; of one that is being built, its name, which is filled in at the end."""
        target = self._look_up(ref)
        if not isinstance(target, dict):
            return Any
        if ref in self._models:
            return self._models[ref]
        if ref in self._reserved:
            # Only a model can be named before it is made.
            return self._reserved[ref] if _is_model(target) else Any
        name = self._reserved[ref] = self._unique(_capital(ref.rsplit("/", 1)[-1]) or "Root")
        self._models[ref] = self.type_of(target, name)
        return self._models[ref]

    def _look_up(self, ref: str) -> Any:
        return pointed(self._root, ref[1:]) if ref == "#" or ref.startswith("#/") else None


def _is_model(schema: dict[str, Any]) -> bool:
    combined = {"$ref", "const", "enum", "anyOf", "oneOf", "allOf"}
    return schema.get("type") == "object" and bool(schema.get("properties")) and not combined & schema.keys()


def _field(kind: Any, part: Any, member: str, *, needed: bool) -> Any:
    description = part.get("description") if isinstance(part, dict) else None
    about: dict[str, Any] = {"alias": member, "description": description if isinstance(description, str) else None}
    if needed:
        return (kind, Field(**about))
    if isinstance(part, dict) and "default" in part:
        return (kind, Field(default=part["default"], **about))
    return (_joined([kind, None]), Field(default=None, **about))


def _field_name(member: str, taken: Mapping[str, Any]) -> str:
    """Return a name that Python and pydantic allow; the alias is the member's own."""
    name = re.sub(r"\W", "_", member).lstrip("_") or "member"
    if name[0].isdigit() or keyword.iskeyword(name) or name in RESERVED or name in taken:
        name = f"member_{name}"
    while name in taken:
        name += "_"
    return name


def _literal(values: Any) -> Any:
    """Return the choices of text as a literal; numbers are left to the schema, to which 1 and 1.0 are the same."""
    if isinstance(values, list) and values and all(isinstance(value, str) for value in values):
        return Literal[tuple(values)]
    return Any


def _joined(kinds: list[Any]) -> Any:
    """Return the union; text names of models that are not made yet stay text."""
    if not kinds or any(kind is Any for kind in kinds):
        return Any
    return Union[tuple(kinds)]  # noqa: UP007  made at run time, of names as well as types


def _capital(text: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"\W+", text))
