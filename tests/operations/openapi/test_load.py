from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import anyio
import jsonschema_rs
import pytest

from shaping.errors import registry
from shaping.operations.openapi import from_openapi, from_openapi_file, from_openapi_url
from shaping.operations.openapi.client import HttpConfig
from shaping.operations.openapi.document import DocumentError, OpenApiDocument, SchemaConverter, read_document

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "openapi"
CORPUS_FILES = sorted([*CORPUS.glob("*.gz"), *CORPUS.glob("oai-examples/*")])


def specs(paths: dict[str, Any], **more: Any) -> list[Any]:
    return [spec for spec, _ in from_openapi({"openapi": "3.1.0", "paths": paths, **more}, HttpConfig("api"))]


@pytest.mark.skipif(not CORPUS_FILES, reason="the corpus of OpenAPI documents is not beside this checkout")
@pytest.mark.parametrize("path", CORPUS_FILES, ids=lambda path: path.name)
def test_a_public_document_loads_and_every_input_schema_is_valid(path: Path) -> None:
    api = from_openapi_file(path)
    content = read_document(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).content
    paths: dict[str, dict[str, Any]] = content.get("paths") or {}
    assert len({(spec.origin["method"], spec.origin["path"]) for spec, _ in api}) == sum(
        method in {"get", "put", "post", "delete", "patch", "head", "options"}
        for item in paths.values()
        for method in item
    )
    for spec, _ in api:
        assert jsonschema_rs.meta.is_valid(spec.input.json)
    for spec, _ in list(api)[:: max(1, len(api) // 20)]:
        jsonschema_rs.Draft202012Validator(spec.input.json, offline=True)
        jsonschema_rs.Draft202012Validator(spec.output.json, offline=True)


def test_an_operation_is_named_by_its_id_else_by_method_and_path() -> None:
    found = specs(
        {
            "/pets/{id}": {"get": {"operationId": "pets/get one"}, "delete": {}, "parameters": []},
            "/": {"get": {}},
            "/other": {"get": {"operationId": "pets/get one"}},
        }
    )
    assert [spec.id for spec in found] == ["api.pets_get_one", "api.delete_pets_id", "api.get", "api.pets_get_one_2"]


def test_the_method_and_the_media_type_tell_the_type() -> None:
    stream: dict[str, Any] = {"responses": {"200": {"content": {"text/event-stream": {}}}}}
    both: dict[str, Any] = {"responses": {"200": {"content": {"text/event-stream": {}, "application/json": {}}}}}
    found = specs({"/x": {"get": {}, "head": {}, "post": both, "options": {}}, "/y": {"get": stream}})
    assert [(s.origin["method"], s.type, s.operation_type) for s in found] == [
        ("GET", "query", "query"),
        ("POST", "mutation", "command"),
        ("POST", "subscription", "command"),
        ("OPTIONS", "mutation", "query"),
        ("HEAD", "query", "query"),
        ("GET", "subscription", "query"),
    ]
    assert [s.id for s in found if s.type == "subscription"] == ["api.post_x_stream", "api.get_y"]


@pytest.mark.parametrize(
    ("responses", "output"),
    [
        ({"200": {"content": {"application/json": {"schema": {"type": "string"}}}}}, {"type": "string"}),
        ({201: {"content": {"application/json": {"schema": {"type": "string"}}}}, 204: {}}, {"type": "string"}),
        ({"206": {"content": {"application/hal+json": {"schema": {"type": "string"}}}}, "200": {}}, {"type": "string"}),
        ({"200": {"content": {"text/plain": {"schema": {"type": "string"}}}}}, {}),
        ({"404": {"content": {"application/json": {"schema": {"type": "string"}}}}}, {}),
        ({"200": {"$ref": "#/components/responses/ok"}}, {"type": "integer"}),
        ({"200": {"$ref": "other.json#/x"}}, {}),
    ],
)
def test_the_output_is_what_a_success_holds(responses: Any, output: Any) -> None:
    components = {"responses": {"ok": {"content": {"application/json": {"schema": {"type": "integer"}}}}}}
    (spec,) = specs({"/x": {"get": {"responses": responses}}}, components=components)
    assert spec.output.json == output


def test_the_description_says_what_can_go_wrong() -> None:
    operation = {
        "summary": "Get.",
        "description": "Gets it.",
        "deprecated": True,
        "tags": ["a"],
        "responses": {"404": {}, "429": {}, "default": {}},
    }
    (spec,) = specs({"/x": {"get": operation}})
    described = registry.describe(spec.description, spec.codes)
    assert described == "Get.\n\nGets it.\n\nDeprecated.\nErrors: NOT_FOUND, RATE_LIMITED"
    assert (spec.tags, spec.origin) == (
        ("a",),
        {"method": "GET", "path": "/x", "operation_id": None, "deprecated": True},
    )


def test_definitions_that_contain_themselves_stay_so() -> None:
    tree = {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}},
    }
    answer = {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Tree"}}}}}
    (spec,) = specs({"/x": {"get": {"responses": answer}}}, components={"schemas": {"Tree": tree, "Unused": {}}})
    assert spec.output.json == {
        "$ref": "#/$defs/Tree",
        "$defs": {
            "Tree": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}
        },
    }


def converted(schema: Any, version: str = "3.0.3", **schemas: Any) -> Any:
    return SchemaConverter(OpenApiDocument({"openapi": version, "components": {"schemas": schemas}})).schema(schema)


@pytest.mark.parametrize(
    ("schema", "plain"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"enum": ["a"], "type": "string", "nullable": True}, {"enum": ["a", None], "type": ["string", "null"]}),
        ({"anyOf": [{}], "nullable": True}, {"anyOf": [{"anyOf": [{}]}, {"type": "null"}]}),
        ({"nullable": True}, {}),
        ({"type": "number", "minimum": 1, "exclusiveMinimum": True}, {"type": "number", "exclusiveMinimum": 1}),
        ({"type": "number", "maximum": 1, "exclusiveMaximum": False}, {"type": "number", "maximum": 1}),
        ({"exclusiveMinimum": 3}, {"exclusiveMinimum": 3}),
        ({"type": "string", "example": "x", "xml": {}, "x-note": 1}, {"type": "string"}),
        ({"required": ["a", "a", 1]}, {"required": ["a"]}),
        ({"required": True}, {"required": []}),
        ({"properties": {"example": {"type": "string"}}}, {"properties": {"example": {"type": "string"}}}),
        ({"properties": None}, {"properties": {}}),
        (
            {"enum": [{"example": 1}], "default": {"nullable": True}},
            {"enum": [{"example": 1}], "default": {"nullable": True}},
        ),
        (True, {}),
        (False, {"not": {}}),
        (None, {}),
        ({"$ref": "https://example.com/x"}, {}),
    ],
)
def test_a_schema_becomes_json_schema(schema: Any, plain: Any) -> None:
    assert converted(schema) == plain


def test_what_stands_beside_a_reference_is_kept_where_that_is_allowed() -> None:
    schema = {"$ref": "#/components/schemas/A", "description": "d"}
    assert converted(schema, "3.1.0", A={"type": "string"}) == {
        "$ref": "#/$defs/A",
        "description": "d",
        "$defs": {"A": {"type": "string"}},
    }
    assert "description" not in converted(schema, "3.0.0", A={})


def test_an_earlier_drafts_recursion_is_read() -> None:
    schema = {"$ref": "#/components/schemas/A"}
    found = converted(schema, "3.1.0", A={"$recursiveAnchor": True, "items": {"$recursiveRef": "#"}})
    assert found["$defs"] == {"A": {"items": {"$ref": "#/$defs/A"}}}


def test_two_definitions_of_one_name_are_two() -> None:
    document = OpenApiDocument(
        {"openapi": "3.1.0", "components": {"schemas": {"A": {"type": "string"}}, "more": {"A": {"type": "integer"}}}}
    )
    schema = {"anyOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/more/A"}]}
    assert SchemaConverter(document).schema(schema)["$defs"] == {"A": {"type": "string"}, "A_2": {"type": "integer"}}


@pytest.mark.parametrize(
    ("ref", "found"),
    [("#/a/0/b~1c", 1), ("#/a/9", {}), ("#/a/0/b~1c/d", {}), ("#/no", {}), ("x.json", {}), ("#/loop", {})],
)
def test_a_pointer_leads_into_the_document_or_nowhere(ref: str, found: Any) -> None:
    document = OpenApiDocument({"a": [{"b/c": 1}], "loop": {"$ref": "#/loop"}})
    assert document.resolve({"$ref": ref}) == found


@pytest.mark.parametrize(
    ("servers", "place", "url"),
    [
        (
            [{"url": "https://{env}.example.com/v1", "variables": {"env": {"default": "api"}}}],
            "",
            "https://api.example.com/v1",
        ),
        ([{"url": "/v2"}], "https://example.com/docs/openapi.json", "https://example.com/v2"),
        (None, "https://example.com/openapi.json", "https://example.com/"),
        (None, "file.json", "/"),
    ],
)
def test_the_address_comes_from_the_document(servers: Any, place: str, url: str) -> None:
    assert OpenApiDocument({"openapi": "3.1.0", "servers": servers}, place).base_url == url


def test_yaml_is_read_and_dates_in_it_stay_text() -> None:
    text = "openapi: 3.0.0\ninfo: {version: 2026-11-16}\npaths: {/x: {get: {operationId: op}}}"
    ((spec, _),) = from_openapi(text)
    assert (spec.id, spec.version) == ("op", "2026-11-16")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ({"swagger": "2.0"}, "the document is not OpenAPI 3: openapi is '2.0'; expected '3.0.x' or '3.1.x'"),
        ("[1]", "the document is not OpenAPI 3: openapi is None; expected '3.0.x' or '3.1.x'"),
        ({"name": 1}, "the document is not OpenAPI 3: openapi is None; expected '3.0.x' or '3.1.x'"),
        ("a: [", "the document is neither JSON nor YAML: while parsing a flow node"),
    ],
)
def test_what_is_not_openapi_is_refused(source: Any, reason: str) -> None:
    with pytest.raises(DocumentError) as caught:
        from_openapi(source)
    assert str(caught.value) == reason


def test_a_file_is_read_through_any_file_system() -> None:
    files = {"api.json": json.dumps({"openapi": "3.0.0", "paths": {"/x": {"get": {}}}}).encode()}
    assert [spec.id for spec, _ in from_openapi_file("api.json", read=files.__getitem__)] == ["get_x"]


def test_a_document_is_fetched_from_its_address(tmp_path: Path) -> None:
    import httpx

    described = {"openapi": "3.0.0", "servers": [{"url": "/v1"}], "paths": {"/x": {"get": {}}}}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=described))
    api = anyio.run(from_openapi_url, "https://example.com/openapi.json", HttpConfig(transport=transport))
    assert (api.client.base_url, len(api)) == ("https://example.com/v1", 1)


def test_a_missing_extra_is_an_instruction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(ImportError, match=r'pip install "shaping\[http\]"'):
        anyio.run(from_openapi_url, "https://example.com")


def test_a_path_that_names_what_no_parameter_describes_takes_it_all_the_same() -> None:
    (spec,) = specs(
        {"/x/{id}/{n}": {"get": {"parameters": [{"in": "path", "name": "n", "schema": {"type": "integer"}}]}}}
    )
    properties = {"id": {"type": "string"}, "n": {"type": "integer"}}
    assert (spec.input.json["properties"], spec.input.json["required"]) == (properties, ["id", "n"])


def test_parameters_of_no_known_kind_are_left_out() -> None:
    (spec,) = specs(
        {
            "/x": {
                "get": {
                    "parameters": [
                        {"in": "body", "name": "b"},
                        {"$ref": "#/no"},
                        {"in": "query", "name": "q", "description": "d"},
                    ],
                    "requestBody": {"content": {}},
                }
            }
        }
    )
    assert spec.input.json == {
        "type": "object",
        "properties": {"q": {"description": "d"}},
        "additionalProperties": False,
    }
