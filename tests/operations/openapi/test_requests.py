"""What an operation sends, seen by the server that receives it."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

import anyio
import pytest

from shaping.operations.openapi import from_openapi
from shaping.operations.openapi.client import Auth, HttpConfig
from shaping.operations.registry import Registry

if TYPE_CHECKING:
    from shaping.envelope import Envelope

STRING, ARRAY, OBJECT = {"type": "string"}, {"type": "array", "items": {}}, {"type": "object"}


def document(path: str, method: str = "get", **operation: Any) -> dict[str, Any]:
    return {"openapi": "3.1.0", "paths": {path: {method: {"operationId": "op", "responses": {}, **operation}}}}


def called(server: str, described: dict[str, Any], given: Any = None, **config: Any) -> Envelope[Any]:
    async def main() -> Envelope[Any]:
        api = from_openapi(described, HttpConfig(base_url=server, **config))
        registry = Registry()
        registry.add(api)
        try:
            return await registry.execute(registry.list()[0].id, given, shape=False, request_id="r1")
        finally:
            await api.aclose()

    return anyio.run(main)


def sent(server: str, described: dict[str, Any], given: Any = None, **config: Any) -> Any:
    envelope = called(server, described, given, **config)
    assert envelope.error is None, envelope.error
    return envelope.data


@pytest.mark.parametrize(
    ("explode", "value", "path"),
    [
        (False, "a b/c", "/x/a%20b%2Fc"),
        (False, [3, 4], "/x/3,4"),
        (False, {"R": 1, "G": 2}, "/x/R,1,G,2"),
        (True, {"R": 1, "G": 2}, "/x/R=1,G=2"),
        (False, True, "/x/true"),
    ],
)
def test_path_parameters_are_written_as_the_document_says(server: str, explode: bool, value: Any, path: str) -> None:
    described = document("/x/{id}", parameters=[{"in": "path", "name": "id", "explode": explode, "required": True}])
    assert sent(server, described, {"id": value})["path"] == path


@pytest.mark.parametrize("value", ["..", ".", ""])
def test_a_path_parameter_that_would_make_another_path_is_refused(server: str, value: str) -> None:
    described = document("/x/{id}/y", parameters=[{"in": "path", "name": "id", "required": True, "schema": STRING}])
    error = called(server, described, {"id": value}).error
    assert error is not None
    assert (error.code, error.phase) == ("BAD_ARGUMENT", "validation")


@pytest.mark.parametrize(
    ("style", "explode", "value", "query"),
    [
        ("form", None, "a&b=c", "q=a%26b%3Dc"),
        ("form", None, [1, 2], "q=1&q=2"),
        ("form", False, [1, 2], "q=1,2"),
        ("form", True, {"a": 1, "b": "x"}, "a=1&b=x"),
        ("form", False, {"a": 1, "b": "x"}, "q=a,1,b,x"),
        ("spaceDelimited", False, [1, 2], "q=1%202"),
        ("pipeDelimited", False, [1, 2], "q=1%7C2"),
        ("deepObject", True, {"a": 1, "b c": True}, "q[a]=1&q[b%20c]=true"),
        ("form", None, None, ""),
    ],
)
def test_query_parameters_are_written_in_their_style(
    server: str, style: str, explode: Any, value: Any, query: str
) -> None:
    parameter = {"in": "query", "name": "q", "style": style, **({} if explode is None else {"explode": explode})}
    assert sent(server, document("/x", parameters=[parameter]), {"q": value})["query"] == query


def test_a_parameter_described_by_content_is_json(server: str) -> None:
    parameter = {"in": "query", "name": "q", "content": {"application/json": {"schema": OBJECT}}}
    data = sent(server, document("/x", parameters=[parameter]), {"q": {"a": [1]}})
    assert unquote_plus(data["query"]) == 'q={"a":[1]}'


def test_headers_and_cookies_are_sent(server: str) -> None:
    parameters = [
        {"in": "header", "name": "X-List", "schema": ARRAY},
        {"in": "header", "name": "Authorization"},
        {"in": "cookie", "name": "sid", "schema": STRING},
        {"in": "cookie", "name": "n"},
    ]
    described = document("/x", parameters=parameters)
    data = sent(server, described, {"X-List": [1, 2], "sid": "a b", "n": 1}, headers={"X-Fixed": "1"})
    assert data["headers"] == {"x-list": "1,2", "x-fixed": "1", "cookie": "sid=a%20b; n=1", "x-request-id": "r1"}
    (spec, _), *_ = from_openapi(described)
    assert list(spec.input.json["properties"]) == ["X-List", "sid", "n"]


def test_a_header_cannot_smuggle_another_header(server: str) -> None:
    described = document("/x", parameters=[{"in": "header", "name": "X-A", "schema": STRING}])
    error = called(server, described, {"X-A": "a\r\nX-B: c"}).error
    assert error is not None
    assert error.message == "X-A has control characters"


def body(schema: Any, kind: str = "application/json", **more: Any) -> dict[str, Any]:
    return {"requestBody": {"content": {kind: {"schema": schema}}, **more}}


PET = {"type": "object", "properties": {"id": {"type": "integer"}, "name": STRING}, "required": ["name"]}


def test_members_of_a_body_are_members_of_the_input(server: str) -> None:
    described = document("/x", "post", **body(PET, required=True))
    data = sent(server, described, {"id": 1, "name": "Rex"})
    assert (data["method"], data["body"], data["headers"]["content-type"]) == (
        "POST",
        '{"id":1,"name":"Rex"}',
        "application/json",
    )
    missing = called(server, described, {"id": 1}).error
    assert missing is not None
    assert missing.code == "BAD_ARGUMENT"


def test_names_that_collide_are_told_apart_by_their_place(server: str) -> None:
    parameters = [
        {"in": "query", "name": "id"},
        {"in": "path", "name": "id", "required": True},
        {"in": "header", "name": "id"},
    ]
    described = document("/x/{id}", "put", parameters=parameters, **body(PET))
    given = {"id": "p", "query_id": "q", "header_id": "h", "body_id": 4, "name": "Rex"}
    data = sent(server, described, given)
    assert (data["path"], data["query"], data["body"]) == ("/x/p", "id=q", '{"id":4,"name":"Rex"}')


@pytest.mark.parametrize(
    ("schema", "given", "content"),
    [
        (ARRAY, {"body": [1]}, "[1]"),
        ({"oneOf": [STRING, OBJECT]}, {"body": "x"}, '"x"'),
        ({**PET, "additionalProperties": True}, {"body": {"name": "a", "more": 1}}, '{"name":"a","more":1}'),
        ({"allOf": [PET]}, {"body": {"name": "a"}}, '{"name":"a"}'),
        (PET, {}, ""),
        (ARRAY, {}, ""),
    ],
)
def test_any_other_body_is_one_member(server: str, schema: Any, given: Any, content: str) -> None:
    assert sent(server, document("/x", "post", **body(schema)), given)["body"] == content


def test_a_required_body_is_sent_even_when_empty(server: str) -> None:
    schema = {"type": "object", "properties": {"a": STRING}}
    assert sent(server, document("/x", "post", **body(schema, required=True)), {})["body"] == "{}"


def test_a_member_called_body_keeps_its_name_and_the_body_gets_another(server: str) -> None:
    parameters = [{"in": "query", "name": "body"}]
    described = document("/x", "post", parameters=parameters, **body(ARRAY))
    data = sent(server, described, {"body": "q", "request_body": [1]})
    assert (data["query"], data["body"]) == ("body=q", "[1]")


def test_a_form_repeats_lists_and_spreads_objects(server: str) -> None:
    schema = {"type": "object", "properties": {"a": STRING, "tags": ARRAY, "more": OBJECT}}
    described = document("/x", "post", **body(schema, "application/x-www-form-urlencoded"))
    data = sent(server, described, {"a": "x y&z", "tags": [1, 2], "more": {"k": "v"}})
    assert (data["body"], data["headers"]["content-type"]) == (
        "a=x+y%26z&tags=1&tags=2&k=v",
        "application/x-www-form-urlencoded",
    )


def test_multipart_carries_files_fields_and_json(server: str) -> None:
    schema = {
        "type": "object",
        "properties": {
            "file": {"type": "string", "format": "binary"},
            "more": {"type": "array", "items": {"type": "string", "format": "binary"}},
            "note": STRING,
            "info": OBJECT,
        },
    }
    described = document("/x", "post", **body(schema, "multipart/form-data"))
    given = {"file": "a", "more": ["b", "c"], "note": "n", "info": {"k": 1}}
    assert sent(server, described, given)["body"] == [
        ["file", ["file", "application/octet-stream", base64.b64encode(b"a").decode()]],
        ["more", ["more", "application/octet-stream", base64.b64encode(b"b").decode()]],
        ["more", ["more", "application/octet-stream", base64.b64encode(b"c").decode()]],
        ["note", "n"],
        ["info", '{"k":1}'],
    ]


@pytest.mark.parametrize(
    ("kind", "value", "content", "content_type"),
    [
        ("text/plain", "hello", "hello", "text/plain"),
        ("application/octet-stream", "raw", "raw", "application/octet-stream"),
        ("*/*", {"a": 1}, '{"a":1}', "application/json"),
        ("application/json-patch+json", [{"op": "x"}], '[{"op":"x"}]', "application/json-patch+json"),
        ("application/xml", {"a": 1}, '{"a":1}', "application/xml"),
    ],
)
def test_other_media_types_are_sent_as_they_are(
    server: str, kind: str, value: Any, content: str, content_type: str
) -> None:
    described = document("/x", "post", **body({} if isinstance(value, str) else {"anyOf": [{}]}, kind))
    data = sent(server, described, {"body": value})
    assert (data["body"], data["headers"]["content-type"]) == (content, content_type)


@pytest.mark.parametrize(
    ("auth", "headers", "query"),
    [
        (Auth("bearer", "T"), {"authorization": "Bearer T"}, ""),
        (Auth("bearer", "T", prefix="token "), {"authorization": "token T"}, ""),
        (Auth("basic", "u:p"), {"authorization": "Basic dTpw"}, ""),
        (Auth("api_key", "T"), {"x-api-key": "T"}, ""),
        (Auth("api_key", "T", name="Api-Token", prefix="v1 "), {"api-token": "v1 T"}, ""),
        (Auth("api_key", "a b", name="key", place="query"), {}, "q=1&key=a%20b"),
        (Auth("api_key", "a b", name="key", place="cookie"), {"cookie": "key=a%20b"}, ""),
    ],
)
def test_credentials_go_where_the_api_wants_them(server: str, auth: Auth, headers: Any, query: str) -> None:
    data = sent(server, document("/x", parameters=[{"in": "query", "name": "q"}]), {"q": 1} if query else {}, auth=auth)
    assert (data["headers"], data["query"]) == ({**headers, "x-request-id": "r1"}, query)
    assert "token=" not in repr(auth)


def test_the_document_says_where_a_key_goes(server: str) -> None:
    schemes = {"other": {"type": "http"}, "key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    described = {**document("/x"), "components": {"securitySchemes": schemes}}
    assert sent(server, described, auth=Auth("api_key", "T"))["headers"]["x-key"] == "T"
    assert sent(server, document("/x"), auth=Auth("api_key", "T"))["headers"]["x-api-key"] == "T"


def test_authentication_is_spelled_as_openapi_spells_it_or_refused() -> None:
    assert Auth("apiKey", "T").headers() == Auth("api_key", "T").headers() == {"X-API-Key": "T"}
    with pytest.raises(ValueError, match="'digest' is not known; expected one of bearer, api_key, basic"):
        Auth("digest", "T")  # type: ignore[arg-type]  # what is refused
    with pytest.raises(ValueError, match="'body' is not known; expected one of header, query, cookie"):
        Auth("api_key", "T", place="body")  # type: ignore[arg-type]  # what is refused
