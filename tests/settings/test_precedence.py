"""Who decides, pairwise: request, chosen profile, tool override, global, configured profile."""

from __future__ import annotations

from typing import Any

import pytest

from shaping.settings.choices import Redact
from shaping.settings.loading import load
from shaping.settings.plan import Overrides
from shaping.settings.sources import Origin

OVERRIDES = Overrides(max_tokens=1)
CHOSEN = {"profiles": {"chosen": {"max_tokens": 2, "dialect": "flat"}}}
TOOL = {"tool_overrides": {"search": {"max_tokens": 3, "dialect": "sourced", "encoding": "csv"}}}
GLOBAL = {"global": {"max_tokens": 4, "dialect": "invariant", "encoding": "table"}}
CONFIGURED = {"profiles": {"configured": {"max_tokens": 5}}}


def decided(config: dict[str, Any], tool: str = "search", **call: Any) -> dict[str, Any]:
    return {choice.name: choice.value for choice in load(config).explain(tool, **call)}


def merged(*configs: dict[str, Any]) -> dict[str, Any]:
    """Put sections of several configs together, section by section."""
    sections: dict[str, Any] = {}
    for config in configs:
        for name, section in config.items():
            sections[name] = {**sections.get(name, {}), **section}
    return sections


@pytest.mark.parametrize(
    ("config", "call", "winner"),
    [
        (CHOSEN, {"profile": "chosen", "overrides": OVERRIDES}, 1),
        (TOOL, {"overrides": OVERRIDES}, 1),
        (GLOBAL, {"overrides": OVERRIDES}, 1),
        ({}, {"overrides": OVERRIDES}, 1),
        (merged(CHOSEN, TOOL), {"profile": "chosen"}, 2),
        (merged(CHOSEN, GLOBAL), {"profile": "chosen"}, 2),
        (merged(CHOSEN, CONFIGURED, {"global": {"profile": "configured"}}), {"profile": "chosen"}, 2),
        (merged(TOOL, GLOBAL), {}, 3),
        (merged(TOOL, CONFIGURED, {"global": {"profile": "configured"}}), {}, 3),
        (merged(GLOBAL, CONFIGURED, {"global": {"profile": "configured"}}), {}, 4),
        (merged(CONFIGURED, {"global": {"profile": "configured"}}), {}, 5),
        (merged(CONFIGURED, {"tool_overrides": {"search": {"profile": "configured"}}}), {}, 5),
    ],
)
def test_the_stronger_of_two_decides(config: dict[str, Any], call: dict[str, Any], winner: int) -> None:
    assert decided(config, **call)["max_tokens"] == winner


def test_a_tools_profile_outranks_the_global_one() -> None:
    config = {"global": {"profile": "debug"}, "tool_overrides": {"search": {"profile": "standard"}}}
    assert (decided(config)["profile"], decided(config, "other")["profile"]) == ("standard", "debug")


def test_a_tools_profile_does_not_outrank_what_global_says_itself() -> None:
    config = merged(GLOBAL, {"tool_overrides": {"search": {"profile": "standard"}}})
    assert decided(config)["max_tokens"] == 4


def test_a_chosen_profile_decides_what_its_parents_say_too() -> None:
    config = merged(TOOL, {"profiles": {"chosen": {"extends": "standard"}}})
    found = decided(config, profile="chosen")
    assert (found["max_tokens"], found["encoding"]) == (20_000, "auto")


def test_a_chosen_profile_leaves_alone_what_it_says_nothing_about() -> None:
    config = merged(TOOL, {"tool_overrides": {"search": {"dialect": "sourced", "max_items": 9, "channels": "text"}}})
    found = decided(config, profile="standard")
    assert (found["dialect"], found["max_items"], found["channels"]) == ("sourced", 9, "text")


@pytest.mark.parametrize("profile", ["minimal", "standard"])
def test_a_tools_field_filters_stay_under_a_chosen_profile(profile: str) -> None:
    config = {
        "tool_overrides": {
            "search": {
                "include_only": ["a"],
                "exclude_fields": ["a.b"],
                "include_on_error": ["c"],
                "rename": {"a": "z"},
            }
        }
    }
    found = decided(config, profile=profile)
    assert [found[name] for name in ("include_only", "exclude_fields", "include_on_error", "rename")] == [
        ("a",), ("a.b",), ("c",), {"a": "z"},
    ]  # fmt: skip


FILTERS = {
    "include_only": ["a"],
    "exclude_fields": ["b"],
    "include_on_error": ["c"],
    "exclude_when_tier": {"free": ["d"]},
}


@pytest.mark.parametrize("how", ["chosen", "tool", "global", "extended"])
def test_debug_ignores_field_filters_however_it_was_chosen(how: str) -> None:
    override = {**FILTERS, **({"profile": "debug"} if how == "tool" else {})}
    config = {
        "global": {"profile": "debug"} if how == "global" else {},
        "profiles": {"mine": {"extends": "debug"}},
        "tool_overrides": {"search": override},
    }
    profile = {"chosen": "debug", "extended": "mine"}.get(how)
    found = decided(config, profile=profile, tier="free")
    assert [found[name] for name in FILTERS] == [None, (), (), {}]
    sources = {choice.name: choice.source for choice in load(config).explain("search", profile=profile)}
    assert {sources[name] for name in FILTERS} == {"nobody: debug ignores field filters"}


def test_private_paths_renames_and_redaction_do_not_yield_to_debug() -> None:
    override = {"private": ["p"], "rename": {"a": "b"}, "redact": {"names": True, "paths": ["s"]}}
    found = decided({"tool_overrides": {"search": override}}, profile="debug")
    assert (found["private"], found["rename"], found["redact"]) == (
        ("p",), {"a": "b"}, Redact(names=True, paths=("s",)),
    )  # fmt: skip


def test_a_requests_fields_take_the_place_of_include_only_even_under_debug() -> None:
    config = {"tool_overrides": {"search": {**FILTERS, "private": ["p"]}}}
    overrides = Overrides(fields=("x", "p"))
    found = decided(config, overrides=overrides)
    assert [found[name] for name in (*FILTERS, "private")] == [
        ("x", "p"), ("b",), ("c",), {"free": ["d"]}, ("p",),
    ]  # fmt: skip
    assert decided(config, overrides=overrides, profile="debug")["include_only"] == ("x", "p")


def test_every_request_choice_is_taken() -> None:
    overrides = Overrides(("f",), 1, 2, 3, "csv", "flat", "text")
    found = decided({}, overrides=overrides)
    names = ("include_only", "max_tokens", "max_items", "max_string", "encoding", "dialect", "channels")
    assert [found[name] for name in names] == [("f",), 1, 2, 3, "csv", "flat", "text"]


def test_matching_overrides_add_up_choice_by_choice_and_the_strongest_decides_each() -> None:
    config = {
        "tool_overrides": {
            "github.issues": {"include_only": ["a"]},
            "*": {"max_items": 1, "max_string": 1, "max_tokens": 1},
            "github.*": {"max_items": 2, "max_string": 2},
            "git*.iss*": {"max_items": 3},
            "other": {"max_items": 4},
        }
    }
    found = decided(config, "github.issues")
    names = ("include_only", "max_items", "max_string", "max_tokens")
    assert [found[name] for name in names] == [("a",), 3, 2, 1]


def test_between_patterns_of_one_length_the_later_decides() -> None:
    early, late = {"max_items": 1}, {"max_items": 2}
    assert decided({"tool_overrides": {"sear*": early, "*arch": late}})["max_items"] == 2
    assert decided({"tool_overrides": {"*arch": late, "sear*": early}})["max_items"] == 1


def test_private_paths_add_up_from_everywhere() -> None:
    config = {
        "global": {"private": ["a"]},
        "tool_overrides": {"s*": {"private": ["b", "a"]}, "search": {"private": ["c"]}},
    }
    assert decided(config)["private"] == ("a", "b", "c")


def test_renames_defaults_and_tiers_are_merged_key_by_key() -> None:
    config = {
        "tool_overrides": {
            "s*": {
                "rename": {"a": "x", "b": "y"},
                "defaults": {"n": 0},
                "exclude_when_tier": {"free": ["a"], "pro": ["b"]},
            },
            "search": {"rename": {"a": "z"}, "defaults": {"m": 1}, "exclude_when_tier": {"free": ["c"]}},
        }
    }
    found = decided(config)
    assert [found[name] for name in ("rename", "defaults", "exclude_when_tier")] == [
        {"a": "z", "b": "y"}, {"n": 0, "m": 1}, {"free": ["c"], "pro": ["b"]},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("everywhere", "here", "expected"),
    [
        (None, None, Redact()),
        (None, "off", Redact(off=True)),
        (None, False, Redact(off=True)),
        (None, True, Redact(names=True)),
        ({"names": True}, None, Redact(names=True)),
        ({"names": True}, "off", Redact(names=True, off=True)),
        ({"paths": ["a"]}, {"paths": ["b"], "values": False}, Redact(values=False, paths=("a", "b"))),
        ({"names": True}, {"names": False}, Redact()),
        ("off", {"names": True}, Redact(names=True)),
        ("off", True, Redact(names=True)),
    ],
)
def test_redaction_is_decided_rule_by_rule_and_its_paths_add_up(everywhere: Any, here: Any, expected: Redact) -> None:
    config = {
        "global": {} if everywhere is None else {"redact": everywhere},
        "tool_overrides": {"search": {} if here is None else {"redact": here}},
    }
    assert decided(config)["redact"] == expected


@pytest.mark.parametrize(
    ("everywhere", "here", "expected"),
    [
        (["links", "bulk"], None, ("links", "bulk")),
        (["links", "bulk"], {"bulk": False, "opaque": True}, ("links", "opaque")),
        ({"links": False}, ["links"], ("links",)),
        ({"links": False}, None, ("opaque", "bulk", "boilerplate", "repeats", "constants")),
        ([], None, ()),
    ],
)
def test_noise_rules_are_listed_or_switched(everywhere: Any, here: Any, expected: tuple[str, ...]) -> None:
    config = {"global": {"prune": everywhere}, "tool_overrides": {"search": {} if here is None else {"prune": here}}}
    assert decided(config)["prune"] == expected


def test_global_and_tool_add_envelope_members_to_the_profiles_but_not_to_a_chosen_ones() -> None:
    config = {
        "global": {"profile": "standard", "envelope": {"include": ["tier"]}},
        "tool_overrides": {"search": {"envelope": {"include": ["etag"], "exclude": ["error"]}}},
    }
    assert decided(config)["envelope"] == ("warnings", "upgrade_hints", "tier", "etag", "!error")
    assert decided(config, profile="minimal")["envelope"] == ()


@pytest.mark.parametrize(("surface", "dialect"), [("python", "lean"), ("mcp", "none"), ("command", "none")])
def test_each_surface_has_its_own_default_dialect(surface: str, dialect: str) -> None:
    assert decided({}, surface=surface)["dialect"] == dialect
    assert decided({"global": {"dialect": "flat"}}, surface=surface)["dialect"] == "flat"


def test_a_choice_names_everybody_who_had_a_say() -> None:
    config = {
        "global": {"private": ["a"], "prune": {"links": False}, "redact": True},
        "tool_overrides": {"search": {"private": ["b"], "prune": ["bulk"]}},
    }
    found = {choice.name: choice for choice in load(config).explain("search", overrides=Overrides(max_items=3))}
    file = "the given config"
    everywhere, here = Origin("global", file), Origin("tool override search", file)
    assert found["private"].origins == (everywhere, here)
    assert found["private"].source == "global (the given config), tool override search (the given config)"
    assert found["prune"].origins == (here,)
    assert found["redact"].origins == (everywhere,)
    assert found["channels"].source == "built in"
    assert found["max_items"].source == "the request"
    assert found["dialect"].source == "default of the python surface"
