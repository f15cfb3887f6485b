"""What an operation takes and returns: a JSON Schema or a Python type that reads input and normalises output."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, Protocol, TypeAlias, runtime_checkable

from pydantic import PydanticUserError, TypeAdapter, ValidationError, WithJsonSchema, WrapValidator
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic_core import PydanticSerializationError

from shaping.errors import ToolError
from shaping.errors.validation import candidates, issues, place, summary
from shaping.paths.schema_projection import pointed

Accepts: TypeAlias = Callable[[Any], bool]
MAX_DEPTH = 100
TRUTH = {"true": True, "false": False}


def normalise(schema: Mapping[str, Any], value: Any, accepts: Accepts) -> Any:
    """Return the value in the schema's form; where that form is not sure, as it was.

    Only members that the schema calls optional are filled in: a missing required member stays missing.
    """
    settled = _Normaliser(schema).settle(schema, value, 0)
    return settled if accepts(settled) else value


class _Normaliser:
    """One schema document, in which references are looked up."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def settle(self, schema: Any, value: Any, depth: int) -> Any:
        rules = self._rules(schema, depth)
        if not rules or depth > MAX_DEPTH:
            return value
        if isinstance(value, dict):
            return self._object(rules, value, depth)
        if isinstance(value, list):
            return self._list(rules, value, depth)
        return _coerced(rules[-1].get("type"), value) if len(rules) == 1 else value

    def _rules(self, schema: Any, depth: int) -> list[Mapping[str, Any]]:
        """Return the schemas that all hold for a value; none where a choice between several is open."""
        if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
            return []
        if any(word in schema for word in ("anyOf", "oneOf", "if", "not", "dependentSchemas")):
            return self._only_choice(schema, depth)
        rules = [schema]
        for part in [self._target(schema.get("$ref")), *schema.get("allOf", ())]:
            if part is not None:
                rules += self._rules(part, depth + 1) or [{"additionalProperties": True}]
        return rules

    def _only_choice(self, schema: Mapping[str, Any], depth: int) -> list[Mapping[str, Any]]:
        """Read `X or null` as X: the one choice between schemas that leaves nothing open."""
        choices = [c for c in schema.get("anyOf") or schema.get("oneOf") or () if c != {"type": "null"}]
        alone = len(choices) == 1 and not any(word in schema for word in ("if", "not", "dependentSchemas", "allOf"))
        return self._rules(choices[0], depth + 1) if alone else []

    def _target(self, ref: Any) -> Any:
        return pointed(self._root, ref[1:]) if isinstance(ref, str) and (ref == "#" or ref.startswith("#/")) else None

    def _object(self, rules: list[Mapping[str, Any]], value: dict[str, Any], depth: int) -> dict[str, Any]:
        known = {name: member for rule in rules for name, member in (rule.get("properties") or {}).items()}
        required = {name for rule in rules for name in rule.get("required") or ()}
        if not known:
            return value
        keep = any(_is_open(rule) for rule in rules)
        kept = {
            name: self.settle(known[name], item, depth + 1) if name in known else item
            for name, item in value.items()
            if keep or name in known
        }
        return kept | {
            name: member["default"]
            for name, member in known.items()
            if name not in value and name not in required and isinstance(member, Mapping) and "default" in member
        }

    def _list(self, rules: list[Mapping[str, Any]], value: list[Any], depth: int) -> list[Any]:
        items = [
            rule["items"] for rule in rules if isinstance(rule.get("items"), Mapping) and "prefixItems" not in rule
        ]
        return [self.settle(items[-1], item, depth + 1) for item in value] if items else value


def _is_open(rule: Mapping[str, Any]) -> bool:
    """Whether a schema says itself that it takes members it does not name."""
    return rule.get("additionalProperties") not in (None, False) or "patternProperties" in rule


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


Draft: TypeAlias = Literal["7", "2020-12"]

# What a message shows in place of the value, which may be a secret.
MASK = "it"


class Validator:
    """A compiled JSON Schema; references to other documents are never fetched."""

    def __init__(self, schema: dict[str, Any], draft: Draft | None = None) -> None:
        rules = _library()
        name = draft or _draft(schema)
        known = {"7": rules.Draft7Validator, "2020-12": rules.Draft202012Validator}
        self._masked = known[name](schema, mask=MASK, offline=True)

    def accepts(self, value: Any) -> bool:
        """Whether a value fits; what is not JSON does not."""
        try:
            return bool(self._masked.is_valid(value))
        except ValueError:
            return False

    def issues(self, value: Any) -> list[dict[str, str]]:
        """List what does not fit as path, kind and sentence, without the values."""
        try:
            return list(self._issues(value))
        except ValueError as problem:
            return [{"path": "", "type": "json", "message": f"not JSON: {type(problem).__name__}"}]

    def _issues(self, value: Any) -> Iterator[dict[str, str]]:
        for found in self._masked.iter_errors(value):
            yield {"path": place(found.instance_path), "type": str(found.schema_path[-1]), "message": found.message}


def _draft(schema: dict[str, Any]) -> Draft:
    """Return the draft that the schema names, else the one whose words it uses."""
    named = str(schema.get("$schema", ""))
    if named:
        return "7" if any(old in named for old in ("draft-07", "draft-06", "draft-04")) else "2020-12"
    return "7" if any(_is_old(part) for part in _parts(schema)) else "2020-12"


def _is_old(part: dict[str, Any]) -> bool:
    return isinstance(part.get("items"), list) or "additionalItems" in part


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def _library() -> Any:
    try:
        import jsonschema_rs  # noqa: PLC0415  an extra, imported where it is used
    except ImportError:
        raise ImportError('checking a JSON Schema needs an extra: pip install "shaping[http]"') from None
    return jsonschema_rs


Issue: TypeAlias = dict[str, str]
Settled: TypeAlias = tuple[Any, list[Issue]]
SHOWN = 8  # names in a warning, which a model may have to read


@runtime_checkable
class OperationSchema(Protocol):
    """A description of values that can be shown, that reads input, and that settles output."""

    @property
    def json(self) -> dict[str, Any]:
        """The JSON Schema to show."""
        ...

    def read(self, value: Any) -> Any:
        """Return what the handler gets for this input, or raise a validation error that names every issue."""
        ...

    def settle(self, value: Any) -> Settled:
        """Return output in its declared form, or as it is where that cannot be reached; and what was wrong about it."""
        ...


def schema_of(source: Any) -> OperationSchema:
    """Make a schema of a JSON Schema, a pydantic model, a TypeAdapter or any type; None takes everything."""
    if source is None or source is True or source == {}:
        return Anything()
    if isinstance(source, OperationSchema):
        return source
    if isinstance(source, Mapping) or source is False:
        return JsonSchema(source if isinstance(source, bool) else dict(source))
    return PythonType(source if isinstance(source, TypeAdapter) else TypeAdapter(source))


class Anything:
    """Takes every value."""

    @property
    def json(self) -> dict[str, Any]:
        """The JSON Schema to show."""
        return {}

    def read(self, value: Any) -> Any:
        """Return the input as it is."""
        return value

    def settle(self, value: Any) -> Settled:
        """Return the output as it is."""
        return value, []


class JsonSchema:
    """A JSON Schema as it was written."""

    def __init__(self, schema: dict[str, Any] | bool) -> None:
        self._schema = schema

    @property
    def json(self) -> dict[str, Any]:
        """The JSON Schema to show."""
        return self._schema if isinstance(self._schema, dict) else {"not": {}}

    @cached_property
    def _validator(self) -> Validator:
        return Validator(self.json)

    def read(self, value: Any) -> Any:
        """Return the input as it is where it is valid."""
        found = self._validator.issues(value)
        if found:
            raise invalid(found)
        return value

    def settle(self, value: Any) -> Settled:
        """Strip, fill and coerce, where the value is valid after it."""
        settled = normalise(self.json, value, self._validator.accepts)
        if not self._validator.accepts(settled):
            return value, self._validator.issues(value)
        wrong = [] if self._validator.accepts(value) else self._validator.issues(value)
        return settled, wrong or stripped(value, settled)


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
            raise invalid(issues(problem), similar=candidates(problem)) from None

    def settle(self, value: Any) -> Settled:
        """Return the value as JSON by its type."""
        try:
            read = self.adapter.validate_python(value)
        except ValidationError as problem:
            return value, issues(problem)
        try:
            settled = self.adapter.dump_python(read, mode="json", by_alias=True)
        except (PydanticSerializationError, ValueError):
            # A type that has no JSON form, bytes that are no text, a cycle: how those are told is for shaping to say.
            return value, []
        if wrong := stripped(value, settled):
            # What was given by a field's own name, or by one that is for reading alone, stands under its alias now.
            by_name = self.adapter.dump_python(read, mode="json", by_alias=False)
            wrong = stripped(value, settled, by_name, unread=self._unread(value))
        return settled, wrong

    def _unread(self, value: Any) -> set[str] | None:
        """Name the members that are read by no name or alias; None where this pydantic cannot tell."""
        try:
            self.adapter.validate_python(value, extra="forbid")
        except ValidationError as problem:
            return {str(one["loc"][-1]) for one in problem.errors(include_url=False) if one["type"] in _EXTRA}
        except TypeError:  # before 2.12
            return None
        return set()


_EXTRA = frozenset({"extra_forbidden", "unexpected_keyword_argument"})


def stripped(value: Any, *forms: Any, unread: set[str] | None = None) -> list[Issue]:
    """Name the members that no declared form has a place for; only what was plain data can be compared."""
    first, *others = [dict.fromkeys(_lost(value, form, "")) for form in forms]
    lost = [path for path in first if all(path in other for other in others)]
    if unread is not None:
        lost = [path for path in lost if any(f".{path}".endswith(f".{name}") for name in unread)]
    if not lost:
        return []
    more = f" and {len(lost) - SHOWN} more" if len(lost) > SHOWN else ""
    message = f"not in the declared output and left out: {', '.join(lost[:SHOWN])}{more}"
    return [{"path": "", "type": "stripped", "message": message}]


def _lost(value: Any, settled: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict) and isinstance(settled, dict):
        for key, item in value.items():
            name = key if key in settled else str(key)  # JSON has only text for names
            where = f"{path}.{name}" if path else name
            yield from _lost(item, settled[name], where) if name in settled else (where,)
    elif isinstance(value, list) and isinstance(settled, list):
        for item, kept in zip(value, settled, strict=False):
            yield from _lost(item, kept, f"{path}[]")


def invalid(found: list[Issue], **fields: Any) -> ToolError:
    """Make the error for input that does not fit: nothing was done, and every issue is listed."""
    return ToolError("BAD_ARGUMENT", summary(found), phase="validation", details={"issues": found}, **fields)


class SchemaWarning(UserWarning):
    """A schema for which there is no type, and what stands in its place."""


def from_schema(schema: Mapping[str, Any] | bool, name: str = "Model", *, draft: Draft | None = None) -> Any:
    """Return a type for a JSON Schema, with a class for each object, for pydantic to validate by.

    The schema itself decides what is valid, so the type takes exactly what the schema takes: a value that the classes
    cannot hold stays plain data. `draft` is read from the schema where it is not given.
    """
    try:
        from fastmcp.utilities.json_schema_type import json_schema_to_type  # noqa: PLC0415 (an extra)
    except ImportError:
        raise ImportError('a type for a JSON Schema needs an extra: pip install "shaping[mcp]"') from None
    written: dict[str, Any] = dict(schema) if not isinstance(schema, bool) else {} if schema else {"not": {}}
    try:
        validator = Validator(written, draft)
    except ImportError:
        raise
    except Exception as problem:  # noqa: BLE001  the library raises its own kinds for each thing a schema can get wrong
        reason = (str(problem).strip().splitlines() or [type(problem).__name__])[0]
        warnings.warn(f"{name}: {reason}; any value is taken", SchemaWarning, stacklevel=2)
        return Any
    try:
        made = json_schema_to_type(written, name if written.get("type") == "object" else None)
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

    return Annotated[made, WrapValidator(read), WithJsonSchema(written)]
