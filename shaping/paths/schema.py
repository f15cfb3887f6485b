"""The JSON Schema of filtered data: a projection of the schema that a tool declares by a field plan.

Two things hold for a value that is valid under a schema: the filtered value is valid under the projected schema, and so
is the unfiltered value, which debug sends, and the fallback for a result that does not fit. Data may also lack its
empties, and be cut and redacted. So constraints are only ever dropped, never added: the result says of what kind things
are and what they are called, is open, and requires nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from shaping.paths.grammar import Deep, Glob, Name
from shaping.paths.rules import State, read_rule
from shaping.paths.selection import after, after_key

if TYPE_CHECKING:
    from shaping.paths.private import Rest

# What FastMCP marks a schema with whose data is under `result`; the plan is about that data.
WRAPPED = "x-fastmcp-wrap-result"
# Rules with many `**` over recursive schemas multiply; a schema that large helps no client.
MOST_DEFINITIONS = 1000
_ANNOTATIONS = frozenset(("type", "title", "description", "deprecated", "nullable", "$schema", WRAPPED))


class Unprojectable(ValueError):  # noqa: N818 - the name says what the schema is
    """A schema that the plan cannot be applied to, and why: it must not be advertised."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _target(root: dict[str, Any], ref: Any) -> Any:
    """Return the subschema that a reference leads to."""
    if not isinstance(ref, str) or not ref.startswith("#"):
        raise Unprojectable(f"the reference {ref!r} leads out of the schema")
    found = resolve_pointer(root, ref[1:]) if ref[1:2] in ("", "/") else None
    if found is None:
        raise Unprojectable(f"the reference {ref!r} leads nowhere")
    return found


def resolve_pointer(root: Any, fragment: str) -> Any:
    """Follow a JSON pointer as a reference writes it behind its `#`; None where it leads nowhere."""
    here = root
    for step in fragment.split("/")[1:]:
        part = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(here, Mapping):
            here = here.get(part)
        elif isinstance(here, list) and part.isdecimal() and int(part) < len(here):
            here = here[int(part)]
        else:
            return None
    return here


def project(schema: dict[str, Any], state: State) -> dict[str, Any]:
    """Apply field rules to a schema, or raise Unprojectable."""
    run = _Projection(schema)
    try:
        result = _project_wrapped(run, schema, state) if schema.get(WRAPPED) is True else run.sub(schema, state)
    except RecursionError:
        raise Unprojectable("the schema is nested too deep") from None
    return {**result, "$defs": run.definitions} if run.definitions else result


def open_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of data that may lack its empties and be cut and redacted, but is not filtered."""
    return project(schema, State())


def _project_wrapped(run: _Projection, schema: dict[str, Any], state: State) -> dict[str, Any]:
    """Apply the rules to the data under `result`, which itself always stays."""
    outer = {word: value for word, value in schema.items() if word in _ANNOTATIONS}
    return {**outer, "properties": {"result": run.sub(schema.get("properties", {}).get("result", {}), state)}}


@dataclass(slots=True)
class _Projection:
    """One projection of a document, and the definitions made so far."""

    root: dict[str, Any]
    definitions: dict[str, Any] = field(default_factory=dict)
    named: dict[tuple[str, State], str] = field(default_factory=dict)

    def sub(self, schema: Any, state: State) -> Any:
        """Project one subschema at a place of the data."""
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            raise Unprojectable(f"a schema is an object or a boolean, not {schema!r}")
        if "$id" in schema and schema is not self.root:
            raise Unprojectable("a subschema has an $id of its own")
        result = {word: value for word, value in schema.items() if word in _ANNOTATIONS}
        if "$ref" in schema:
            result["$ref"] = self._reference(schema["$ref"], state)
        if "properties" in schema:
            result["properties"] = self._properties(schema["properties"], state)
        others = self._undeclared(schema, state)
        if others is not True:
            result["additionalProperties"] = others
        # A list whose places have schemas of their own may lose elements: nothing is said of what is left.
        if "prefixItems" not in schema and not isinstance(schema.get("items", True), bool | list):
            result["items"] = self.sub(schema["items"], state)
        clauses = [self.sub(part, state) for part in schema.get("allOf", ())]
        # Filtered values may fit several branches that whole values fitted one of.
        choices = (schema[word] for word in ("anyOf", "oneOf") if word in schema)
        clauses += [any_of(self.sub(part, state) for part in choice) for choice in choices]
        return _with_clauses(result, [clause for clause in clauses if clause not in (True, {})])

    def _properties(self, declared: dict[str, Any], state: State) -> dict[str, Any]:
        """Write the kept members; where several may come to have a name, only what the first is called is known."""
        ambiguous = {name for rest, name in state.rename if all(isinstance(step, Deep) for step in rest[:-1])}
        found: dict[str, Any] = {}
        for key, schema in declared.items():
            verdict = state.member(key)
            if verdict is None or verdict.name in found:
                continue
            written = self.sub(schema, verdict.state)
            if verdict.name in ambiguous and isinstance(written, dict):
                written = {word: written[word] for word in ("title", "description") if word in written}
            found[verdict.name] = True if verdict.name in ambiguous and written is False else written
        return found

    def _undeclared(self, schema: dict[str, Any], state: State) -> Any:
        """Write what fits a member that is not declared, whatever the rules make of it; True for anything."""
        others, heads = schema.get("additionalProperties", True), set(state.heads())
        fixed = all((verdict := state.member(key)) and verdict.name == key for key in schema.get("properties", ()))
        patterns = any(isinstance(head, Glob) and head.pattern != "*" for head in heads)
        if isinstance(others, bool) or "patternProperties" in schema or state.rename or patterns or not fixed:
            return True
        verdicts = [state.judge("", lambda step: isinstance(step, Glob))]
        verdicts += [state.member(head.key) for head in heads if isinstance(head, Name)]
        states = dict.fromkeys(verdict.state for verdict in verdicts if verdict is not None)
        return any_of(self.sub(others, each) for each in states) if states else True

    def _reference(self, ref: Any, state: State) -> str:
        """Refer to the projection of a definition; the same definition in two states becomes two."""
        target = _target(self.root, ref)
        key = (unquote(ref[1:]), state)
        name = self.named.get(key)
        if name is None:
            if len(self.named) >= MOST_DEFINITIONS:
                raise Unprojectable(f"the projected schema has more than {MOST_DEFINITIONS} definitions")
            name = self.named[key] = self._fresh(key[0])
            self.definitions[name] = True
            self.definitions[name] = self.sub(target, state)
        return f"#/$defs/{name}"

    def _fresh(self, pointer: str) -> str:
        base = re.sub(r"[^A-Za-z0-9_.-]", "_", pointer.rsplit("/", 1)[-1]) or "root"
        names = (base if at == 1 else f"{base}_{at}" for at in range(1, MOST_DEFINITIONS + 2))
        return next(name for name in names if name not in self.definitions)


def _with_clauses(schema: dict[str, Any], clauses: list[Any]) -> dict[str, Any]:
    """Add what must hold besides: a choice alone by its own word, anything else as `allOf`."""
    if len(clauses) == 1 and isinstance(clauses[0], dict) and clauses[0].keys() == {"anyOf"}:
        return {**schema, **clauses[0]}
    return {**schema, "allOf": clauses} if clauses else schema


def any_of(schemas: Iterable[Any]) -> Any:
    """Return the schema of values that fit at least one."""
    branches: list[Any] = []
    for schema in schemas:
        if schema is True or schema == {}:
            return True
        if schema is not False and schema not in branches:
            branches.append(schema)
    if not branches:
        return False
    return branches[0] if len(branches) == 1 else {"anyOf": branches}


_CHOICES = ("allOf", "anyOf", "oneOf", "prefixItems")
_BESIDE = ("then", "else", "items", "additionalItems")
_MEMBERS = ("properties", "patternProperties", "additionalProperties", "dependentSchemas")
_TELLING = (*_CHOICES, *_BESIDE, *_MEMBERS, "$ref")
_SCALARS = frozenset(("string", "number", "integer", "boolean", "null"))


def may_match(path: str, schema: dict[str, Any]) -> bool:
    """Return whether some value under a schema may have something at a path.

    An object with declared properties is taken to have no others unless it says what they are: that a schema is silent
    about them is how most schemas are written, and a misspelt path must not hide behind it.
    """
    start = schema.get("properties", {}).get("result", True) if schema.get(WRAPPED) is True else schema
    seen: set[tuple[int, Rest]] = set()
    todo: list[tuple[Any, Rest]] = [(start, read_rule(path))]
    while todo:
        here, rest = todo.pop()
        if here is False or (id(here), rest) in seen:
            continue
        seen.add((id(here), rest))
        if not rest or not isinstance(here, dict) or _says_nothing(here):
            return True
        todo += _beside(schema, here, rest)
        todo += _below(here, rest)
    return False


def _says_nothing(schema: dict[str, Any]) -> bool:
    """Return whether a schema leaves open what is in a value under it."""
    if any(word in schema for word in _TELLING):
        return False
    listed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if listed is not None:
        return any(isinstance(value, dict | list) for value in listed)
    types = schema.get("type", "object")
    return not _SCALARS.issuperset([types] if isinstance(types, str) else types)


def _beside(root: dict[str, Any], schema: dict[str, Any], rest: Rest) -> Iterator[tuple[Any, Rest]]:
    """Yield the subschemas for the same value and, because paths map through lists, for its elements."""
    for word in _CHOICES:
        yield from ((part, rest) for part in schema.get(word, ()))
    for word in _BESIDE:
        part = schema.get(word, False)
        yield from ((each, rest) for each in (part if isinstance(part, list) else [part]))
    yield from ((part, rest) for part in schema.get("dependentSchemas", {}).values())
    if "$ref" in schema:
        yield _target(root, schema["$ref"]), rest


def _below(schema: dict[str, Any], rest: Rest) -> Iterator[tuple[Any, Rest]]:
    """Yield the subschemas of members, declared and not."""
    for key, part in schema.get("properties", {}).items():
        yield from ((part, left) for left in after_key((rest,), key))
    unknown = [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties", False)]
    for part in unknown:
        yield from ((part, left) for left in after((rest,), lambda _: True))
