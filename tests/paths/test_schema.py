from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given, settings, strategies as st
from pydantic import BaseModel, ConfigDict, Field

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


def projected(schema: dict[str, Any], **rules: Any) -> dict[str, Any]:
    return compile_fields(**rules).schema(schema)


class User(BaseModel):
    login: str
    id: int


class Issue(BaseModel):
    model_config = ConfigDict(extra="forbid")

    number: int = Field(ge=1, description="Its number.")
    user: User
    assignee: User | None
    labels: list[User] = []


def test_the_schema_of_a_model_loses_what_the_plan_drops() -> None:
    assert projected(Issue.model_json_schema(), include=["number", "user.login", "assignee.login"]) == {
        "$defs": {
            "User": {
                "properties": {"login": {"title": "Login", "type": "string"}},
                "title": "User",
                "type": "object",
            }
        },
        "properties": {
            "number": {"description": "Its number.", "title": "Number", "type": "integer"},
            "user": {"$ref": "#/$defs/User"},
            "assignee": {"anyOf": [{"$ref": "#/$defs/User"}, {"type": "null"}]},
        },
        "title": "Issue",
        "type": "object",
    }


def test_one_definition_under_two_sets_of_rules_becomes_two() -> None:
    schema = projected(Issue.model_json_schema(), exclude=["user.id", "number"])
    assert schema["properties"]["user"] == {"$ref": "#/$defs/User"}
    assert schema["properties"]["labels"]["items"] == {"$ref": "#/$defs/User_2"}
    assert [sorted(schema["$defs"][name]["properties"]) for name in ("User", "User_2")] == [["login"], ["id", "login"]]


def test_a_recursive_schema_is_specialised_for_each_state_it_recurs_in() -> None:
    node = {"type": "object", "properties": {"x": {}, "y": {}, "sub": {"$ref": "#"}}, "required": ["x", "sub"]}
    assert projected(node, exclude=["sub.sub.x"]) == {
        "type": "object",
        "properties": {"x": {}, "y": {}, "sub": {"$ref": "#/$defs/root"}},
        "$defs": {
            "root": {
                "type": "object",
                "properties": {"x": {}, "y": {}, "sub": {"$ref": "#/$defs/root_2"}},
            },
            "root_2": {
                "type": "object",
                "properties": {"y": {}, "sub": {"$ref": "#/$defs/root_3"}},
            },
            "root_3": {
                "type": "object",
                "properties": {"x": {}, "y": {}, "sub": {"$ref": "#/$defs/root_3"}},
            },
        },
    }


@pytest.mark.parametrize(
    ("schema", "rules", "expected"),
    [
        ({"properties": {"a": True}, "additionalProperties": False}, {"exclude": ["b"]}, {"properties": {"a": True}}),
        ({"unevaluatedProperties": False, "maxProperties": 1, "not": {}}, {"exclude": ["b"]}, {}),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, {}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (
            {"anyOf": [{"type": "object"}, {"type": "array"}], "oneOf": [{"type": "array"}, {"type": "object"}]},
            {},
            {
                "allOf": [
                    {"anyOf": [{"type": "object"}, {"type": "array"}]},
                    {"anyOf": [{"type": "array"}, {"type": "object"}]},
                ]
            },
        ),
        ({"oneOf": [{"type": "string"}]}, {}, {"allOf": [{"type": "string"}]}),
        ({"anyOf": [{"type": "string"}, {}]}, {}, {}),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {}, {}),
        (
            {"additionalProperties": {"properties": {"a": {}, "b": {}}}},
            {"exclude": ["*.b"]},
            {"additionalProperties": {"properties": {"a": {}}}},
        ),
        ({"patternProperties": {"^x": {"type": "object"}}, "additionalProperties": {"type": "string"}}, {}, {}),
        ({"additionalProperties": {"type": "object"}}, {"exclude": ["a*.x"]}, {}),
        (
            {"properties": {"login": {"type": "string", "title": "Login"}}, "required": ["login"]},
            {"rename": {"login": "author"}},
            {"properties": {"author": {"title": "Login"}}},
        ),
        (
            {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}},
            {"rename": {"a": "b"}, "exclude": ["b"]},
            {"properties": {"b": {}}},
        ),
        (
            {"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}},
            {"rename": {"*_id": "a"}},
            {"properties": {"a": {}}},
        ),
        ({"prefixItems": [{"type": "object"}], "items": {"type": "array"}, "minItems": 2}, {"include": ["a"]}, {}),
        ({"items": [{"type": "string"}], "additionalItems": False}, {"include": ["a"]}, {}),
        ({"enum": [{"a": 1}], "const": 1, "default": {"a": 1}, "format": "uri"}, {"exclude": ["a"]}, {}),
        (
            {"x-note": [1], "type": "object", "$schema": "s", "$id": "https://x"},
            {"exclude": ["a"]},
            {"type": "object", "$schema": "s"},
        ),
    ],
)
def test_each_keyword_says_no_more_than_stays_true(
    schema: dict[str, Any], rules: dict[str, Any], expected: Any
) -> None:
    assert projected(schema, **rules) == expected


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"$ref": "https://elsewhere/x"}, "the reference 'https://elsewhere/x' leads out of the schema"),
        ({"$ref": "#/$defs/x"}, "the reference '#/$defs/x' leads nowhere"),
        ({"$ref": "#/allOf/7", "allOf": [{}]}, "the reference '#/allOf/7' leads nowhere"),
        ({"$ref": "#/type/x", "type": "object"}, "the reference '#/type/x' leads nowhere"),
        ({"$ref": "#name"}, "the reference '#name' leads nowhere"),
        ({"items": {"$id": "x"}}, "a subschema has an $id of its own"),
        ({"items": 3}, "a schema is an object or a boolean, not 3"),
    ],
)
def test_a_schema_that_cannot_be_projected_is_refused_with_the_reason(schema: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unprojectable) as caught:
        projected(schema, exclude=["a"])
    assert caught.value.reason == reason


def test_references_by_pointer_are_followed() -> None:
    schema = {
        "$id": "https://here/s",
        "allOf": [{"$ref": "#/$defs/t"}, {"$ref": "#/x~1y/0"}],
        "x/y": [{"type": "object"}],
        "$defs": {"t": {"properties": {"a": {}, "b": {}}}},
    }
    assert projected(schema, exclude=["a"]) == {
        "allOf": [{"$ref": "#/$defs/t"}, {"$ref": "#/$defs/0"}],
        "$defs": {"t": {"properties": {"b": {}}}, "0": {"type": "object"}},
    }


def test_a_schema_nested_too_deep_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(5000):
        schema = {"items": schema}
    with pytest.raises(Unprojectable, match="nested too deep"):
        projected(schema, exclude=["a"])


def test_a_schema_that_would_grow_without_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaping.paths.schema.MOST_DEFINITIONS", 2)
    node = {"properties": {"x": {}, "sub": {"$ref": "#"}}}
    with pytest.raises(Unprojectable, match="more than 2 definitions"):
        projected(node, exclude=["sub.sub.sub.x"])


def test_the_plan_is_about_the_data_that_fastmcp_wraps() -> None:
    schema = {
        "type": "object",
        "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/User"}}},
        "required": ["result"],
        "x-fastmcp-wrap-result": True,
        "$defs": {"User": {"properties": {"login": {}, "id": {}}}},
    }
    assert projected(schema, include=["login"]) == {
        "type": "object",
        "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/User"}}},
        "x-fastmcp-wrap-result": True,
        "$defs": {"User": {"properties": {"login": {}}}},
    }


def test_an_opened_schema_requires_nothing_and_has_no_fine_constraints() -> None:
    schema = {
        "properties": {
            "a": {"type": "string", "pattern": "x", "format": "uri", "maxLength": 9, "enum": ["x"], "title": "A"},
            "b": {"type": "array", "items": {"const": 1, "minimum": 0}, "minItems": 1, "uniqueItems": True},
        },
        "required": ["a"],
        "additionalProperties": False,
    }
    assert open_schema(schema) == {
        "properties": {"a": {"type": "string", "title": "A"}, "b": {"type": "array", "items": {}}}
    }
