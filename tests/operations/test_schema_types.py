from __future__ import annotations

import sys
from datetime import date, datetime
from typing import Any
from uuid import UUID

import pytest
from pydantic import TypeAdapter, ValidationError

from shaping.operations.schemas import SchemaWarning, from_schema

PERSON = {
    "type": "object",
    "description": "Somebody.",
    "properties": {
        "name": {"type": "string", "description": "in full"},
        "age": {"type": "integer", "minimum": 0},
        "role": {"enum": ["admin", "user"], "default": "user"},
        "class": {"type": "string"},
        "_id": {"type": "string"},
        "model_dump": {"type": "boolean"},
        "odd-name": {"type": "number"},
        "odd name": {"type": "number"},
    },
    "required": ["name"],
}


def read(schema: Any, value: Any, name: str = "Model") -> Any:
    return TypeAdapter(from_schema(schema, name)).validate_python(value)


def refused(schema: Any, value: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        read(schema, value)
    return str(caught.value.errors()[0]["msg"])


def test_an_object_becomes_an_instance_with_its_members() -> None:
    person = read(PERSON, {"name": "Ann", "odd-name": 1}, name="Person")
    assert type(person).__name__ == "Person"
    assert (person.name, person.odd_name, person.role, person.age) == ("Ann", 1, "user", None)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, 'Value error, "name" is a required property'),
        ({"name": 7}, 'Value error, name: it is not of type "string"'),
        ({"name": "x", "age": -1}, "Value error, age: it is less than the minimum of 0"),
        ({"name": "x", "age": "3"}, 'Value error, age: it is not of type "integer"'),
        ([], 'Value error, it is not of type "object"'),
    ],
)
def test_the_schema_decides_what_is_valid(value: Any, message: str) -> None:
    assert refused(PERSON, value) == message


def test_an_instance_is_not_looked_at_twice() -> None:
    kind = from_schema(PERSON)
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    person = adapter.validate_python({"name": "Ann"})
    assert adapter.validate_python(person) is person


def test_the_type_shows_the_schema_it_was_made_of() -> None:
    assert TypeAdapter(from_schema(PERSON)).json_schema() == PERSON


def test_a_closed_object_stays_closed() -> None:
    schema = {"type": "object", "properties": {"a": {}}, "additionalProperties": False}
    assert "were unexpected" in refused(schema, {"b": 1}) or "was unexpected" in refused(schema, {"b": 1})


@pytest.mark.parametrize(
    ("schema", "value", "read_as"),
    [
        (True, [1], [1]),
        ({}, 1, 1),
        ({"type": "string"}, "x", "x"),
        ({"type": "number"}, 1, 1),
        ({"type": "integer"}, 1.0, 1),
        ({"type": ["string", "null"]}, None, None),
        ({"type": "array", "items": {"type": "integer"}}, [1], [1]),
        ({"type": "array", "prefixItems": [{"type": "string"}, {}], "minItems": 2, "maxItems": 2}, ["a", 1], ("a", 1)),
        ({"type": "array", "items": [{"type": "string"}]}, ["a", 1], ["a", 1]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"a": 1}, {"a": 1}),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}, "patternProperties": {"x": {}}},
            {"x": "a"},
            {"x": "a"},
        ),
        ({"enum": ["a", "b"]}, "a", "a"),
        ({"enum": [1, "b"]}, 1.0, 1.0),
        ({"const": "a"}, "a", "a"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "a", "a"),
        ({"oneOf": [{"type": "integer"}, {}]}, "a", "a"),
        ({"format": "date", "type": "string"}, "2026-11-16", date(2026, 11, 16)),
        ({"format": "date-time", "type": "string"}, "2026-11-16T08:00:00", datetime(2026, 11, 16, 8)),  # noqa: DTZ001  as written
        ({"format": "date", "type": "string"}, "someday", "someday"),
        (
            {"format": "uuid", "type": "string"},
            "6fa459ea-ee8a-3ca4-894e-db77e160355e",
            UUID("6fa459ea-ee8a-3ca4-894e-db77e160355e"),
        ),
        ({"properties": {"a": {"type": "integer"}}}, "no object", "no object"),
        ({"$ref": "#/$defs/no"}, 1, 1),
        ({"allOf": [{"type": "integer"}]}, 1, 1),
        ({"allOf": [{"minimum": 1}, {"maximum": 3}]}, 2, 2),
        ({"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}, 2, 2),
        (
            {"allOf": [{"type": "object", "properties": {"a": {}}, "anyOf": [{}]}, {"required": ["a"]}]},
            {"a": 1},
            {"a": 1},
        ),
        ({"allOf": [True, {"type": "string"}]}, "x", "x"),
    ],
)
def test_every_form_reads_as_what_it_says(schema: Any, value: Any, read_as: Any) -> None:
    if schema == {"$ref": "#/$defs/no"}:
        with pytest.warns(SchemaWarning):
            assert read(schema, value) == read_as
    else:
        assert read(schema, value) == read_as


def test_false_takes_nothing() -> None:
    assert refused(False, 1) == "Value error, {} is not allowed for it"


def test_all_of_several_schemas_is_checked_by_each_of_them() -> None:
    schema = {
        "$defs": {"base": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
        "allOf": [{"$ref": "#/$defs/base"}, {"properties": {"name": {"type": "string"}}}],
    }
    assert read(schema, {"id": 1, "name": "x"}) == {"id": 1, "name": "x"}
    assert refused(schema, {"name": "x"}) == 'Value error, "id" is a required property'


def test_a_definition_that_contains_itself_becomes_a_class_that_does() -> None:
    schema = {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "value": {"type": "integer"},
                    "next": {"$ref": "#/$defs/node"},
                    "all": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                },
                "required": ["value"],
            }
        },
    }
    node = read(schema, {"value": 1, "next": {"value": 2}, "all": [{"value": 3}]})
    assert (node.next.value, node.all[0].value, type(node.next) is type(node)) == (2, 3, True)
    assert "required" in refused(schema, {"value": 1, "next": {}})


def test_a_schema_that_contains_itself_whole_is_checked_at_every_depth() -> None:
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False}
    assert read(schema, {"next": {"next": {}}}).next.next.next is None
    assert "unexpected" in refused(schema, {"next": {"x": 1}})


def test_two_objects_of_one_name_are_two_classes() -> None:
    part = {"type": "object", "properties": {"a": {"type": "integer"}}}
    schema = {"anyOf": [{"type": "array", "items": part}, {"type": "array", "items": {**part, "required": ["a"]}}]}
    assert read(schema, [{"a": 1}])[0].a == 1


def test_references_reach_into_lists_and_odd_names() -> None:
    schema = {
        "allOf": [{"type": "integer"}],
        "$defs": {"a/b": {"$ref": "#/allOf/0"}},
        "properties": {"x": {"$ref": "#/$defs/a~1b"}},
    }
    assert read(schema, 3) == 3


def test_a_schema_that_is_none_takes_anything_and_says_so() -> None:
    with pytest.warns(SchemaWarning, match="any value is taken"):
        assert read({"type": "nonsense"}, object) is object


def test_a_reference_to_another_document_is_never_fetched() -> None:
    with pytest.warns(SchemaWarning, match="any value is taken"):
        assert read({"$ref": "https://example.com/schema.json"}, 1) == 1


def test_a_type_that_cannot_be_made_is_still_checked() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "default": "x"}},
        "minProperties": 1,
        "$defs": {},
    }
    schema["properties"] = {"a": {"enum": ["x"]}, "": {"type": "integer"}}
    assert "integer" in refused(schema, {"": "x"})
    assert read(schema, {"": 1}) is not None


def test_the_draft_is_the_one_named_else_the_one_that_fits() -> None:
    schema = {"type": "array", "items": [{"type": "string"}]}
    assert 'of type "string"' in refused(schema, [1])
    assert 'of type "string"' in refused({**schema, "$schema": "http://json-schema.org/draft-07/schema#"}, [1])
    assert 'of type "string"' in refused({"type": "array", "prefixItems": [{"type": "string"}]}, [1])


@pytest.mark.parametrize(
    ("missing", "extra"), [("jsonschema_rs", "http"), ("fastmcp.utilities.json_schema_type", "mcp")]
)
def test_without_a_library_there_is_an_instruction(missing: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=rf'pip install "shaping\[{extra}\]"'):
        from_schema({})
