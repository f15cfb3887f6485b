"""What an operation takes and returns: a JSON Schema or a Python type that reads input and normalises output."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import cached_property
from typing import Annotated, Any, TypeAlias

from pydantic import PydanticUserError, TypeAdapter, ValidationError, WithJsonSchema, WrapValidator
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic_core import PydanticSerializationError

from shaping.errors import ToolError
from shaping.errors.exceptions import issues, json_location, likely_meant, summary
from shaping.paths.schema import resolve_pointer
from shaping.response import import_extra

Issue: TypeAlias = dict[str, str]
Normalised: TypeAlias = tuple[Any, list[Issue]]
SHOWN = 8  # names in a warning, which a model may have to read
_EXTRA = frozenset({"extra_forbidden", "unexpected_keyword_argument"})


def schema_of(source: Any) -> OperationSchema:
    """Make a schema of a JSON Schema, a pydantic model, a TypeAdapter or any type; None takes everything."""
    if isinstance(source, OperationSchema):
        return source
    if source is None or isinstance(source, bool | Mapping):
        return JsonSchema({"not": {}} if source is False else dict(source) if isinstance(source, Mapping) else {})
    return PythonType(source if isinstance(source, TypeAdapter) else TypeAdapter(source))


# What a message shows in place of the value, which may be a secret.
MASK = "it"
TRUTH = {"true": True, "false": False}
# Words that leave open which schemas hold for a value.
_CHOICES = ("anyOf", "oneOf", "if", "not", "dependentSchemas")


class JsonSchema:
    """A JSON Schema as it was written; an empty one takes every value, without the library that checks them.

    Normalising fills in only members that the schema calls optional, and leaves a value as it was where its form is not
    sure.
    """

    def __init__(self, schema: dict[str, Any] | None = None) -> None:
        self.json = schema or {}

    @cached_property
    def compiled(self) -> Any:
        """The validator; references to other documents are never fetched."""
        rules = import_extra("jsonschema_rs", "http", "checking a JSON Schema")
        try:
            return rules.validator_for(self.json, mask=MASK, offline=True)
        except ValueError:  # a schema that names no draft is commonly one of draft 7
            return rules.Draft7Validator(self.json, mask=MASK, offline=True)

    def accepts(self, value: Any) -> bool:
        """Whether a value is valid; a value that is not JSON is not."""
        validator = self.compiled
        try:
            return bool(validator.is_valid(value))
        except ValueError:
            return False

    def issues(self, value: Any) -> list[Issue]:
        """List every violation as path, keyword and message, without the values."""
        if not self.json:
            return []
        try:
            found = list(self.compiled.iter_errors(value))
        except ValueError as problem:
            return [{"path": "", "type": "json", "message": f"not JSON: {type(problem).__name__}"}]
        return [
            {"path": json_location(one.instance_path), "type": str(one.schema_path[-1]), "message": one.message}
            for one in found
        ]

    def read(self, value: Any) -> Any:
        """Return the input as it is where it is valid."""
        if found := self.issues(value):
            raise _invalid(found)
        return value

    def normalise(self, value: Any) -> Normalised:
        """Return output in its declared form, where it can be brought into it, and what was wrong about it."""
        if not self.json:
            return value, []
        wrong = self.issues(value)
        try:
            normalised = self._normalised(self.json, value)
        except RecursionError:  # a value that is nested too deep, or references that lead in a circle
            return value, wrong
        if not self.accepts(normalised):
            return value, wrong
        return normalised, wrong or _stripped_issues(_removed_paths(value, normalised, ""))

    def _normalised(self, schema: Any, value: Any) -> Any:
        rules = self._rules(schema)
        if isinstance(value, dict):
            return self._object(rules, value)
        if isinstance(value, list):
            items = [r["items"] for r in rules if isinstance(r.get("items"), Mapping) and "prefixItems" not in r]
            return [self._normalised(items[-1], item) for item in value] if items else value
        return _coerced(rules[-1].get("type"), value) if len(rules) == 1 else value

    def _rules(self, schema: Any) -> list[Mapping[str, Any]]:
        """Return the schemas that a value must all satisfy; none where a choice between several is open."""
        if not isinstance(schema, Mapping):
            return []
        if any(word in schema for word in _CHOICES):
            # `X or null` is X: the one choice between schemas that leaves nothing open.
            choices = [c for c in schema.get("anyOf") or schema.get("oneOf") or () if c != {"type": "null"}]
            alone = len(choices) == 1 and not any(word in schema for word in (*_CHOICES[2:], "allOf"))
            return self._rules(choices[0]) if alone else []
        rules, ref = [schema], str(schema.get("$ref"))
        is_inside = ref == "#" or ref.startswith("#/")
        for part in [resolve_pointer(self.json, ref[1:]) if is_inside else None, *schema.get("allOf", ())]:
            if part is not None:
                rules += self._rules(part) or [{"additionalProperties": True}]
        return rules

    def _object(self, rules: list[Mapping[str, Any]], value: dict[str, Any]) -> dict[str, Any]:
        known = {name: member for rule in rules for name, member in (rule.get("properties") or {}).items()}
        required = {name for rule in rules for name in rule.get("required") or ()}
        if not known:
            return value
        # Only a schema that says so takes members that it does not name.
        keep = any(r.get("additionalProperties") not in (None, False) or "patternProperties" in r for r in rules)
        kept = {
            name: self._normalised(known[name], item) if name in known else item
            for name, item in value.items()
            if keep or name in known
        }
        return kept | {
            name: member["default"]
            for name, member in known.items()
            if name not in value and name not in required and isinstance(member, Mapping) and "default" in member
        }


def _coerced(kind: Any, value: Any) -> Any:
    """Read a scalar as the type it should have, where that loses nothing."""
    if not isinstance(kind, str):
        return value  # several types, or none: what it says may well be meant
    if not isinstance(value, str):
        return int(value) if kind == "integer" and isinstance(value, float) and value.is_integer() else value
    if kind == "boolean":
        return TRUTH.get(value, value)
    if kind not in {"integer", "number"}:
        return value
    try:
        number = int(value) if kind == "integer" else float(value)
    except ValueError:
        return value
    return number if math.isfinite(number) else value


class PythonType:
    """A Python type that pydantic validates."""

    def __init__(self, adapter: TypeAdapter[Any]) -> None:
        self.adapter = adapter

    @cached_property
    def json(self) -> dict[str, Any]:
        """The JSON Schema to show."""
        try:
            return self.adapter.json_schema()
        except (PydanticUserError, PydanticInvalidForJsonSchema):
            # A type that JSON cannot describe still validates; a caller sees that anything is taken.
            return {}

    def read(self, value: Any) -> Any:
        """Return an instance of the type."""
        try:
            return self.adapter.validate_python(value)
        except ValidationError as problem:
            raise _invalid(issues(problem), similar=likely_meant(problem)) from None

    def normalise(self, value: Any) -> Normalised:
        """Return output as JSON by its type, where it is of that type, and what was wrong about it."""
        try:
            read = self.adapter.validate_python(value)
        except ValidationError as problem:
            return value, issues(problem)
        try:
            normalised = self.adapter.dump_python(read, mode="json", by_alias=True)
        except (PydanticSerializationError, ValueError):
            # A type that has no JSON form, bytes that are no text, a cycle: how those are told is for shaping to say.
            return value, []
        removed = list(_removed_paths(value, normalised, ""))
        # What was given by a field's own name, or by one that is for reading alone, stands under its alias now.
        unknown = self._unknown_members(value) if removed else set()
        return normalised, _stripped_issues(path for path in removed if path.rpartition(".")[2] in unknown)

    def _unknown_members(self, value: Any) -> set[str]:
        """Name the members that are read by no name or alias."""
        try:
            self.adapter.validate_python(value, extra="forbid")
        except ValidationError as problem:
            return {str(one["loc"][-1]) for one in problem.errors(include_url=False) if one["type"] in _EXTRA}
        return set()


OperationSchema: TypeAlias = JsonSchema | PythonType


def _removed_paths(value: Any, normalised: Any, path: str) -> Iterator[str]:
    """Yield the paths of members that the settled value has no place for; only plain data can be compared."""
    if isinstance(value, dict) and isinstance(normalised, dict):
        for key, item in value.items():
            name = key if key in normalised else str(key)  # JSON has only text for names
            where = f"{path}.{name}" if path else name
            yield from _removed_paths(item, normalised[name], where) if name in normalised else (where,)
    elif isinstance(value, list) and isinstance(normalised, list):
        for item, kept in zip(value, normalised, strict=False):
            yield from _removed_paths(item, kept, f"{path}[]")


def _stripped_issues(paths: Iterator[str]) -> list[Issue]:
    removed = list(dict.fromkeys(paths))
    if not removed:
        return []
    more = f" and {len(removed) - SHOWN} more" if len(removed) > SHOWN else ""
    message = f"not in the declared output and left out: {', '.join(removed[:SHOWN])}{more}"
    return [{"path": "", "type": "stripped", "message": message}]


def _invalid(found: list[Issue], **fields: Any) -> ToolError:
    """Make the error for input that does not fit: nothing was done, and every issue is listed."""
    return ToolError("BAD_ARGUMENT", summary(found), phase="validation", details={"issues": found}, **fields)


class SchemaWarning(UserWarning):
    """A schema for which there is no type."""


def from_schema(schema: Mapping[str, Any] | bool, name: str = "Model") -> Any:
    """Return a type for a JSON Schema, with a class for each object, for pydantic to validate by.

    The schema itself decides what is valid, so the type takes exactly what the schema takes: a value that the classes
    cannot hold stays plain data.
    """
    types = import_extra("fastmcp.utilities.json_schema_type", "mcp", "a type for a JSON Schema")
    document: dict[str, Any] = dict(schema) if not isinstance(schema, bool) else {} if schema else {"not": {}}
    validator = JsonSchema(document)
    try:
        validator.accepts(None)
    except ImportError:
        raise
    except Exception as problem:  # noqa: BLE001  the library raises its own kinds for each thing a schema can get wrong
        reason = (str(problem).strip().splitlines() or [type(problem).__name__])[0]
        warnings.warn(f"{name}: {reason}; any value is taken", SchemaWarning, stacklevel=2)
        return Any
    try:
        made = types.json_schema_to_type(document, name if document.get("type") == "object" else None)
        TypeAdapter(made)
    except Exception:  # noqa: BLE001  a schema may ask for a type that cannot exist; it still checks the values
        made = Any

    def read(value: Any, handler: Callable[[Any], Any]) -> Any:
        found = [] if is_dataclass(value) else validator.issues(value)
        if found:
            raise ValueError(f"{found[0]['path']}: {found[0]['message']}".removeprefix(": "))
        try:
            return handler(value)
        except ValidationError:
            return value

    return Annotated[made, WrapValidator(read), WithJsonSchema(document)]
