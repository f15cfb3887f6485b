"""An OpenAPI schema as JSON Schema that stands on its own: references lead into its own `$defs`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shaping.operations.openapi.document import Document

# Members that say something about documents, not about values.
DROPPED = frozenset(
    {"example", "examples", "xml", "externalDocs", "discriminator", "nullable", "deprecated"}
    | {"$id", "$schema", "$recursiveAnchor", "$recursiveRef"}
)
NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
LITERAL = frozenset({"enum", "const", "default"})
BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}


class Portable:
    """Turns the schemas of one document into JSON Schemas; each definition is turned once."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._defs: dict[str, Any] = {}
        self._names: dict[str, str] = {}
        self._needs: dict[str, frozenset[str]] = {}
        self._inside: list[str] = []

    def schema(self, node: Any) -> dict[str, Any]:
        """Give one schema with every definition that it needs."""
        turned = self._turn(node)
        if not isinstance(turned, dict):
            return {} if turned else {"not": {}}
        needed = self._closure(_references(turned))
        return {**turned, "$defs": {name: self._defs[name] for name in needed}} if needed else turned

    def part(self, node: Any) -> Any:
        """Give one schema whose definitions the caller collects with `with_defs`."""
        return self._turn(node)

    def with_defs(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Add every definition that an already turned schema needs."""
        needed = self._closure(_references(schema))
        return {**schema, "$defs": {name: self._defs[name] for name in needed}} if needed else schema

    def _closure(self, start: frozenset[str]) -> list[str]:
        found, waiting = dict.fromkeys(sorted(start)), sorted(start, reverse=True)
        while waiting:
            for name in sorted(self._needs[waiting.pop()]):
                if name not in found:
                    found[name] = None
                    waiting.append(name)
        return list(found)

    def _turn(self, node: Any) -> Any:
        if isinstance(node, bool):
            return node
        if not isinstance(node, Mapping):
            return {}
        if isinstance(node.get("$ref"), str):
            return self._reference(node)
        turned = {
            word: self._value(word, value) for word, value in node.items() if word not in DROPPED and word[:2] != "x-"
        }
        if "$recursiveRef" in node and self._inside:
            # An earlier draft's way of saying "this same schema", which documents of 3.1 still use.
            return {**turned, "$ref": f"#/$defs/{self._inside[-1]}"}
        # Documents that call themselves 3.1 still use the words of 3.0.
        turned = _bounded(turned)
        return _nullable(turned) if node.get("nullable") is True else turned

    def _value(self, word: str, value: Any) -> Any:
        if word in LITERAL:
            return value
        if word == "required":
            # Some documents name a member twice, which JSON Schema does not allow.
            return (
                list(dict.fromkeys(name for name in value if isinstance(name, str))) if isinstance(value, list) else []
            )
        if word in NAMED:
            return {name: self._turn(part) for name, part in value.items()} if isinstance(value, Mapping) else {}
        if isinstance(value, list):
            return [self._turn(part) if isinstance(part, (Mapping, bool)) else part for part in value]
        return self._turn(value) if isinstance(value, Mapping) else value

    def _reference(self, node: Mapping[str, Any]) -> dict[str, Any]:
        ref = node["$ref"]
        if not ref.startswith("#"):
            return {}
        name = self._names.get(ref)
        if name is None:
            name = self._name(ref)
            # Entered before it is turned: it may contain itself.
            self._names[ref] = name
            self._defs[name] = {}
            self._needs[name] = frozenset()
            self._inside.append(name)
            self._defs[name] = self._turn(self._document.look_up(ref))
            self._inside.pop()
            self._needs[name] = _references(self._defs[name])
        said = {} if self._document.is_old else {k: v for k, v in node.items() if k in {"description", "default"}}
        return {"$ref": f"#/$defs/{name}", **said}

    def _name(self, ref: str) -> str:
        plain = re.sub(r"[^\w.-]", "_", ref.rsplit("/", 1)[-1]) or "root"
        name, number = plain, 2
        while name in self._defs:
            name, number = f"{plain}_{number}", number + 1
        return name


def _references(schema: Any) -> frozenset[str]:
    return frozenset(_walk(schema))


def _walk(schema: Any) -> Iterator[str]:
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            ref = node.get("$ref")
            if isinstance(ref, str) and ref.startswith("#/$defs/"):
                yield ref.removeprefix("#/$defs/")
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _bounded(schema: dict[str, Any]) -> dict[str, Any]:
    """Turn 3.0's `minimum: 1, exclusiveMinimum: true` into a number of its own."""
    out = dict(schema)
    for exclusive, bound in BOUNDS.items():
        if isinstance(out.get(exclusive), bool):
            is_exclusive = out.pop(exclusive)
            if is_exclusive and bound in out:
                out[exclusive] = out.pop(bound)
    return out


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """Turn 3.0's `nullable` into a type, an enum member, or a choice."""
    out = dict(schema)
    if isinstance(out.get("enum"), list) and None not in out["enum"]:
        out["enum"] = [*out["enum"], None]
    if isinstance(out.get("type"), str):
        out["type"] = [out["type"], "null"]
        return out
    return {"anyOf": [out, {"type": "null"}]} if out else {}
