"""What an operation takes and returns: a JSON Schema or a Python type that reads input and normalises output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Protocol, TypeAlias, runtime_checkable

from pydantic import PydanticUserError, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic_core import PydanticSerializationError

from shaping.errors import ToolError
from shaping.errors.validation import issues, likely_meant, summary
from shaping.operations.json_schema import Validator, normalise

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
            raise invalid(issues(problem), similar=likely_meant(problem)) from None

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
