from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import AliasPath, BaseModel, ConfigDict, Field, TypeAdapter

from shaping.errors import ToolError
from shaping.operations.schemas import JsonSchema, schema_of

ITEM = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "unit": {"type": "string", "default": "kg"}},
    "required": ["n"],
}


def normalised(schema: Any, value: Any) -> Any:
    return schema_of(schema).normalise(value)


@pytest.mark.parametrize("source", [None, True, {}])
def test_no_schema_takes_everything(source: Any) -> None:
    schema = schema_of(source)
    assert (schema.json, schema.read(7), schema.normalise(7)) == ({}, 7, (7, []))


def test_a_schema_is_its_own_schema() -> None:
    schema = JsonSchema({})
    assert schema_of(schema) is schema


def test_false_takes_nothing() -> None:
    with pytest.raises(ToolError):
        schema_of(False).read(1)


@pytest.mark.parametrize("source", [list[int], TypeAdapter(list[int])])
def test_a_type_or_an_adapter_is_a_schema(source: Any) -> None:
    schema = schema_of(source)
    assert (schema.json, schema.read(["1"])) == ({"items": {"type": "integer"}, "type": "array"}, [1])


def test_a_type_that_json_cannot_describe_shows_that_it_takes_anything() -> None:
    assert schema_of(Callable[[], int]).json == {}


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ({"n": 1, "unit": "g"}, {"n": 1, "unit": "g"}),
        ({"n": 1, "extra": True}, {"n": 1, "unit": "kg"}),
        ({"n": "12"}, {"n": 12, "unit": "kg"}),
        ({"n": 3.0}, {"n": 3, "unit": "kg"}),
    ],
)
def test_a_value_that_fits_afterwards_is_stripped_filled_and_coerced(value: Any, data: Any) -> None:
    assert normalised(ITEM, value)[0] == data


@pytest.mark.parametrize(
    ("schema", "value", "wrong"),
    [
        (ITEM, {"n": 3.0}, []),
        (ITEM, {"n": "12"}, [("n", "type")]),
        ({**ITEM, "additionalProperties": False}, {"n": 1, "x": 1}, [("", "additionalProperties")]),
    ],
)
def test_what_was_changed_about_a_value_is_told(schema: Any, value: Any, wrong: list[tuple[str, str]]) -> None:
    assert [(issue["path"], issue["type"]) for issue in normalised(schema, value)[1]] == wrong


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        (ITEM, {"n": 1, "x": 1, "y": {}}, "x, y"),
        ({"items": {"properties": {"a": ITEM}}}, [{"a": {"n": 1, "x": 1}}, {"a": {"n": 2, "x": 1}}], "[].a.x"),
        (ITEM, {"n": 1, **{f"x{n}": n for n in range(10)}}, "x0, x1, x2, x3, x4, x5, x6, x7 and 2 more"),
    ],
)
def test_what_was_stripped_is_told_at_once(schema: Any, value: Any, said: str) -> None:
    message = f"not in the declared output and left out: {said}"
    assert normalised(schema, value)[1] == [{"path": "", "type": "stripped", "message": message}]


class Renamed(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    user_name: str = Field(alias="userName")


class Read(BaseModel):
    a: int = Field(validation_alias="the_a")
    b: int = Field(0, validation_alias=AliasPath("x", "y"))


@pytest.mark.parametrize(
    ("schema", "value", "data"),
    [
        (dict[int, str], {1: "a"}, {"1": "a"}),
        (Renamed, {"user_name": "ada"}, {"userName": "ada"}),
        (Read, {"the_a": 1, "x": {"y": 2}}, {"a": 1, "b": 2}),
        (list[Renamed], [{"user_name": "ada"}, {"userName": "bob"}], [{"userName": "ada"}, {"userName": "bob"}]),
    ],
)
def test_what_stands_under_another_name_was_not_stripped(schema: Any, value: Any, data: Any) -> None:
    assert normalised(schema, value) == (data, [])


@pytest.mark.parametrize(
    ("schema", "value", "data"),
    [
        (Renamed, {"user_name": "ada", "age": 7}, {"userName": "ada"}),
        (Read, {"the_a": 1, "age": 7}, {"a": 1, "b": 0}),
    ],
)
def test_what_was_stripped_is_told_beside_what_was_renamed(schema: Any, value: Any, data: Any) -> None:
    message = "not in the declared output and left out: age"
    assert normalised(schema, value) == (data, [{"path": "", "type": "stripped", "message": message}])


@pytest.mark.parametrize("value", [{"unit": "g"}, {"n": "many"}, [], None, "text"])
def test_a_value_that_does_not_fit_is_reported_and_left_alone(value: Any) -> None:
    data, issues = normalised(ITEM, value)
    assert data is value
    assert issues


def test_a_value_that_its_type_cannot_write_is_left_to_shaping() -> None:
    value = {"text": b"\xff", "odd": object()}
    assert schema_of(dict).normalise(value) == (value, [])


def test_a_missing_required_member_is_never_invented() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "default": 0}}, "required": ["n"]}
    assert normalised(schema, {})[0] == {}
    assert normalised(schema, {})[1]


@pytest.mark.parametrize(
    ("schema", "value", "data"),
    [
        ({"type": "array", "items": ITEM}, [{"n": "1"}], [{"n": 1, "unit": "kg"}]),
        ({"type": "array", "prefixItems": [ITEM], "items": ITEM}, [{"n": 1, "x": 1}], [{"n": 1, "x": 1}]),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": ITEM}}, {"n": 1, "x": 2}, {"n": 1, "unit": "kg"}),
        ({"anyOf": [ITEM, {"type": "null"}]}, {"n": "1"}, {"n": 1, "unit": "kg"}),
        ({"anyOf": [ITEM, {"type": "null"}]}, None, None),
        ({"anyOf": [ITEM, {"type": "object"}]}, {"n": 1, "x": 1}, {"n": 1, "x": 1}),
        (
            {"allOf": [ITEM, {"properties": {"m": {"type": "number"}}}]},
            {"n": 1, "m": "2.5", "x": 0},
            {"n": 1, "m": 2.5, "unit": "kg"},
        ),
        ({"allOf": [{"properties": {"a": {}}}, {"oneOf": [{}, False]}]}, {"a": 1, "x": 1}, {"a": 1, "x": 1}),
        ({**ITEM, "additionalProperties": True}, {"n": 1, "x": 1}, {"n": 1, "x": 1, "unit": "kg"}),
        ({**ITEM, "patternProperties": {"^x": {}}}, {"n": 1, "x": 1}, {"n": 1, "x": 1, "unit": "kg"}),
        ({"type": "object"}, {"x": 1}, {"x": 1}),
        ({"type": "boolean"}, "true", True),
        ({"type": "string"}, "true", "true"),
        ({"properties": {"a": True}}, {"a": 1, "b": 2}, {"a": 1}),
        ({"type": ["integer", "string"]}, "1", "1"),
        ({"minimum": 1}, "1", "1"),
    ],
)
def test_every_form_of_schema_settles_what_it_can(schema: Any, value: Any, data: Any) -> None:
    assert normalised(schema, value)[0] == data


@pytest.mark.parametrize("text", ["1e999", "nan", "x", ""])
def test_text_that_is_no_number_stays_text(text: str) -> None:
    assert normalised({"type": "number"}, text)[0] == text


def test_a_reference_that_leads_nowhere_settles_nothing() -> None:
    tree: dict[str, Any] = {
        "$ref": "#/$defs/tree",
        "$defs": {"tree": {"properties": {"next": {"$ref": "#/$defs/tree"}}}},
    }
    assert normalised(tree, {"next": {"next": {}, "x": 1}})[0] == {"next": {"next": {}}}


def test_input_is_never_changed_in_place() -> None:
    value = {"n": "1", "extra": {"a": 1}}
    normalised(ITEM, value)
    assert value == {"n": "1", "extra": {"a": 1}}


def test_issues_have_a_path_and_no_value() -> None:
    found = JsonSchema({"type": "array", "items": ITEM}).normalise([{"n": 1}, {"n": "secret"}])[1]
    assert found == [{"path": "[1].n", "type": "type", "message": 'it is not of type "integer"'}]


def test_what_is_not_json_is_an_issue() -> None:
    validator = JsonSchema(ITEM)
    assert validator.accepts({"n": object()}) is False
    assert [issue["type"] for issue in validator.issues({"n": object()})] == ["json"]


def test_a_schema_of_an_unknown_dialect_is_read_as_the_current_one() -> None:
    assert JsonSchema({"$schema": "https://example.com/odd", "type": "integer"}).accepts(1)


def test_without_the_library_there_is_an_instruction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    with pytest.raises(ImportError, match=r'pip install "shaping\[http\]"'):
        JsonSchema(ITEM).accepts(1)


def test_references_in_a_circle_leave_a_value_as_it_is() -> None:
    schema = {"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}}
    assert schema_of(schema).normalise({"a": "1"})[0] == {"a": "1"}
