"""What a JSON Schema validator refused, told by the schema's words: its own message repeats the value."""

from __future__ import annotations

from typing import Any

import orjson

from shaping.errors.issues import place

_LONGEST = 200


def schema_fault(exc: BaseException) -> dict[str, str] | None:
    """Tell where and which rule, for the exceptions of jsonschema and jsonschema_rs; None for any other."""
    if hasattr(exc, "json_path") and hasattr(exc, "validator"):
        rule = str(exc.validator)
        expected = _shown(getattr(exc, "validator_value", None))
        return _issue(str(exc.json_path).removeprefix("$").removeprefix("."), rule, f"expected {rule} {expected}")
    if hasattr(exc, "instance_path") and hasattr(exc, "schema_path"):
        rule = str([*exc.schema_path][-1]) if exc.schema_path else "schema"
        return _issue(place(exc.instance_path), rule, f"does not satisfy {rule}")
    return None


def _issue(path: str, rule: str, message: str) -> dict[str, str]:
    return {"path": path, "type": rule, "message": message}


def _shown(expected: Any) -> str:
    return orjson.dumps(expected, default=str).decode()[:_LONGEST]
