from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import threading
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest

from shaping import Shaper, using
from shaping.settings.chooser import environment_profile, mode
from shaping.settings.jsonc import ConfigError, ConfigProblem
from shaping.settings.live import LiveConfig

RAW = {"a": 1, "b": None, "c": 3}
CONFIG = {
    "global": {"profile": "minimal"},
    "profiles": {"audit": {"extends": "standard", "envelope": {"include": ["tool_id"]}}},
    "tool_overrides": {"quiet": {"profile": "minimal", "include_only": ["a"]}, "loud": {"profile": "standard"}},
}


def profile_of(shaper: Shaper, tool: str = "any", **choices: Any) -> str:
    return shaper.shape(RAW, tool=tool, **choices).plan.profile


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, None),
        ({"SHAPING_DEBUG": "1"}, "debug"),
        ({"SHAPING_DEBUG": "true"}, "debug"),
        ({"SHAPING_DEBUG": "0"}, None),
        ({"SHAPING_DEBUG": "maybe"}, None),
        ({"SHAPING_DEBUG": "maybe", "SHAPING_PROFILE": "standard"}, "standard"),
        ({"SHAPING_DEBUG": "false"}, None),
        ({"SHAPING_DEBUG": ""}, None),
        ({"SCALPEL_MCP_INFO": "DEBUG"}, "debug"),
        ({"SCALPEL_MCP_INFO": "debug"}, "debug"),
        ({"SCALPEL_MCP_INFO": "INFO"}, None),
        ({"SHAPING_PROFILE": "standard"}, "standard"),
        ({"SHAPING_PROFILE": ""}, None),
        ({"SHAPING_PROFILE": "standard", "SHAPING_DEBUG": "1"}, "debug"),
    ],
)
def test_the_environment_names_a_profile(environ: dict[str, str], expected: str | None) -> None:
    assert environment_profile(environ) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "on"),
        ("", "on"),
        ("on", "on"),
        ("1", "on"),
        ("off", "off"),
        ("OFF", "off"),
        ("0", "off"),
        ("observe", "observe"),
        ("bogus", "on"),
    ],
)
def test_shaping_is_switched_by_one_variable(value: str | None, expected: str) -> None:
    assert mode({} if value is None else {"SHAPING": value}) == expected


@pytest.mark.parametrize("surface", ["shape", "shape_result"])
def test_a_mode_that_there_is_not_is_logged_once_and_ignored(surface: str, caplog: pytest.LogCaptureFixture) -> None:
    shaper = Shaper(CONFIG, environ={"SHAPING": "bogus"})
    given = RAW if surface == "shape" else {"content": [{"type": "text", "text": json.dumps(RAW)}]}
    unset = getattr(Shaper(CONFIG, environ={}), surface)(given)
    for _ in range(3):
        answer = getattr(shaper, surface)(given)
        assert getattr(answer, "value", answer) == getattr(unset, "value", unset)
    said = "SHAPING is 'bogus'; expected on, off or observe. It is ignored, and shaping is on."
    assert caplog.record_tuples == [("shaping", logging.WARNING, said)]


@pytest.mark.parametrize("word", ["", "1", "true", "Yes", " on ", "0", "false", "no", "OFF", "observe"])
def test_a_mode_that_there_is_goes_without_a_word(word: str, caplog: pytest.LogCaptureFixture) -> None:
    Shaper(CONFIG, environ={"SHAPING": word}).shape(RAW)
    assert caplog.record_tuples == []


def test_the_environment_is_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    shaper = Shaper(CONFIG)
    assert profile_of(shaper) == "minimal"
    monkeypatch.setenv("SHAPING_DEBUG", "1")
    assert profile_of(shaper) == "debug"
    monkeypatch.delenv("SHAPING_DEBUG")
    assert profile_of(shaper) == "minimal"


def test_the_profile_is_chosen_strongest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    shaper = Shaper(CONFIG)
    assert profile_of(shaper, "any") == "minimal"  # global
    assert profile_of(shaper, "loud") == "standard"  # a tool's override beats global
    monkeypatch.setenv("SHAPING_PROFILE", "debug")
    assert profile_of(shaper, "loud") == "debug"  # the environment beats a tool's override
    with using(profile="audit"):
        assert profile_of(shaper, "loud") == "audit"  # a block beats the environment
        assert profile_of(shaper, "loud", profile="minimal") == "minimal"  # a request beats the block around it


def test_debug_ignores_field_filters_and_shows_every_member() -> None:
    answer = Shaper(CONFIG).shape(RAW, tool="quiet", profile="debug").value
    assert answer["data"] == RAW
    assert answer["error"] is None
    assert answer["tool_id"] == "quiet"


def test_a_field_list_of_a_block_selects_for_that_block_only() -> None:
    shaper = Shaper(CONFIG)
    with using(fields=["c"]):
        assert shaper.shape(RAW).value == {"data": {"c": 3}}
    assert shaper.shape(RAW).value == {"data": {"a": 1, "c": 3}}


def test_one_string_as_the_fields_of_a_block_is_one_path() -> None:
    with using(fields="name"):
        assert Shaper({}).shape([{"id": 1, "n": 2, "name": "x"}]).value == {"data": [{"name": "x"}]}


def test_an_inner_block_overrides_the_outer_one_choice_by_choice() -> None:
    shaper = Shaper(CONFIG)
    with using(profile="debug", fields=["a"]), using(profile="minimal"):
        assert shaper.shape(RAW).value == {"data": {"a": 1}}


def test_a_choice_that_there_is_not_is_refused() -> None:
    with pytest.raises(TypeError, match="not colour"), using(colour="red"):
        pass


def test_an_unknown_profile_is_warned_about_and_the_answer_still_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAPING_PROFILE", "minimla")
    shaped = Shaper(CONFIG).shape(RAW)
    assert shaped.value["data"] == {"a": 1, "c": 3}
    assert [warning.code for warning in shaped.warnings] == ["BAD_REQUEST"]
    assert "minimal" in shaped.warnings[0].message


def test_a_profile_that_there_is_not_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SHAPING_PROFILE", "minimla")
    shaper = Shaper(CONFIG)
    for _ in range(3):
        shaper.shape(RAW)
    expected = "expected audit, debug, minimal or standard. Did you mean 'minimal'?"
    said = f"SHAPING_PROFILE is 'minimla'; {expected} It is ignored."
    assert [record.getMessage() for record in caplog.records] == [said]


def test_a_profile_of_the_environment_that_there_is_not_costs_a_call_nothing_it_asks_for_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHAPING_PROFILE", "minimla")
    assert Shaper(CONFIG).shape(RAW, profile="standard").warnings == ()
    assert Shaper(CONFIG).shape(RAW, default_profile="audit").plan.profile == "audit"
    with using(fields=["a"]):
        assert Shaper(CONFIG).shape(RAW).data == {"a": 1}


def test_a_block_holds_in_its_own_task_only() -> None:
    shaper = Shaper(CONFIG)

    async def with_block() -> str:
        with using(profile="debug"):
            await asyncio.sleep(0.01)
            return profile_of(shaper)

    async def without() -> str:
        await asyncio.sleep(0.005)
        return profile_of(shaper)

    async def both() -> list[str]:
        return list(await asyncio.gather(with_block(), without()))

    assert asyncio.run(both()) == ["debug", "minimal"]


def test_a_block_holds_in_its_own_thread_only_unless_the_context_is_carried_along() -> None:
    shaper = Shaper(CONFIG)
    seen: list[str] = []
    with using(profile="debug"):
        threads = [
            threading.Thread(target=lambda: seen.append(profile_of(shaper))),
            threading.Thread(target=contextvars.copy_context().run, args=(lambda: seen.append(profile_of(shaper)),)),
        ]
        for thread in threads:
            thread.start()
            thread.join(60)
    assert seen == ["minimal", "debug"]


def test_of_a_request_that_is_partly_wrong_the_rest_holds() -> None:
    with using(profile="audit", fields=["a["], max_items=1):
        shaped = Shaper(CONFIG).shape([1, 2], tool="any")
    assert (shaped.plan.profile, shaped.data) == ("audit", [1])
    assert [warned.code for warned in shaped.warnings] == ["BAD_REQUEST"]
    with using(profile="nope", fields=["a"]):
        shaped = Shaper(CONFIG).shape({"a": 1, "b": 2}, tool="any")
    assert (shaped.plan.profile, shaped.data) == ("minimal", {"a": 1})


@pytest.mark.parametrize("looks", range(4))
def test_a_call_is_shaped_though_its_config_is_corrected_that_moment(
    looks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "response_config.json"
    file.write_text("{}")
    shaper = Shaper(file, watch=False)
    problem = ConfigError([ConfigProblem(str(file), "$.global", 1, 1, "an object")])
    # The thread that watches the file corrects it after so many looks at what is wrong.
    found = chain(repeat(problem, looks), repeat(None))
    monkeypatch.setattr(LiveConfig, "problem", property(lambda _: next(found)), raising=False)
    assert [warned.code for warned in shaper.choose("search")[1]] == ["BAD_CONFIG"] * min(looks, 1)
