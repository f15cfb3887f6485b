from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st

from shaping.mcp.parts import DataPart, ResultData, read_result
from shaping.values import DEEPEST, json_if_plain

ITEMS = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


def text(value: Any) -> dict[str, Any]:
    return {"type": "text", "text": value if isinstance(value, str) else json.dumps(value, indent=2)}


def test_structured_content_and_the_text_that_mirrors_it_are_one_piece() -> None:
    piece = DataPart({"a": 1}, (0,))
    assert read_result({"content": [text({"a": 1})], "structuredContent": {"a": 1}}) == ResultData((piece,), piece)


def test_structured_content_that_is_the_blocks_again_is_read_from_the_blocks() -> None:
    # As the SDK before 2 answers for a tool that returns list[TextContent].
    text = {"type": "text", "text": "[{'name': 'orders', 'type': 'BASE TABLE'}, {'name': 'refunds', 'type': 'VIEW'}]"}
    again = {"result": [{**text, "annotations": None, "_meta": None}]}
    (part,) = read_result({"content": [text], "structuredContent": again}).parts
    assert part.value == [{"name": "orders", "type": "BASE TABLE"}, {"name": "refunds", "type": "VIEW"}]
    other = {"result": [{"type": "text", "text": "something else"}]}
    assert len(read_result({"content": [text], "structuredContent": other}).parts) == 2


def test_text_beside_structured_content_that_says_something_else_is_a_piece_of_its_own() -> None:
    piece = DataPart({"a": 1}, (1,))
    prose = DataPart("Found one.", (0,), prose=True)
    result = {"content": [text("Found one."), text({"a": 1})], "structuredContent": {"a": 1}}
    assert read_result(result) == ResultData((piece, prose), piece)


@pytest.mark.parametrize(
    "result",
    [
        {"content": [text(ITEMS)], "structuredContent": {"result": ITEMS}},
        {"content": [text(item) for item in ITEMS], "structuredContent": {"result": ITEMS}},
    ],
)
def test_a_wrapper_is_known_by_the_text_that_mirrors_what_is_inside(result: dict[str, Any]) -> None:
    piece = DataPart(ITEMS, tuple(range(len(result["content"]))))
    assert read_result(result) == ResultData((piece,), piece, wrapped=True)


@pytest.mark.parametrize(
    ("meta", "schema"),
    [
        ({"fastmcp": {"wrap_result": True}}, None),
        ({}, {"x-fastmcp-wrap-result": True}),
        ({}, {"title": "listOutput", "properties": {"result": {}}}),
    ],
)
def test_a_wrapper_is_known_by_its_frameworks_mark(meta: dict[str, Any], schema: dict[str, Any] | None) -> None:
    piece = DataPart([1], ())
    result = {"content": [], "structuredContent": {"result": [1]}, "_meta": meta}
    assert read_result(result, schema) == ResultData((piece,), piece, wrapped=True)


def test_a_member_called_result_is_no_wrapper_without_a_sign() -> None:
    piece = DataPart({"result": [1]}, (0,))
    result = {"content": [text({"result": [1]})], "structuredContent": {"result": [1]}}
    assert read_result(result, {"title": "Answer"}) == ResultData((piece,), piece)


@pytest.mark.parametrize(("value", "shown"), [("hi", "hi"), (True, "true"), (3, "3"), (None, "null")])
def test_a_wrapped_scalar_is_mirrored_by_its_text(value: Any, shown: str) -> None:
    piece = DataPart(value, (0,))
    result = {"content": [text(shown)], "structuredContent": {"result": value}}
    assert read_result(result) == ResultData((piece,), piece, wrapped=True)


def test_a_server_that_only_has_text_repeats_it_under_one_member() -> None:
    piece = DataPart({"content": "[FILE] a"}, (0,))
    result = {"content": [text("[FILE] a")], "structuredContent": {"content": "[FILE] a"}}
    assert read_result(result) == ResultData((piece,), piece, member="content")


def test_json_under_that_one_member_is_the_data() -> None:
    packed = json.dumps(ITEMS, indent=2)
    piece, note = DataPart(ITEMS, (0,)), DataPart("note", (1,), prose=True)
    result = {"content": [text(packed), text("note")], "structuredContent": {"content": packed}}
    assert read_result(result) == ResultData((piece, note), piece, member="content", packed=True)


def test_a_list_that_was_split_into_blocks_is_put_together() -> None:
    assert read_result({"content": [text(item) for item in ITEMS]}) == ResultData((DataPart(ITEMS, (0, 1)),))


def test_a_list_that_was_split_into_blocks_is_put_together_below_what_counts_it() -> None:
    said, items = DataPart("Found 3 items", (0,), prose=True), [*ITEMS, {"a": 3}]
    result = {"content": [text("Found 3 items"), *map(text, items)]}
    assert read_result(result) == ResultData((said, DataPart(items, (1, 2, 3))))


def test_records_that_were_split_into_blocks_of_names_and_values_are_put_together() -> None:
    rows = [{"id": at, "customer": f"customer {at}", "status": "paid", "note": 'said "no"'} for at in range(30)]
    lines = [f'id: {at}\ncustomer: "customer {at}"\nstatus: "paid"\nnote: said "no"' for at in range(30)]
    assert read_result({"content": [text("30 rows"), *map(text, lines)]}).parts[1].value == rows
    odd = [*lines, "id: 30\nsomething else"]
    assert [part.value for part in read_result({"content": [*map(text, odd)]}).parts] == odd


def test_blocks_that_have_nothing_in_common_stay_apart() -> None:
    pieces = (DataPart({"a": 1}, (0,)), DataPart({"b": 2}, (1,)))
    assert read_result({"content": [text({"a": 1}), text({"b": 2})]}) == ResultData(pieces)


def test_text_as_python_prints_it_is_data_too() -> None:
    assert read_result({"content": [text("{'a': None, 'b': True}")]}) == ResultData(
        (DataPart({"a": None, "b": True}, (0,)),)
    )


@pytest.mark.parametrize("prose", ["hello", "42", "true", '"quoted"', "[not json", "{half", ""])
def test_what_holds_no_object_and_no_list_is_prose(prose: str) -> None:
    assert read_result({"content": [text(prose)]}) == ResultData((DataPart(prose, (0,), prose=True),))


def test_only_text_is_looked_at() -> None:
    content = [{"type": "image", "data": "x", "mimeType": "image/png"}, {"type": "text"}, text("a")]
    assert read_result({"content": content}) == ResultData((DataPart("a", (2,), prose=True),))
    assert read_result({}) == ResultData(())


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES.map(lambda value: {"value": value}), st.sampled_from([None, 2]), st.booleans())
def test_what_is_said_to_need_no_intake_is_plain_and_written_as_it_is(
    value: dict[str, Any], indent: int | None, beside: bool
) -> None:
    result = {"content": [text(json.dumps(value, indent=indent))]}
    for piece in read_result(result | ({"structuredContent": value} if beside else {})).parts:
        if piece.compact_json is not None:
            assert json_if_plain(piece.value) == piece.compact_json
            assert piece.compact_json == orjson.dumps(piece.value)


def test_a_mirror_needs_no_intake_however_it_is_printed() -> None:
    [piece] = read_result({"content": [text(ITEMS)], "structuredContent": {"result": ITEMS}}).parts
    assert piece.compact_json == orjson.dumps(ITEMS)


@pytest.mark.parametrize(("structured", "told"), [({"a": 1}, {"a": True}), ({"a": 1.0}, {"a": 1})])
def test_a_mirror_that_only_compares_equal_does_not_replace_the_data(structured: Any, told: Any) -> None:
    [piece] = read_result({"content": [text(told)], "structuredContent": structured}).parts
    assert (repr(piece.value), piece.blocks, piece.compact_json) == (repr(structured), (0,), None)


@pytest.mark.parametrize("levels", [DEEPEST + 1, 300])
def test_json_nested_too_deep_still_needs_intake(levels: int) -> None:
    [piece] = read_result({"content": [text("[" * levels + "]" * levels)]}).parts
    assert piece.compact_json is None or json_if_plain(piece.value) is not None
    # Not empty inside: orjson before 3.12 writes an empty list one level deeper.
    [deeper] = read_result({"content": [text("[" * (levels + 1) + "1" + "]" * (levels + 1))]}).parts
    assert deeper.compact_json is None
    assert json_if_plain(deeper.value) is None


@pytest.mark.parametrize("beside", [False, True])
def test_an_integer_beyond_64_bits_in_a_text_is_not_rounded(beside: bool) -> None:
    value = {"wei": 123456789012345678901234, "ten": 10**22, "rows": [{"n": 2**64}, {"n": -(2**63) - 1}, {"n": 1e22}]}
    result = {"content": [text(value)]} | ({"structuredContent": value} if beside else {})
    assert [repr(piece.value) for piece in read_result(result).parts] == [repr(value)]


def test_a_wide_value_needs_no_intake() -> None:
    [piece] = read_result({"content": [text([[[index]] for index in range(DEEPEST)])]}).parts
    assert piece.compact_json is not None
