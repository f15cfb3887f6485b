from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from shaping import Shaper
from shaping.cli.app import build
from shaping.settings.check import check
from shaping.settings.jsonc import ConfigError, ConfigProblem
from shaping.settings.loading import load
from shaping.settings.sources import GIVEN_NAME, read_sources

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = Path(__file__).parent.parent / "cases" / "settings"


def problems(config: dict[str, Any]) -> list[str]:
    """Check a config given as a mapping, and list its problems as they are written."""
    with pytest.raises(ConfigError) as caught:
        load(config)
    assert {problem.file for problem in caught.value.problems} == {GIVEN_NAME}
    return [str(problem) for problem in caught.value.problems]


def warnings(config: dict[str, Any]) -> list[str]:
    return [str(warning) for warning in load(config).warnings]


def override(**choices: Any) -> dict[str, Any]:
    return {"tool_overrides": {"search": choices}}


def test_every_problem_is_reported_at_once_in_the_order_of_the_file(
    project: Path, environ: dict[str, str], write: Callable[[str, Any], Path]
) -> None:
    path = write(
        "response_config.json",
        """{
  // the words of STYLE, point 7
  "tool_overrides": {
    "search": {
      "profile": "minimla",
      "max_tokens": -5,
      "include_only": ["a..b", "c"],
    },
  },
  "globl": {},
  "global": {"encoding": "jsn"},
}""",
    )
    with pytest.raises(ConfigError) as caught:
        load(cwd=project, environ=environ)
    assert caught.value.problems == (
        ConfigProblem(
            str(path), "$.tool_overrides.search.profile", 5, "minimla", "debug, minimal or standard", "minimal"
        ),
        ConfigProblem(
            str(path),
            "$.tool_overrides.search.max_tokens",
            6,
            -5,
            "a positive integer, or null for no limit",
        ),
        caught.value.problems[2],
        ConfigProblem(str(path), "$.globl", 10, {}, caught.value.problems[3].expected, "global", "is not a known key"),
        ConfigProblem(
            str(path),
            "$.global.encoding",
            11,
            "jsn",
            "auto, json, table, markdown, csv or toon",
            "json",
        ),
    )
    path_problem = caught.value.problems[2]
    assert (path_problem.path, path_problem.line) == ("$.tool_overrides.search.include_only[0]", 7)
    assert path_problem.expected.startswith("a path (")
    assert path_problem.expected.endswith("at column 3)")


@pytest.mark.parametrize(
    "case", json.loads((CASES / "problems.json").read_text()), ids=lambda case: case["problem"][:60]
)
def test_a_problem_says_where_what_expected_and_nearest(case: dict[str, Any]) -> None:
    assert problems(case["config"]) == [case["problem"]]


def test_brackets_that_close_are_good_patterns() -> None:
    patterns: dict[str, Any] = {"a[bc]": {}, "a[]]": {}, "a[!]]": {}, "a[[]b": {}}
    assert list(load({"tool_overrides": patterns}).config.tool_overrides or ()) == list(patterns)


def test_a_missing_extra_is_said_when_the_config_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaping.settings.model.find_spec", lambda module: None)
    config = {
        "global": {"encoding": "toon"},
        "profiles": {"mine": {"encoding": "toon"}},
        "store": {"kind": "redis", "url": "redis://localhost"},
    }
    hint = "expected one that is installed: encoding 'toon' needs an extra: pip install \"shaping[toon]\""
    assert problems(config) == [
        f"$.global.encoding is 'toon'; {hint}",
        f"$.profiles.mine.encoding is 'toon'; {hint}",
        f"$.store.kind is 'redis'; {hint.replace('encoding', 'store').replace('toon', 'redis')}",
    ]


@pytest.mark.parametrize("installed", [True, False])
def test_a_contract_that_cannot_be_asked_here_leaves_serving_alone_and_is_a_problem_of_check(
    installed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not installed:
        monkeypatch.setattr("shaping.settings.model.find_spec", lambda module: None)
    override = {
        "private": ["salary"],
        "include_only": ["id"],
        "answers": [{"question": "How many?", "jmespath": "length(" if installed else "length(@)"}],
    }
    config = tmp_path / "mine.json"
    config.write_text(json.dumps({"tool_overrides": {"people": override}}))
    assert Shaper(config, watch=False).shape({"id": 1, "salary": 9, "name": "Ann"}, tool="people").data == {"id": 1}
    checked = CliRunner().invoke(build(), ["check", str(config)])
    assert checked.exit_code == 1
    assert "$.tool_overrides.people.answers[0].jmespath" in checked.stderr
    assert ("a JMESPath expression" if installed else 'pip install "shaping[jmespath]"') in checked.stderr


def test_a_plugins_code_may_be_registered_later() -> None:
    assert load({"errors": {"x.Y": "plugin.CODE"}}).config.errors == {"x.Y": "plugin.CODE"}


def test_equal_patterns_that_match_one_tool_and_say_the_same_thing_are_a_warning() -> None:
    tie = {"git*": {"max_items": 1, "typed": True}, "*hub": {"max_items": 2}, "a*": {"max_items": 3}, "gi?": {}}
    says = "and 'git*' can match the same tool, and both say max_items"
    expected = "expected patterns of different length; as it is, the later one wins."
    assert warnings({"tool_overrides": tie}) == [f'$.tool_overrides["*hub"] {says}; {expected}']


@pytest.mark.parametrize(
    "overrides",
    [
        {"git*": {"max_items": 1}, "*hub": {"typed": True}},
        {"git*": {"max_items": 1}, "svn*": {"max_items": 2}},
        {"git*": {"max_items": 1}, "*thub": {"max_items": 2}},
        {"gith": {"max_items": 1}, "*ith": {"max_items": 2}},
    ],
)
def test_patterns_that_cannot_contradict_are_no_warning(overrides: dict[str, Any]) -> None:
    assert warnings({"tool_overrides": overrides}) == []


def test_what_cannot_be_read_does_not_hide_what_can(
    project: Path, environ: dict[str, str], write: Callable[[str, Any], Path]
) -> None:
    config = write("response_config.json", '{"global": {')
    broken = write("profiles/broken.json", "nonsense")
    write("profiles/bad.json", {"encoding": "jsn", "extends": "nobody", "max_tokens": 0, "private": []})
    problems, _ = check(read_sources(None, cwd=project, environ=environ))
    assert [(problem.file, problem.path) for problem in problems] == [
        (str(config), "$"),
        (str(broken), "$"),
        *(
            (str(project / "profiles" / "bad.json"), path)
            for path in ("$.encoding", "$.max_tokens", "$.extends", "$.private")
        ),
    ]


def test_a_key_that_stands_twice_is_a_problem(
    project: Path, environ: dict[str, str], write: Callable[[str, Any], Path]
) -> None:
    write("response_config.json", '{"global": {"profile": "minimal", "profile": "debug"}}')
    with pytest.raises(ConfigError, match=r"\$.global.profile stands twice"):
        load(cwd=project, environ=environ)


@pytest.mark.parametrize(
    "config",
    [
        {"global": 5, "tool_overrides": [], "profiles": "x", "store": None, "errors": [1], "tools": 1},
        {"tool_overrides": {"a*": 1, "*b": 2}, "profiles": {"x": [], "y": None}, "errors": {"a": 1}, "tokenizer": 5},
        {"global": {"profile": [], "encoding": {}}, "profiles": {"x": {"extends": {}}}},
    ],
)
def test_a_config_of_wrong_shapes_is_all_problems_and_no_crash(config: dict[str, Any]) -> None:
    assert len(problems(config)) >= 3
