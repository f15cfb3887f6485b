from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from shaping.cli.app import build
from shaping.ledger import LedgerDatabase, LedgerEntry

RUNNER = CliRunner()
LEFT_OUT = ("max_tokens", "prune", "exclude_empty_objects", "exclude_empty_arrays", "exclude_null_values")
CONFIG = """{
  "global": {
    "redact": {"names": true},
  },
  "tool_overrides": {
    "search": {
      "include_only": ["items[].title"],
      "exclude_when_tier": {"free": ["items[].body"]},
    },
  },
}"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    for name in ("SHAPING_CONFIG", "SHAPING_DEBUG", "SHAPING_PROFILE", "SCALPEL_MCP_INFO"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "response_config.json").write_text(CONFIG)
    return tmp_path


def run(*arguments: str) -> Result:
    return RUNNER.invoke(build(), ["explain", *arguments])


def rows(result: Result) -> dict[str, list[str]]:
    assert result.exit_code == 0
    cells = [re.split(" {2,}", line, maxsplit=2) for line in result.stdout.splitlines()[1:]]
    return {row[0]: row[:0:-1] for row in cells}


def test_what_differs_from_the_bundled_default_is_shown_with_the_place_it_comes_from() -> None:
    result = run("--tool", "search")
    assert (
        result.stdout
        == """\
choice                 source                                         value
profile                global (bundled)                               minimal
max_tokens             profile minimal (bundled)                      20000
prune                  profile minimal (bundled)                      links, opaque, bulk, boilerplate, repeats, constants
exclude_empty_objects  profile minimal (bundled)                      true
exclude_empty_arrays   profile minimal (bundled)                      true
exclude_null_values    profile minimal (bundled)                      true
redact                 global (response_config.json:3)                {"values":true,"names":true,"paths":[],"off":false}
exclude_when_tier      tool override search (response_config.json:8)  {"free":["items[].body"]}
include_only           tool override search (response_config.json:7)  items[].title
"""  # noqa: E501 (a table, as it is printed)
    )
    assert "23 other choices are as bundled; --all shows them\n" in result.stderr


def test_where_nothing_differs_there_is_only_the_profile_and_what_it_leaves_out() -> None:
    Path("response_config.json").unlink()
    result = run("--tool", "search")
    assert set(rows(result)) == {"profile", *LEFT_OUT}
    assert "links, opaque, bulk" in result.stdout
    assert result.stderr.startswith("26 other choices are as bundled; --all shows them\n")


def test_what_a_config_says_is_shown_even_where_the_default_is_the_same() -> None:
    Path("response_config.json").write_text('{"global": {"encoding": "auto"}}')
    found = rows(run("--tool", "search"))
    assert {name: found[name] for name in found if name not in LEFT_OUT} == {
        "profile": ["minimal", "global (bundled)"],
        "encoding": ["auto", "global (response_config.json:1)"],
    }


def test_rules_of_servers_that_may_have_the_tool_are_named() -> None:
    rules = {"hr/*": {"private": ["salary"]}, "it/restart": {"max_tokens": 9}}
    Path("response_config.json").write_text(json.dumps({"tool_overrides": rules}))

    line = "if get_employee is a tool of the server hr, hr/* (private) also applies: --tool hr/get_employee\n"
    assert run("--tool", "get_employee").stdout.endswith(line)
    assert "also applies" not in run("--tool", "hr/get_employee").stdout
    assert "salary" in run("--tool", "hr/get_employee").stdout
    assert json.loads(run("--tool", "get_employee", "--json").stdout)["data"]["server_rules"] == ["hr/*"]


def test_of_a_tool_that_is_not_enabled_only_what_its_line_says_is_shown() -> None:
    Path("own.json").write_text('{"global": {"enabled": false}}')
    result = run("--tool", "search", "--config", "own.json")
    assert rows(result) == {
        "profile": ["minimal", "global (bundled)"],
        "enabled": ["false", "global (own.json:1)"],
    }
    assert "30 other choices change nothing, for the tool is not enabled; --all shows them\n" in result.stderr
    every = rows(run("--tool", "search", "--config", "own.json", "--all"))
    assert every["max_tokens"] == ["null", "not enabled by global (own.json:1)"]


def test_a_tool_that_nobody_called_is_told_and_last_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = tmp_path / "ledger.sqlite"
    monkeypatch.setenv("SHAPING_LEDGER", str(ledger))
    entry = LedgerEntry(time.time(), "list_issues", 10, 5, server="tracker")
    LedgerDatabase(ledger).add([entry])
    missing = run("--tool", "list_isues").stderr
    assert "no tool 'list_isues' was called so far. Did you mean 'list_issues'?\n" in missing
    assert "`shaping last` shows what was left out of a call, and why\n" in missing
    for known in ("list_issues", "tracker/list_issues", "search"):
        assert "no tool" not in run("--tool", known).stderr


def test_what_a_preset_says_of_a_command_differs_from_the_default() -> None:
    found = rows(run("--tool", "pytest", "--surface", "command"))
    assert found["parse"] == ["[]", "preset pytest"]
    assert found["keep_lines"][0].startswith('["^(?:FAILED|ERROR)')


def test_each_choice_says_which_file_and_line_or_profile_it_came_from(project: Path) -> None:
    result = run("--tool", "search", "--all")
    found = rows(result)
    assert len(found) == 32
    assert found["include_only"] == ["items[].title", "tool override search (response_config.json:7)"]
    assert found["redact"][1] == "global (response_config.json:3)"
    assert found["max_tokens"] == ["20000", "profile minimal (bundled)"]
    assert found["dialect"] == ["lean", "default of the python surface"]
    assert "--all" not in result.stderr
    assert result.stderr.endswith(f": {project / 'response_config.json'}\n")


def test_another_config_profile_surface_and_tier_can_be_asked_about() -> None:
    Path("other.json").write_text("{}")
    found = rows(run("--tool", "search", "--config", "other.json", "--profile", "debug", "--surface", "mcp", "--all"))
    assert (found["profile"], found["dialect"]) == (
        ["debug", "chosen for the call"],
        ["none", "default of the mcp surface"],
    )
    assert rows(run("--tool", "search", "--tier", "free"))["exclude_when_tier"][0] == '{"free":["items[].body"]}'


def test_the_environments_profile_is_the_one_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAPING_DEBUG", "1")
    assert rows(run("--tool", "search"))["profile"] == ["debug", "SHAPING_DEBUG"]
    monkeypatch.setenv("SHAPING_DEBUG", "0")
    monkeypatch.setenv("SHAPING_PROFILE", "debug")
    assert rows(run("--tool", "search"))["profile"] == ["debug", "SHAPING_PROFILE"]
    assert rows(run("--tool", "search", "--profile", "standard"))["profile"] == ["standard", "chosen for the call"]


def test_a_program_reads_an_envelope(project: Path) -> None:
    told = json.loads(run("--tool", "search", "--json").stdout)
    assert (told["ok"], told["data"]["tool"], told["data"]["files"]) == (
        True,
        "search",
        [str(project / "response_config.json")],
    )
    assert {
        "choice": "include_only",
        "value": ["items[].title"],
        "source": "tool override search (response_config.json:7)",
    } in (told["data"]["choices"])


def test_a_config_with_problems_exits_1() -> None:
    Path("response_config.json").write_text("{")
    result = run("--tool", "search")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("response_config.json has 1 problem:\n")


def test_a_call_without_a_tool_exits_2() -> None:
    assert run().exit_code == 2


def test_a_profile_of_the_environment_that_there_is_not_is_refused_by_its_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHAPING_PROFILE", "minimla")
    result = run("--tool", "search")
    assert (result.exit_code, "SHAPING_PROFILE is 'minimla'" in result.stderr) == (1, True)
    assert run("--tool", "search", "--profile", "debug").exit_code == 0


def test_lines_that_wait_for_permission_are_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(project / "data"))
    overrides = '{"tool_overrides": {\n"search": {"enabled": false},\n"other": {"enabled": false}}}'
    (project / "response_config.json").write_text(overrides)
    waits = "tool_overrides.search.enabled (response_config.json:2) does not apply until `shaping allow`"
    shown = run("--tool", "search", "--all").stdout
    assert waits in shown.splitlines()
    assert "tool_overrides.other" not in shown
    assert waits in run("--tool", "search").stdout
    assert json.loads(run("--tool", "search", "--json").stdout)["warnings"] == [waits]
    RUNNER.invoke(build(), ["allow"])
    assert "does not apply" not in run("--tool", "search").stdout


def test_a_profile_that_is_not_there_is_a_wrong_option() -> None:
    result = run("--tool", "search", "--profile", "minimla")
    said = "--profile is 'minimla'; expected debug, minimal or standard. Did you mean 'minimal'?\n"
    assert (result.exit_code, result.stderr) == (2, said)
