from __future__ import annotations

from typing import Any

import pytest

from shaping import Shaper
from shaping.errors import make_error
from shaping.response import Omission

RAW = {"a": 1, "b": {"c": 2, "d": 3, "e": {"f": 1}}, "g": [{"h": 1, "i": 2}, {"h": 3}]}
FAILED = make_error("NOT_FOUND", "gone")


def failed(tier: str | None = None, **override: Any) -> Any:
    return Shaper({"tool_overrides": {"t": override}}, tier=tier).shape(RAW, tool="t", error=FAILED)


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ({"exclude_fields": ["b", "g"], "include_on_error": ["b.c"]}, {"a": 1, "b": {"c": 2}}),
        ({"exclude_fields": ["b.*", "g"], "include_on_error": ["b.e"]}, {"a": 1, "b": {"e": {"f": 1}}}),
        ({"exclude_fields": ["**.c", "g"], "include_on_error": ["b"]}, {"a": 1, "b": RAW["b"]}),
        ({"exclude_fields": ["b", "g"], "include_on_error": ["**.h"]}, {"a": 1, "g": [{"h": 1}, {"h": 3}]}),
        ({"include_only": ["a"], "include_on_error": ["b.c"]}, {"a": 1, "b": {"c": 2}}),
        ({"include_only": ["b.c"], "include_on_error": ["b.d"]}, {"b": {"c": 2, "d": 3}}),
        (
            {"include_only": ["b"], "exclude_fields": ["b.c", "b.d"], "include_on_error": ["b.d"]},
            {"b": {"d": 3, "e": {"f": 1}}},
        ),
        (
            {"exclude_fields": ["b", "g"], "include_on_error": ["b.c"], "rename": {"b.c": "cc"}},
            {"a": 1, "b": {"cc": 2}},
        ),
        ({"exclude_fields": ["b", "g"], "include_on_error": ["a.x"]}, {"a": 1}),
        ({"include_only": ["a"], "include_on_error": ["**"], "private": ["b", "g"]}, {"a": 1}),
    ],
)
def test_exactly_the_fields_that_errors_show_come_back(override: dict[str, Any], expected: Any) -> None:
    assert failed(**override).data == expected


def test_a_private_path_does_not_come_back() -> None:
    shaped = failed(exclude_fields=["b", "g"], include_on_error=["b"], private=["b.c", "b.e.f"])
    assert shaped.data == {"a": 1, "b": {"d": 3}}


def test_what_a_tier_may_not_see_does_not_come_back() -> None:
    override = {"exclude_fields": ["b", "g"], "include_on_error": ["b"], "exclude_when_tier": {"free": ["b.c"]}}
    assert failed("free", **override).data == {"a": 1, "b": {"d": 3, "e": {"f": 1}}}
    assert failed("pro", **override).data == {"a": 1, "b": RAW["b"]}


def test_the_record_of_what_an_error_leaves_out_is_exact() -> None:
    shaped = failed(exclude_fields=["b", "g"], include_on_error=["b.c"])
    assert shaped.omissions == (
        Omission("b.d", 1, "fields"),
        Omission("b.e", 1, "fields"),
        Omission("g", 1, "fields"),
    )


def test_an_answer_that_did_not_fail_shows_none_of_it() -> None:
    config = {"tool_overrides": {"t": {"exclude_fields": ["b", "g"], "include_on_error": ["b.c"]}}}
    assert Shaper(config).shape(RAW, tool="t").data == {"a": 1}


def test_the_schema_of_a_failed_answer_shows_what_comes_back() -> None:
    config = {"tool_overrides": {"t": {"exclude_fields": ["b"], "include_on_error": ["b.c"]}}}
    plan = Shaper(config).plan("t").error_fields
    assert plan is not None
    text = {"type": "string"}
    inner = {"type": "object", "properties": {"c": text, "d": text}}
    projected = plan.schema({"type": "object", "properties": {"a": text, "b": inner}})
    assert set(projected["properties"]) == {"a", "b"}
    assert set(projected["properties"]["b"]["properties"]) == {"c"}
