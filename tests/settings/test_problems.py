from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from shaping import Shaper
from shaping.settings.jsonc import (
    ConfigError,
    ConfigProblem,
    json_path,
    one_of,
    report,
    short_name,
    show,
    suggestion_for,
)

PROFILE = ConfigProblem(
    "response_config.json",
    "$.tool_overrides.search.profile",
    None,
    "minimla",
    "debug, minimal or standard",
    "minimal",
)
BUDGET = ConfigProblem(
    "response_config.json",
    "$.tool_overrides.search.max_tokens",
    None,
    -5,
    "a positive integer, or null for no limit",
)


def test_an_error_lists_all_problems_of_a_file_under_its_name() -> None:
    assert str(ConfigError([PROFILE, BUDGET])) == (
        "response_config.json has 2 problems:\n"
        "  $.tool_overrides.search.profile is 'minimla'; expected debug, minimal or standard. Did you mean 'minimal'?\n"
        "  $.tool_overrides.search.max_tokens is -5; "
        "expected a positive integer, or null for no limit."
    )


def test_an_error_carries_its_problems_and_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(ConfigError([PROFILE])))  # noqa: S301 (our own bytes)
    assert error.problems == (PROFILE,)


def test_a_line_that_is_known_is_named() -> None:
    assert str(ConfigProblem("c.json", "$.a", 7, True, "text")) == "$.a is true; expected text. (line 7)"


def test_warnings_are_reported_as_such() -> None:
    assert list(report([ConfigProblem("a", "$", None, 1, "x")], "warning")) == [
        "a has 1 warning:",
        "  $ is 1; expected x.",
    ]


def test_a_file_below_the_working_directory_is_named_shortly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert short_name(str(tmp_path / "a" / "b.json")) == str(Path("a", "b.json"))
    assert short_name("/elsewhere/b.json") == "/elsewhere/b.json"


def test_a_place_is_written_as_people_write_json_paths() -> None:
    assert json_path(("tool_overrides", "github.*", "private", 0)) == '$.tool_overrides["github.*"].private[0]'


@pytest.mark.parametrize(
    ("word", "found"), [("minimla", "minimal"), ("DEBUG", "debug"), ("zzz", None), (5, None), ("standart", "standard")]
)
def test_the_nearest_word_is_found_where_there_is_one(word: object, found: str | None) -> None:
    assert suggestion_for(word, ["minimal", "standard", "debug"]) == found


def test_words_are_listed_as_in_a_sentence() -> None:
    assert (one_of(["a"]), one_of(["a", "b"]), one_of(["a", "b", "c"])) == ("a", "a or b", "a, b or c")


def test_values_are_shown_short_and_without_credentials() -> None:
    assert show("redis://me:secret@host/0") == "'redis://***@host/0'"
    assert show("x" * 100) == repr("x" * 59 + "…")
    assert show({"a": [1, None, True]}) == '{"a": [1, null, true]}'
    assert show(list(range(100)))[-4:] == "6, …"
    assert show({"url": "redis://me:secret@host/0"}) == '{"url": "redis://***@host/0"}'


@pytest.mark.parametrize(
    "config",
    [
        *({"global": {"private": [path]}} for path in ("**.salar?", "**.(salary|b)", "**.{salary,b}", "**.--")),
        *({"tool_overrides": {tool: {"private": ["**.a"]}}} for tool in ("^t$", "t,u", "a//t")),
        {"global": {"redact": {"paths": ["**.p?n"]}}},
    ],
)
def test_a_path_or_a_tool_that_would_protect_nothing_is_a_mistake(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"expected a (path|tool)"):
        Shaper(config)


@pytest.mark.parametrize("path", ["**.Salary (USD)", '**."a?"', "**.*_id", "a[].b", "*"])
def test_a_path_that_protects_is_none(path: str) -> None:
    Shaper({"global": {"private": [path]}})
