"""One document against its model: pydantic's findings in the words of a config's author."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from shaping.settings import model
from shaping.settings.problems import ConfigProblem, Keys, one_of, suggestion_for

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from shaping.settings.jsonc import ConfigDocument

_LIMITS = ("max_tokens", "max_items", "max_string")
_EXPECTED = {
    "bool_type": "true or false",
    "string_type": "text",
    "string_too_short": "a name",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "int_type": "a positive integer",
    "int_from_float": "a positive integer",
    "float_type": "a positive number",
    "greater_than": "a positive number",
}
_QUOTED = re.compile(r"'([^']*)'|\b(True|False)\b")


def validate(document: ConfigDocument, kind: type[BaseModel]) -> list[ConfigProblem]:
    """Find everything in a document that its model does not allow."""
    try:
        kind.model_validate(document.data)
    except ValidationError as error:
        found = [_problem(document, kind, details) for details in error.errors(include_url=False)]
        return sorted(found, key=lambda problem: problem.line or 0)
    return []


def _problem(document: ConfigDocument, kind: type[BaseModel], details: ErrorDetails) -> ConfigProblem:
    keys = _keys(document.data, details["loc"])
    if details["type"] == "extra_forbidden":
        return _unknown_key(document, details["input"], keys, kind)
    valid = _words(details)
    value = keys[-1] if _is_key(details) else details["input"]
    says = "is not a valid key" if _is_key(details) else None
    return document.problem(keys, value, _expected(details, keys), suggestion=suggestion_for(value, valid), says=says)


def _unknown_key(document: ConfigDocument, value: Any, keys: Keys, kind: type[BaseModel]) -> ConfigProblem:
    valid = _names(_model_at(keys[:-1], kind))
    key = str(keys[-1])
    suggestion = suggestion_for(key, valid)
    expected = _elsewhere(key, kind) or one_of(sorted(valid))
    return document.problem(keys, value, expected, suggestion=suggestion, says="is not a known key")


def _elsewhere(key: str, kind: type[BaseModel]) -> str | None:
    if kind is not model.ConfigFile:
        return None
    homes: dict[str, type[BaseModel]] = {
        "global": model.Global,
        "tool_overrides": model.ToolOverride,
        "profiles": model.Profile,
        "the config itself": model.ConfigFile,
    }
    found = [home for home, known in homes.items() if key in _names(known)]
    return f"it under {one_of(found)}" if found else None


def _expected(details: ErrorDetails, keys: Keys) -> str:
    context = details.get("ctx", {})
    if details["type"] == "expected":
        return str(context["expected"])
    words = _words(details)
    if words:
        return one_of(words) + (", or an object" if keys[-1] == "redact" else "")
    if keys[-1] in _LIMITS:
        return "a positive integer, or leave it out for no limit"
    return _EXPECTED.get(details["type"], details["msg"])


def _words(details: ErrorDetails) -> list[str]:
    if details["type"] != "literal_error":
        return []
    found = _QUOTED.findall(details.get("ctx", {})["expected"])
    return [text or word.lower() for text, word in found]


def _is_key(details: ErrorDetails) -> bool:
    return details["loc"][-1] == "[key]"


def _keys(data: Any, loc: Sequence[str | int]) -> Keys:
    """Leave out of a location what only the model knows: which branch of a union, and that a key is meant."""
    keys: list[str | int] = []
    for step in loc:
        if _holds(data, step):
            data = data[step]
            keys.append(step)
    return tuple(keys)


def _holds(data: Any, step: str | int) -> bool:
    if isinstance(data, Mapping):
        return step in data
    return isinstance(data, list | tuple) and isinstance(step, int)


def _model_at(keys: Keys, kind: type[BaseModel]) -> type[BaseModel]:
    match keys:
        case ("global",):
            return model.Global
        case ("store",):
            return model.StoreSettings
        case ("profiles", _):
            return model.Profile
        case ("tool_overrides", _):
            return model.ToolOverride
        case ("tools", _):
            return model.ToolListing
        case (*_, "envelope"):
            return model.EnvelopeChoice
        case (*_, "redact"):
            return model.RedactRules
    return kind


def _names(kind: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in kind.model_fields.items()]
