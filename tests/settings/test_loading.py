from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from shaping.settings.jsonc import ConfigError
from shaping.settings.loading import StoreConfig, load
from shaping.settings.model import Config
from shaping.settings.plan import Overrides

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_what_a_file_leaves_unsaid_comes_from_the_bundled_config() -> None:
    loaded = load({"store": {"kind": "sqlite", "path": "x.db"}, "agent_controls": True})
    config = loaded.config
    assert type(config) is Config
    assert loaded.store == StoreConfig(kind="sqlite", path="x.db", max_bytes=67_108_864, ttl_seconds=900)
    assert config.global_ is not None
    assert (config.global_.profile, config.tokenizer, config.agent_controls, config.allow_eval) == (
        "minimal", "o200k_base", True, False,
    )  # fmt: skip
    assert (config.tools, config.tools_changed, config.errors) == ({}, "keep", {})


@pytest.mark.parametrize(
    ("config", "surface", "kind"),
    [
        ({}, "python", "memory"),
        ({}, "mcp", "memory"),
        ({}, "command", "sqlite"),
        ({"store": {"kind": "memory"}}, "command", "memory"),
        ({"store": {"kind": "sqlite"}}, "python", "sqlite"),
    ],
)
def test_a_store_that_is_not_named_is_the_surfaces_own(config: dict[str, Any], surface: Any, kind: str) -> None:
    store = load(config).store_for(surface)
    assert (store.kind, store.ttl_seconds) == (kind, 900)


def test_the_hash_is_of_what_the_config_says_not_of_how_it_is_written(
    project: Path, environ: dict[str, str], write: Callable[[str, Any], Path]
) -> None:
    plain = load({"global": {"profile": "debug"}}).hash
    write("response_config.json", '{ // a comment\n  "global": {"profile": "debug",},\n}')
    assert load(cwd=project, environ=environ).hash == plain
    assert load({"global": {"profile": "standard"}}).hash != plain
    assert load({"global": {"profile": "debug"}, "profiles": {"x": {}}}).hash != plain


def test_a_plan_is_compiled_once_for_each_kind_of_call() -> None:
    loaded_config = load({})
    first = loaded_config.plan("search", overrides=Overrides(max_tokens=5))
    assert loaded_config.plan("search", overrides=Overrides(max_tokens=5)) is first
    others = [
        loaded_config.plan("search"),
        loaded_config.plan("other", overrides=Overrides(max_tokens=5)),
        loaded_config.plan("search", overrides=Overrides(max_tokens=6)),
        loaded_config.plan("search", profile="debug", overrides=Overrides(max_tokens=5)),
        loaded_config.plan("search", surface="mcp", overrides=Overrides(max_tokens=5)),
        loaded_config.plan("search", tier="pro", overrides=Overrides(max_tokens=5)),
    ]
    assert len({id(plan) for plan in (first, *others)}) == 7


def test_threads_that_ask_at_once_get_the_same_plan() -> None:
    loaded_config = load({"tool_overrides": {"search": {"include_only": ["a"]}}})
    with ThreadPoolExecutor(8) as pool:
        plans = list(pool.map(lambda _: loaded_config.plan("search", tier="x"), range(100)))
    assert {id(plan) for plan in plans} == {id(plans[0])}


def test_requests_cannot_grow_the_cache_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaping.settings.plan._MOST_PLANS", 10)
    loaded_config = load({})
    for budget in range(1, 50):
        assert loaded_config.plan("search", overrides=Overrides(max_tokens=budget)).max_tokens == budget
    assert len(loaded_config.plans._known) == 10


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            {"profile": "minimla"},
            ["$.profile is 'minimla'; expected debug, minimal or standard. Did you mean 'minimal'?"],
        ),
        (
            {"overrides": Overrides(max_tokens=0, encoding="jsn")},  # type: ignore[arg-type]  # as a caller may send it
            [
                "$.encoding is 'jsn'; expected auto, json, table, markdown, csv or toon. Did you mean 'json'?",
                "$.max_tokens is 0; expected a positive integer, or null for no limit.",
            ],
        ),
    ],
)
def test_a_call_that_asks_for_what_there_is_not_is_told_so(call: dict[str, Any], expected: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        load({}).plan("search", **call)
    assert [str(problem) for problem in caught.value.problems] == expected
    assert {problem.file for problem in caught.value.problems} == {"the call"}


def test_a_call_that_asks_for_a_bad_path_is_told_where() -> None:
    with pytest.raises(ConfigError, match=r"\$.fields\[1\] is 'a..b'; expected a path \(.* at column 3\)"):
        load({}).plan("search", overrides=Overrides(fields=("a", "a..b")))


def test_a_call_that_asks_for_a_missing_encoder_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaping.settings.model.find_spec", lambda module: None)
    with pytest.raises(ConfigError, match=r"pip install \"shaping\[toon\]\""):
        load({}).plan("search", overrides=Overrides(encoding="toon"))


def test_warming_compiles_what_the_other_generation_has_in_use() -> None:
    old = load({"profiles": {"gone": {}}})
    old.plan("search")
    old.plan("search", profile="gone")
    old.plan("search", overrides=Overrides(max_tokens=5))
    new = load({"global": {"max_items": 3}})
    new.plans.warm(old.plans)
    assert [(plan.tool, plan.max_items, plan.config_hash) for plan in new.plans._known.values()] == [
        ("search", 3, new.hash)
    ]


def test_a_choice_says_file_and_line(
    project: Path, environ: dict[str, str], write: Callable[[str, Any], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("response_config.json", '{\n"global": {\n"max_items": 3},\n"tool_overrides": {"s*": {\n"typed": true}}}')
    monkeypatch.chdir(project)
    found = {choice.name: choice.source for choice in load(environ=environ).explain("search")}
    assert found["max_items"] == "global (response_config.json:3)"
    assert found["typed"] == "tool override s* (response_config.json:5)"
    assert found["profile"] == "global (bundled)"


def test_of_renames_that_collide_only_in_one_tools_name_the_later_gives_way() -> None:
    overrides = {"git*": {"rename": {"a": "c"}, "private": ["p"]}, "*hub": {"rename": {"b": "c"}}}
    fields = load({"tool_overrides": overrides}).plan("github").fields
    assert fields is not None
    assert fields.apply({"a": 1, "b": 2, "p": 3}) == {"c": 1, "b": 2}


def test_a_tools_own_rename_outranks_that_of_all_tools_however_its_path_is_written() -> None:
    config = {"global": {"rename": {"a.b": "x"}}, "tool_overrides": {"t": {"rename": {"a[].b": "y"}}}}
    fields = load(config).plan("t").fields
    assert fields is not None
    assert fields.apply({"a": [{"b": 1}]}) == {"a": [{"y": 1}]}
