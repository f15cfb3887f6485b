from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from shaping.paths import compile_fields


class Node(BaseModel):
    name: str
    tags: dict[str, int] = {}
    extra: dict[str, Any] = {}
    children: list[Node] = []
    left: Node | None = None


@pytest.mark.parametrize(
    "path",
    [
        "name",
        "children[].name",
        "children.left.children.name",
        "left.name",
        "tags.anything",
        "extra.a.b.c",
        "**.name",
        "nam*",
        "*.*.name",
        "children.**",
        "[].name",
    ],
)
def test_a_path_that_may_match_is_not_reported(path: str) -> None:
    assert compile_fields([path]).matches_nothing_in(Node.model_json_schema()) == []


def test_paths_that_can_never_match_are_reported_once_and_in_order() -> None:
    fields = compile_fields(
        ["name", "nmae", "children.nmae", "**.nothing", "name.x", "tags.a.b", "nmae", "zz_*"], ["no_such"], {"yy": "y"}
    )
    # Whatever is below `extra` may be anything, so `**.nothing` may match there.
    expected = ["nmae", "children.nmae", "name.x", "tags.a.b", "zz_*"]
    assert fields.matches_nothing_in(Node.model_json_schema()) == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, []),
        ({"type": "object"}, []),
        ({"type": ["array", "null"]}, []),
        ({"type": "string"}, ["a"]),
        ({"enum": [1, "x"]}, ["a"]),
        ({"const": {"a": 1}}, []),
        ({"const": 1}, ["a"]),
        ({"properties": {"b": {}}}, ["a"]),
        ({"properties": {"b": {}}, "additionalProperties": True}, []),
        ({"additionalProperties": False}, ["a"]),
        ({"patternProperties": {"^x": {}}}, []),
        ({"prefixItems": [{"properties": {"a": {}}}]}, []),
        ({"items": [{"properties": {"b": {}}}], "additionalItems": {"properties": {"a": {}}}}, []),
        ({"items": False}, ["a"]),
        ({"properties": {"b": {}}, "then": {"properties": {"a": {}}}}, []),
        ({"dependentSchemas": {"b": {"properties": {"a": {}}}}}, []),
        ({"$ref": "#"}, ["a"]),
        ({"properties": {"result": {"properties": {"a": {}}}}, "x-fastmcp-wrap-result": True}, []),
        ({"properties": {"a": {}}, "x-fastmcp-wrap-result": True}, []),
    ],
)
def test_what_a_schema_says_decides_whether_a_member_may_be_there(schema: dict[str, Any], expected: list[str]) -> None:
    assert compile_fields(["a"]).matches_nothing_in(schema) == expected
