"""The parts that the dialects' JSON Schemas share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.errors.detail import REDIRECT_REASONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

VERSION = 2  # of the five wire forms; a test refuses a change of a schema that leaves it as it is

STRING = {"type": "string"}
STRINGS = {"type": "array", "items": STRING}
WHOLE = {"type": "integer", "minimum": 0}
NUMBER = {"type": "number", "minimum": 0}
FLAG = {"type": "boolean"}
OBJECT = {"type": "object"}
ANY: dict[str, Any] = {}


def closed(properties: Mapping[str, Any], required: Iterable[str] = ()) -> dict[str, Any]:
    """Return the schema of an object that has these members and no others."""
    return {**opened(properties, required), "additionalProperties": False}


def opened(properties: Mapping[str, Any], required: Iterable[str] = ()) -> dict[str, Any]:
    """Return the schema of an object that has these members and may have more."""
    return {"type": "object", "properties": dict(properties), "required": list(required)}


def document(name: str, about: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema as a file of its own."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"envelope.{name}.schema.json",
        "$comment": f"version {VERSION} of the wire forms",
        "title": f"The envelope in the dialect {name}",
        "description": about,
        **schema,
    }


def nullable(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Allow null where debug shows a member that nothing was said about."""
    return {"anyOf": [schema, {"type": "null"}]}


UPGRADE_HINT = closed({"feature": STRING, "tier": STRING, "reason": STRING}, ["feature", "tier", "reason"])
OMISSION = closed(
    {"path": STRING, "count": {"type": "integer"}, "reason": STRING, "tokens": {"type": "integer"}, "ref": STRING},
    ["path", "count", "reason"],
)
LISTED = closed({"path": STRING, "shown": WHOLE, "total": WHOLE}, ["path", "shown", "total"])
REDIRECT = closed(
    {
        "command": STRING,
        "permanent": FLAG,
        "reason": {"type": "string", "examples": list(REDIRECT_REASONS)},
    },
    ["command", "permanent"],
)
WARNING = {"anyOf": [STRING, closed({"code": STRING, "message": STRING, "path": STRING}, ["code", "message"])]}
WARNINGS = {"type": "array", "items": WARNING}

COMMON: Mapping[str, Any] = {
    "tier": STRING,
    "tool_version": STRING,
    "tool_id": STRING,
    "request_id": STRING,
    "session_id": STRING,
    "schema_version": STRING,
    "capabilities": STRINGS,
    "duration_ms": NUMBER,
    "estimated_tokens": WHOLE,
    "config_hash": STRING,
    "etag": STRING,
    "not_modified": FLAG,
    "truncated": FLAG,
    "shown": {"type": "array", "items": LISTED},
    "cursor": STRING,
    "ref": STRING,
    "upgrade_hints": {"type": "array", "items": UPGRADE_HINT},
    "omissions": {"anyOf": [STRING, {"type": "array", "items": OMISSION}]},
}

ERROR: Mapping[str, Any] = {
    "code": {"type": "string", "minLength": 1},
    "message": STRING,
    "hint": STRING,
    "retryable": FLAG,
    "http": {"type": "integer"},
    "retry_after": NUMBER,
    "phase": {"enum": ["validation", "execution", "cleanup"]},
    "next_actions": STRINGS,
    "similar": {"type": "array"},
    "details": OBJECT,
    "detail": STRING,
    "redirect": REDIRECT,
    "docs_url": STRING,
}


def common() -> dict[str, Any]:
    """Return the common members, each null where debug has nothing to show."""
    return {name: nullable(schema) for name, schema in COMMON.items()}
