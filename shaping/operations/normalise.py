"""Bringing a value into its schema's form: unknown members stripped, defaults filled in, text read as what it means."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from shaping.paths.schema_projection import pointed

Accepts: TypeAlias = Callable[[Any], bool]
MAX_DEPTH = 100
TRUTH = {"true": True, "false": False}


def normalise(schema: Mapping[str, Any], value: Any, accepts: Accepts) -> Any:
    """Give the value in the schema's form; where that form is not sure, as it was.

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
        """Give the schemas that all hold for a value; none where a choice between several is open."""
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
