from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args

import pytest

from shaping.parsers import Format
from shaping.settings.choices import Redact
from shaping.settings.files import bundled_path
from shaping.settings.jsonc import ConfigDocument
from shaping.settings.loading import load
from shaping.settings.plan import Empties, Overrides, Plan, PlanRequest, compile_plan, resolve

DATA = {"a": 1, "b": {"c": 2, "trace": 3}, "trace": 4, "secret": 5, "paid": 6}


def plan(override: dict[str, Any] | None = None, **call: Any) -> Plan:
    return load({"tool_overrides": {"search": override or {}}}).plan("search", **call)


def kept(override: dict[str, Any], *, failed: bool = False, **call: Any) -> Any:
    made = plan(override, **call)
    chosen = made.error_fields if failed else made.fields
    return DATA if chosen is None else chosen.apply(DATA)


def test_a_plan_without_a_config_is_the_minimal_profile_compiled() -> None:
    loaded_config = load({})
    made = loaded_config.plan("search")
    assert {each.name: getattr(made, each.name) for each in fields(Plan) if each.init} == {
        "tool": "search",
        "profile": "minimal",
        "config_hash": loaded_config.hash,
        "surface": "python",
        "fields": None,
        "error_fields": None,
        "private": None,
        "private_paths": (),
        "empties": Empties(nulls=True, empty_arrays=True, empty_objects=True, defaults=False, default_values=()),
        "noise": ("links", "opaque", "bulk", "boilerplate", "repeats", "constants"),
        "redact": Redact(),
        "max_tokens": 20_000,
        "max_items": None,
        "max_string": None,
        "encoding": "auto",
        "lossless": False,
        "dialect": "lean",
        "channels": "auto",
        "typed": False,
        "envelope": frozenset(),
        "debug": False,
        "omissions": "line",
        "keep_lines": (),
        "drop_lines": (),
        "tokenizer": "o200k_base",
        "parse": get_args(Format),
        "exit_codes": {},
        "overflow": "ref",
        "enabled": True,
        "limited_by_call": False,
        "max_lengths": (),
    }


def test_everything_a_tool_can_say_reaches_its_plan() -> None:
    made = plan(
        {
            "profile": "standard",
            "redact": {"names": True},
            "max_tokens": 1,
            "max_items": 2,
            "max_string": 3,
            "encoding": "csv",
            "dialect": "flat",
            "channels": "text",
            "typed": True,
            "prune": ["links"],
            "envelope": {"include": ["etag"]},
            "exclude_default_values": True,
            "exclude_null_values": False,
            "defaults": {"page": 1},
            "private": ["p"],
            "keep_lines": ["^E "],
            "drop_lines": ["^\\s*$"],
            "parse": ["json"],
            "exit_codes": {"1": "NOT_FOUND"},
        },
        surface="command",
    )
    expected = {
        "profile": "standard",
        "redact": Redact(names=True),
        "max_tokens": 1,
        "max_items": 2,
        "max_string": 3,
        "encoding": "csv",
        "lossless": True,
        "dialect": "flat",
        "channels": "text",
        "typed": True,
        "noise": ("links",),
        "envelope": frozenset({"error", "warnings", "upgrade_hints", "etag", "omissions"}),
        "empties": Empties(
            nulls=False, empty_arrays=True, empty_objects=True, defaults=True, default_values=(("page", 1),), asked=True
        ),
        "private_paths": ("p",),
        "keep_lines": ("^E ",),
        "parse": ("json",),
        "exit_codes": {1: "NOT_FOUND"},
        "drop_lines": ("^\\s*$",),
        "surface": "command",
    }
    assert {name: getattr(made, name) for name in expected} == expected


def test_listed_defaults_wait_until_dropping_defaults_is_asked_for() -> None:
    assert plan({"defaults": {"page": 1}}).empties.default_values == ()


def test_a_limit_of_null_is_no_limit() -> None:
    assert plan({"max_tokens": None}).max_tokens is None


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ({"include_only": ["a", "b.c"]}, {"a": 1, "b": {"c": 2}}),
        ({"include_only": []}, {}),
        ({"exclude_fields": ["**.trace"], "private": ["secret"]}, {"a": 1, "b": {"c": 2}, "paid": 6}),
        ({"include_only": ["a", "secret"], "private": ["secret"]}, {"a": 1}),
        ({"include_only": ["a"], "rename": {"a": "z"}}, {"z": 1}),
        ({"include_only": ["a", "paid"], "exclude_when_tier": {"pro": ["a"]}}, {"a": 1, "paid": 6}),
    ],
)
def test_field_rules_are_compiled_together(override: dict[str, Any], expected: Any) -> None:
    assert kept(override) == expected


def test_a_tiers_fields_are_dropped_for_that_tier_only() -> None:
    override = {"exclude_when_tier": {"community": ["paid", "b"]}}
    assert kept(override, tier="community") == {"a": 1, "trace": 4, "secret": 5}
    assert kept(override, tier="pro") is DATA
    assert kept(override) is DATA


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ({"include_only": ["a"]}, {"a": 1}),
        ({"include_only": ["a"], "include_on_error": ["trace"]}, {"a": 1, "trace": 4}),
        (
            {"exclude_fields": ["trace", "secret"], "include_on_error": ["trace"]},
            {"a": 1, "b": {"c": 2, "trace": 3}, "trace": 4, "paid": 6},
        ),
        ({"include_only": ["a"], "exclude_fields": ["b"], "include_on_error": ["b.c"]}, {"a": 1, "b": {"c": 2}}),
        (
            {"include_only": ["a"], "exclude_fields": ["t*"], "include_on_error": ["**.tr*"]},
            {"a": 1, "b": {"trace": 3}, "trace": 4},
        ),
        ({"include_only": ["a"], "include_on_error": ["secret"], "private": ["secret"]}, {"a": 1}),
    ],
)
def test_fields_come_back_where_the_call_failed(override: dict[str, Any], expected: Any) -> None:
    assert kept(override, failed=True) == expected


def test_a_tiers_fields_do_not_come_back_where_the_call_failed() -> None:
    override = {"include_only": ["a"], "include_on_error": ["paid"], "exclude_when_tier": {"free": ["paid"]}}
    assert kept(override, failed=True, tier="free") == {"a": 1}


def test_without_include_on_error_a_failed_call_is_filtered_alike() -> None:
    made = plan({"include_only": ["a"]})
    assert made.error_fields is made.fields


def test_under_debug_only_private_paths_are_filtered() -> None:
    made = plan({"include_only": ["a"], "private": ["secret"]}, profile="debug")
    assert made.fields is not None
    assert made.private is not None
    public = {"a": 1, "b": {"c": 2, "trace": 3}, "trace": 4, "paid": 6}
    assert (made.fields.apply(DATA), made.private.apply(DATA)) == (public, public)
    assert (made.debug, made.private_paths) == (True, ("secret",))


def test_a_request_selects_fields_but_not_private_ones() -> None:
    override = {"include_only": ["a"], "exclude_fields": ["b.trace"], "private": ["secret"]}
    overrides = Overrides(fields=("b", "secret"))
    assert kept(override, overrides=overrides) == {"b": {"c": 2}}


def test_what_is_not_plain_data_is_opened_before_it_is_filtered() -> None:
    from dataclasses import make_dataclass

    record = make_dataclass("record", ["x", "y"])
    made = plan({"include_only": ["p.x"]})
    assert made.fields is not None
    assert made.fields.apply({"p": record(1, 2), "q": 3}) == {"p": {"x": 1}}


def test_what_comes_back_on_error_makes_another_plan_though_the_paths_are_the_same() -> None:
    made = plan({"exclude_fields": ["trace"], "include_on_error": ["trace"]})
    rules = [made.replace(fields=fields).fields for fields in (made.fields, made.error_fields)]
    assert [each is not None and "trace" in each.apply(DATA) for each in rules] == [False, True]


def test_only_a_config_of_the_users_own_asks_for_empties_to_be_dropped() -> None:
    drops: dict[str, Any] = {"tool_overrides": {"search": {"exclude_null_values": True}}}
    sources, request = load({}).sources, PlanRequest("search")
    preset = ConfigDocument(str(bundled_path("config", "presets/git.json")), drops)
    resolved = resolve(request, sources, [preset])
    assert resolved["exclude_null_values"].source == "preset git"
    assert not compile_plan(request, resolved, sources).empties.asked
    assert load(drops).plan("search").empties.asked
    assert load({"global": {"exclude_null_values": True}}).plan("search").empties.asked
