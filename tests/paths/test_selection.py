from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings, strategies as st

from shaping.paths import compile_fields, join, select

if TYPE_CHECKING:
    from shaping.response import Json

VALUE: Json = {
    "items": [{"body": "one", "user": {"id": 1}}, {"body": "two", "user": {"id": 2}}],
    "rows": [[1, 2], [3]],
    "odd.key": {"id": 3},
    "none": None,
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", VALUE),
        ("items[1].body", "two"),
        ("items[1]", {"body": "two", "user": {"id": 2}}),
        ("items[0:1]", [{"body": "one", "user": {"id": 1}}]),
        ("items[1:].body", ["two"]),
        ("items[:9].body", ["one", "two"]),
        ("items[-1].body", "two"),
        ("items[-1:].body", ["two"]),
        ("items[:-1].body", ["one"]),
        ("rows[][-1]", [2, 3]),
        ("items.body", ["one", "two"]),
        ("items[].user.id", [1, 2]),
        ("**.id", [1, 2, 3]),
        ("**.**.id", [1, 2, 3]),
        ("**[0]", [{"body": "one", "user": {"id": 1}}, [1, 2], 1, 3]),
        ("items[0].**", [{"body": "one", "user": {"id": 1}}]),
        ("rows[][0]", [1, 3]),
        ("rows[0][1]", 2),
        ("items[0].body[1:]", "ne"),
        ("items[0].body[:-1]", "on"),
        ("items[].body[1:]", []),
        ("none[0:1]", []),
        ('"odd.key".id', 3),
        ("odd*", [{"id": 3}]),
        ("none", None),
        ("items[].nothing", []),
        ("items.nothing", []),
        ("none[]", []),
        ("*.nothing", []),
    ],
)
def test_a_path_gives_the_value_or_all_the_values_it_names(path: str, expected: Json) -> None:
    assert select(VALUE, path) == expected


@pytest.mark.parametrize(
    "path", ["missing", "items[2]", "items[-3]", "none.x", "items[0].missing.x", "rows[0][5]", "items[0][0]"]
)
def test_one_place_that_is_not_there_is_a_lookup_error(path: str) -> None:
    with pytest.raises(LookupError, match=r"^nothing at "):
        select(VALUE, path)


def test_a_missing_place_is_named_up_to_the_step_that_fails() -> None:
    with pytest.raises(LookupError, match=r"^nothing at items\[0\]\.missing$"):
        select(VALUE, "items[0].missing.x.y")


def test_values_come_back_as_the_original_objects() -> None:
    assert isinstance(VALUE, dict)
    assert select(VALUE, "rows") is VALUE["rows"]


def test_data_nested_ten_thousand_deep_is_searched() -> None:
    value: Any = {"url": 1}
    for _ in range(10_000):
        value = [{"next": value}]
    assert select(value, "**.url") == [1]


keys = st.sampled_from(["a", "b", "odd.key", "*", ""])
values = st.recursive(
    st.integers(0, 3) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=10,
)


def places(value: Any, place: str = "") -> list[tuple[str, Any]]:
    """Every place in a value by its concrete path, with what is there."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(place, value), *(found for key, item in below for found in places(item, join(place, key)))]


@given(values)
@settings(max_examples=100, deadline=None)
def test_every_place_is_found_by_its_own_path(value: Any) -> None:
    for place, item in places(value):
        assert select(value, place) is item


@given(values, st.lists(st.sampled_from(["a", "b", "**.a", "a.b", "*.b"]), min_size=1, max_size=2))
@settings(max_examples=100, deadline=None)
def test_every_omission_of_fields_can_be_asked_back(value: Any, exclude: list[str]) -> None:
    for found in compile_fields(exclude=exclude).left_out(value):
        back = select(value, found.path)
        one = found.count == 1 and "[]" not in found.path
        assert one or (isinstance(back, list) and len(back) >= found.count)
