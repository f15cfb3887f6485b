from __future__ import annotations

from typing import Any

from shaping.paths import compile_fields
from shaping.response import Omission


def test_elements_of_a_list_are_recorded_together_with_their_count() -> None:
    value = {"items": [{"id": 1, "url": "x"}, {"id": 2}, {"id": 3, "url": "y"}], "total": 3}
    assert compile_fields(exclude=["total", "**.url"]).left_out(value) == [
        Omission("items[].url", 2, "fields"),
        Omission("total", 1, "fields"),
    ]


def test_a_dropped_subtree_is_one_thing_left_out() -> None:
    value = [{"user": {"id": 1, "login": "ann"}}, {"user": {"id": 2, "login": "bob"}}]
    assert compile_fields(exclude=["user"]).left_out(value) == [Omission("[].user", 2, "fields")]


def test_the_reason_is_the_callers() -> None:
    assert compile_fields(exclude=["a"]).left_out({"a": 1}, "private") == [Omission("a", 1, "private")]


def test_a_place_is_named_by_its_own_key_with_quotes_where_needed() -> None:
    assert compile_fields(exclude=["**.odd*"]).left_out({"x": [{"odd.key": 1}]}) == [
        Omission('x[]."odd.key"', 1, "fields")
    ]


def test_a_renamed_member_is_not_left_out() -> None:
    assert compile_fields(["a.b"], rename={"a.b": "c"}).left_out({"a": {"b": 1, "c": 2}}) == [
        Omission("a.c", 1, "fields")
    ]


def test_places_far_down_are_named_together() -> None:
    value: Any = {"url": 1}
    for _ in range(100):
        value = {"url": 0, "next": value}
    found = compile_fields(exclude=["**.url"]).left_out(value)
    assert sum(omission.count for omission in found) == 101
    assert found[-1] == Omission(".".join(["next"] * 64) + ".**.url", 36, "fields")
