from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Literal

import jsonschema
import pytest
from hypothesis import assume, given, settings, strategies as st
from pydantic import BaseModel, TypeAdapter

from shaping.paths import PathError, Unprojectable, compile_fields, open_schema

KEYS = ["a", "b", "c", "a_url"]

leaves = st.sampled_from(
    [
        ({"type": "string", "minLength": 1}, st.sampled_from(["x", "yy"])),
        ({"type": "integer", "minimum": 0}, st.integers(0, 3)),
        ({"type": ["boolean", "null"]}, st.sampled_from([True, False, None])),
        ({"enum": ["x", 1, None]}, st.sampled_from(["x", 1, None])),
        ({"const": {"a": 1, "b": 2}}, st.just({"a": 1, "b": 2})),
        (True, st.sampled_from([1, "x", None, [1], {"a": {"b": 1}}, [{"a": 1}, 2]])),
        ({}, st.sampled_from([1, {"c": 1}])),
    ]
)
Pair = tuple[Any, st.SearchStrategy[Any]]


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    """An object schema with the values it takes: declared members, patterns, and undeclared ones."""
    declared = draw(st.dictionaries(st.sampled_from(KEYS), inner, max_size=4))
    schema: dict[str, Any] = {"type": "object", "properties": {key: pair[0] for key, pair in declared.items()}}
    required = [key for key in declared if draw(st.booleans())]
    optional = {key: pair[1] for key, pair in declared.items() if key not in required}
    extra, pattern, closed = draw(st.none() | inner), draw(st.none() | inner), draw(st.booleans())
    more: dict[str, st.SearchStrategy[Any]] = {}
    if required:
        schema["required"] = required
    if pattern:
        schema["patternProperties"] = {"^p_": pattern[0]}
        more |= {"p_url": pattern[1], "p_z": pattern[1]}
    if extra:
        schema["additionalProperties"] = extra[0]
        more |= {key: extra[1] for key in ("z", "d_url", *KEYS) if key not in declared}
    elif closed:
        schema["additionalProperties"] = False
    else:
        more |= {key: st.sampled_from([1, {"a": 1}]) for key in ("z", *KEYS) if key not in declared}
    value = st.fixed_dictionaries({key: declared[key][1] for key in required}, optional=optional | more)
    if draw(st.booleans()):
        schema |= draw(
            st.sampled_from(
                [
                    {"minProperties": 0, "maxProperties": 20},
                    {"propertyNames": {"maxLength": 20}},
                    {"unevaluatedProperties": True},
                    {"not": {"type": "string"}},
                    {"default": {"a": 1}, "examples": [{"a": 1}], "title": "T"},
                ]
            )
        )
    return schema, value


@st.composite
def arrays(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    if draw(st.booleans()):
        item, value = draw(inner)
        return {"type": "array", "items": item, "minItems": 1}, st.lists(value, min_size=1, max_size=3)
    places = draw(st.lists(inner, min_size=1, max_size=3))
    schema = {
        "type": "array",
        "prefixItems": [place[0] for place in places],
        "items": draw(st.sampled_from([False, True])),
    }
    return schema, st.tuples(*(place[1] for place in places)).map(list)


@st.composite
def choices(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    left, right = draw(inner), draw(inner)
    either = left[1] | right[1]
    kind = draw(st.sampled_from(["anyOf", "allOf", "if", "dependentSchemas"]))
    if kind == "allOf":
        return {"allOf": [left[0], {"title": "beside"}], "description": "both"}, left[1]
    if kind == "if":
        return {"if": left[0], "then": {}, "else": right[0]}, either
    if kind == "dependentSchemas":
        return {"dependentSchemas": {"a": left[0]}}, left[1] | st.integers(0, 3)
    return {"anyOf": [left[0], right[0]]}, either


@dataclass
class Tree:
    """A schema still without a name: nodes with a member of another schema and children of their own kind."""

    member: Any

    def named(self, name: str) -> dict[str, Any]:
        child = {"$ref": f"#/$defs/{name}"}
        below = {"a": self.member, "b": child, "c": {"type": "array", "items": child}}
        return {"type": "object", "properties": below, "required": ["a"], "additionalProperties": False}


@st.composite
def trees(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    schema, value = draw(inner)
    node = st.fixed_dictionaries({"a": value})
    return Tree(schema), st.recursive(
        node,
        lambda below: st.fixed_dictionaries({"a": value}, optional={"b": below, "c": st.lists(below, max_size=2)}),
        max_leaves=4,
    )


pairs: st.SearchStrategy[Pair] = st.recursive(
    leaves, lambda inner: objects(inner) | objects(inner) | arrays(inner) | choices(inner) | trees(inner), max_leaves=6
)


def lifted(schema: Any, into: dict[str, Any]) -> Any:
    """Write trees as references to definitions."""
    if isinstance(schema, Tree):
        name = f"Tree{len(into)}"
        into[name] = True
        into[name] = lifted(schema.named(name), into)
        return {"$ref": f"#/$defs/{name}"}
    if isinstance(schema, list):
        return [lifted(part, into) for part in schema]
    return {word: lifted(part, into) for word, part in schema.items()} if isinstance(schema, dict) else schema


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    schema, value = draw(pairs.filter(lambda pair: not isinstance(pair[0], bool)))
    definitions: dict[str, Any] = {}
    whole = lifted(schema, definitions)
    return {**whole, "$defs": definitions} if definitions else whole, draw(value)


steps = st.sampled_from(["a", "b", "c", "z", "*", "**", "*_url", "p_*", "d*"])
paths = st.lists(steps, min_size=1, max_size=3).map(".".join)
members = paths.filter(lambda path: not path.endswith("**"))
plans = st.fixed_dictionaries(
    {
        "include": st.none() | st.lists(paths, max_size=3),
        "exclude": st.lists(members, max_size=3),
        "rename": st.dictionaries(members, st.sampled_from(["a", "n", "p_n"]), max_size=1),
    }
)


@given(cases(), plans)
@settings(max_examples=250, deadline=None)
def test_a_filtered_value_fits_the_projected_schema_and_so_does_the_unfiltered(
    case: tuple[Any, Any], plan: Any
) -> None:
    schema, value = case
    assume(jsonschema.Draft202012Validator(schema).is_valid(value))
    try:
        fields = compile_fields(**plan)
    except PathError:
        return
    before = copy.deepcopy(schema)
    projected = fields.schema(schema)
    assert schema == before
    jsonschema.Draft202012Validator.check_schema(projected)
    validator = jsonschema.Draft202012Validator(projected)
    validator.validate(fields.apply(value))
    validator.validate(value)
