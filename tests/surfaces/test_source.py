from __future__ import annotations

import json
from typing import Any

import pytest

from shaping.surfaces.source import Piece, Source, read_source

ITEMS = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


def text(value: Any) -> dict[str, Any]:
    return {"type": "text", "text": value if isinstance(value, str) else json.dumps(value, indent=2)}


def test_structured_content_and_the_text_that_mirrors_it_are_one_piece() -> None:
    piece = Piece({"a": 1}, (0,))
    assert read_source({"content": [text({"a": 1})], "structuredContent": {"a": 1}}) == Source((piece,), piece)


def test_text_beside_structured_content_that_says_something_else_is_a_piece_of_its_own() -> None:
    piece = Piece({"a": 1}, (1,))
    prose = Piece("Found one.", (0,), prose=True)
    result = {"content": [text("Found one."), text({"a": 1})], "structuredContent": {"a": 1}}
    assert read_source(result) == Source((piece, prose), piece)


@pytest.mark.parametrize(
    "result",
    [
        {"content": [text(ITEMS)], "structuredContent": {"result": ITEMS}},
        {"content": [text(item) for item in ITEMS], "structuredContent": {"result": ITEMS}},
    ],
)
def test_a_wrapper_is_known_by_the_text_that_mirrors_what_is_inside(result: dict[str, Any]) -> None:
    piece = Piece(ITEMS, tuple(range(len(result["content"]))))
    assert read_source(result) == Source((piece,), piece, wrapped=True)


@pytest.mark.parametrize(
    ("meta", "schema"),
    [
        ({"fastmcp": {"wrap_result": True}}, None),
        ({}, {"x-fastmcp-wrap-result": True}),
        ({}, {"title": "listOutput", "properties": {"result": {}}}),
    ],
)
def test_a_wrapper_is_known_by_its_frameworks_mark(meta: dict[str, Any], schema: dict[str, Any] | None) -> None:
    piece = Piece([1], ())
    result = {"content": [], "structuredContent": {"result": [1]}, "_meta": meta}
    assert read_source(result, schema) == Source((piece,), piece, wrapped=True)


def test_a_member_called_result_is_no_wrapper_without_a_sign() -> None:
    piece = Piece({"result": [1]}, (0,))
    result = {"content": [text({"result": [1]})], "structuredContent": {"result": [1]}}
    assert read_source(result, {"title": "Answer"}) == Source((piece,), piece)


@pytest.mark.parametrize(("value", "shown"), [("hi", "hi"), (True, "true"), (3, "3"), (None, "null")])
def test_a_wrapped_scalar_is_mirrored_by_its_text(value: Any, shown: str) -> None:
    piece = Piece(value, (0,))
    result = {"content": [text(shown)], "structuredContent": {"result": value}}
    assert read_source(result) == Source((piece,), piece, wrapped=True)


def test_a_server_that_only_has_text_repeats_it_under_one_member() -> None:
    piece = Piece({"content": "[FILE] a"}, (0,))
    result = {"content": [text("[FILE] a")], "structuredContent": {"content": "[FILE] a"}}
    assert read_source(result) == Source((piece,), piece, spoken="content")


def test_json_under_that_one_member_is_the_data() -> None:
    packed = json.dumps(ITEMS, indent=2)
    piece, note = Piece(ITEMS, (0,)), Piece("note", (1,), prose=True)
    result = {"content": [text(packed), text("note")], "structuredContent": {"content": packed}}
    assert read_source(result) == Source((piece, note), piece, spoken="content", packed=True)


def test_a_list_that_was_split_into_blocks_is_put_together() -> None:
    assert read_source({"content": [text(item) for item in ITEMS]}) == Source((Piece(ITEMS, (0, 1)),))


def test_blocks_that_have_nothing_in_common_stay_apart() -> None:
    pieces = (Piece({"a": 1}, (0,)), Piece({"b": 2}, (1,)))
    assert read_source({"content": [text({"a": 1}), text({"b": 2})]}) == Source(pieces)


def test_text_as_python_prints_it_is_data_too() -> None:
    assert read_source({"content": [text("{'a': None, 'b': True}")]}) == Source((Piece({"a": None, "b": True}, (0,)),))


@pytest.mark.parametrize("prose", ["hello", "42", "true", '"quoted"', "[not json", "{half", ""])
def test_what_holds_no_object_and_no_list_is_prose(prose: str) -> None:
    assert read_source({"content": [text(prose)]}) == Source((Piece(prose, (0,), prose=True),))


def test_only_text_is_looked_at() -> None:
    content = [{"type": "image", "data": "x", "mimeType": "image/png"}, {"type": "text"}, text("a")]
    assert read_source({"content": content}) == Source((Piece("a", (2,), prose=True),))
    assert read_source({}) == Source(())
