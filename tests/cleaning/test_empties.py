from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from shaping import Shaper
from shaping.cleaning import drop_empties
from shaping.present.original import members_missing
from shaping.response import Omission
from shaping.settings.plan import Empties


def without_empties(value: Any, flags: Empties) -> Any:
    return drop_empties(value, flags)[0]


def empties_left_out(value: Any, flags: Empties) -> list[Omission]:
    return [found.omission for found in members_missing(value, without_empties(value, flags))]


ALL = Empties(nulls=True, empty_arrays=True, empty_objects=True, defaults=False)
NOTHING = Empties(nulls=False, empty_arrays=False, empty_objects=False, defaults=False)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": None, "b": 1}, {"b": 1}),
        ({"a": [], "b": {}, "c": 0, "d": "", "e": False}, {"c": 0, "d": "", "e": False}),
        ({"a": {"b": {"c": None}}, "d": 1}, {"d": 1}),
        ({"items": [{"x": None, "y": 1}, {"x": 2}]}, {"items": [{"y": 1}, {"x": 2}]}),
        ([{"x": None}, {"y": []}], [{}, {}]),
        ([1, None, [], {}], [1, None, [], {}]),
        ({"row": [None, None]}, {"row": [None, None]}),
        (None, None),
        ([], []),
        ({}, {}),
        ("text", "text"),
    ],
)
def test_members_that_say_nothing_go_and_elements_keep_their_place(value: Any, expected: Any) -> None:
    assert without_empties(value, ALL) == expected


@pytest.mark.parametrize("value", [{"matches": []}, {"a": None}, {"a": {"b": None}, "c": []}])
def test_an_empty_result_never_becomes_nothing(value: Any) -> None:
    assert without_empties(value, ALL) == value


@pytest.mark.parametrize("nothing", [None, [], {}])
def test_a_member_that_says_nothing_goes_however_far_into_a_long_answer_it_stands(nothing: Any) -> None:
    long = "a text without any empty member in it " * 300
    shaped = Shaper({}, watch=False).shape({"text": long, "last": {"a": nothing, "b": 1}})
    assert shaped.value == {"data": {"text": long, "last": {"b": 1}}}


def test_each_flag_works_by_itself() -> None:
    value: dict[str, Any] = {"n": None, "a": [], "o": {}, "x": 1}
    assert without_empties(value, Empties(True, False, False, False)) == {"a": [], "o": {}, "x": 1}
    assert without_empties(value, Empties(False, True, False, False)) == {"n": None, "o": {}, "x": 1}
    assert without_empties(value, Empties(False, False, True, False)) == {"n": None, "a": [], "x": 1}
    assert without_empties(value, NOTHING) is value


def test_an_object_that_becomes_empty_stays_where_its_flag_says_keep() -> None:
    assert without_empties({"a": {"b": None}, "x": 1}, Empties(True, True, False, False)) == {"a": {}, "x": 1}


def test_listed_defaults_go_by_path_and_value() -> None:
    flags = Empties(
        nulls=True,
        empty_arrays=True,
        empty_objects=True,
        defaults=True,
        default_values=(("page", 1), ("items[].archived", False), ("items[].n", 0)),
    )
    value = {"page": 1, "items": [{"archived": False, "n": 0}, {"archived": True, "n": False}], "meta": {"page": 1}}
    assert without_empties(value, flags) == {"items": [{}, {"archived": True, "n": False}], "meta": {"page": 1}}
    assert set(empties_left_out(value, flags)) == {
        Omission("page", 1, "default"),
        Omission("items[].archived", 1, "default"),
        Omission("items[].n", 1, "default"),
    }


def test_what_is_left_out_is_one_entry_for_each_path_and_reason() -> None:
    value = {"items": [{"x": None, "y": []}, {"x": None, "y": {"z": None}}, {"x": 1}], "o": {}, "k": 1}
    assert set(empties_left_out(value, ALL)) == {
        Omission("items[].x", 2, "null"),
        Omission("items[].y", 1, "empty"),
        Omission("items[].y.z", 1, "null"),
        Omission("o", 1, "empty"),
    }


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab.", max_size=3), inner, max_size=3),
    max_leaves=20,
)


@given(json_values)
def test_dropping_empties_is_idempotent_and_never_changes_its_input(value: Any) -> None:
    before = copy.deepcopy(value)
    once = without_empties(value, ALL)
    assert without_empties(once, ALL) == once
    assert value == before


@given(json_values)
def test_every_absence_is_counted(value: Any) -> None:
    kept = without_empties(value, ALL)
    assert sum(omission.count for omission in empties_left_out(value, ALL)) == _missing(value, kept)


def _missing(value: Any, kept: Any) -> int:
    if isinstance(value, dict):
        return sum(_missing_member(item, kept, key) for key, item in value.items())
    if isinstance(value, list):
        return sum(_missing(old, new) for old, new in zip(value, kept, strict=True))
    return 0


def _missing_member(item: Any, kept: dict[str, Any], key: str) -> int:
    if key in kept:
        return _missing(item, kept[key])
    return _missing(item, {}) if isinstance(item, dict) and item else 1
