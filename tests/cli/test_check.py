from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from shaping.cli.app import build
from shaping.ledger import LedgerDatabase, LedgerEntry

RUNNER = CliRunner()
GOOD = '{"global": {"profile": "standard"}} // good'
BAD = '{\n"global": {"profile": "standart"},\n"tool_overrides": {"search": {"max_tokens": -5}}}'


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("SHAPING_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return RUNNER.invoke(build(), ["check", *arguments])


def test_a_good_config_exits_0() -> None:
    Path("response_config.json").write_text(GOOD)
    result = run()
    assert (result.exit_code, result.stdout, result.stderr) == (0, "response_config.json is good\n", "")


def test_every_problem_is_said_on_stderr_and_exits_1() -> None:
    Path("mine.json").write_text(BAD)
    result = run("mine.json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "mine.json has 2 problems:\n"
        "  $.global.profile is 'standart'; expected debug, minimal or standard. Did you mean 'standard'? (line 2)\n"
        "  $.tool_overrides.search.max_tokens is -5; "
        "expected a positive integer, or null for no limit. (line 3)\n"
    )


def test_variables_that_choose_what_there_is_not_are_problems_too(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("response_config.json").write_text(GOOD)
    monkeypatch.setenv("SHAPING", "of")
    monkeypatch.setenv("SHAPING_PROFILE", "minimla")
    result = run()
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "the environment has 2 problems:\n"
        "  SHAPING is 'of'; expected on, off or observe.\n"
        "  SHAPING_PROFILE is 'minimla'; expected debug, minimal or standard. Did you mean 'minimal'?\n"
    )
    monkeypatch.setenv("SHAPING", "observe")
    monkeypatch.setenv("SHAPING_PROFILE", "standard")
    assert run().exit_code == 0


def test_a_directory_is_looked_in(project: Path) -> None:
    (project / "sub" / ".shaping").mkdir(parents=True)
    (project / "sub" / ".shaping" / "response_config.json").write_text(GOOD)
    assert run("sub").stdout == f"{Path('sub', '.shaping', 'response_config.json')} is good\n"


def test_without_a_config_the_bundled_one_applies() -> None:
    result = run()
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith(
        "no config was found; the bundled default applies. Looked for: response_config.json, "
    )
    assert f" in {Path.cwd()}; " in result.stderr


def test_a_file_that_is_not_there_exits_2(project: Path) -> None:
    result = run("missing.json")
    assert (result.exit_code, result.stderr) == (
        2,
        "there is no file missing.json\n",
    )


def test_warnings_are_said_and_exit_0() -> None:
    overrides = {"git*": {"max_items": 1}, "*hub": {"max_items": 2}}
    Path("response_config.json").write_text(json.dumps({"tool_overrides": overrides}))
    result = run()
    assert (result.exit_code, result.stdout) == (0, "response_config.json is good\n")
    assert result.stderr.startswith("response_config.json has 1 warning:\n")
    told = json.loads(run("--json").stdout)
    assert [warning.split(" and ")[0] for warning in told["warnings"]] == ['$.tool_overrides["*hub"]']


def test_a_program_reads_an_envelope(project: Path) -> None:
    path = project / "response_config.json"
    path.write_text(GOOD)
    good = json.loads(run("--json").stdout)
    assert (good["ok"], good["data"]["files"], good["error"]) == (True, [str(path)], None)
    path.write_text(BAD)
    result = run("--json")
    bad = json.loads(result.stdout)
    assert (result.exit_code, bad["ok"], bad["data"]) == (1, False, None)
    assert bad["error"]["details"]["problems"][0] == {
        "file": str(path),
        "path": "$.global.profile",
        "line": 2,
        "expected": "debug, minimal or standard",
        "suggestion": "standard",
        "message": "$.global.profile is 'standart'; expected debug, minimal or standard. "
        "Did you mean 'standard'? (line 2)",
    }


def test_a_wrong_call_exits_2() -> None:
    assert run("--nonsense").exit_code == 2


def test_rules_for_a_tool_that_was_never_called_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SHAPING_LEDGER", str(tmp_path / "ledger.sqlite"))
    called = LedgerEntry(time.time(), "list_issues", 10, 5, server="github")
    LedgerDatabase(tmp_path / "ledger.sqlite").add([called])
    rules = {name: {"max_tokens": 500} for name in ("list_isues", "list_issues", "github/*", "gitlab/*")}
    Path("response_config.json").write_text(json.dumps({"tool_overrides": rules}))
    result = run()
    assert (result.exit_code, result.stdout) == (0, "response_config.json is good\n")
    said = "match no tool called so far (only github/list_issues was)."
    assert result.stderr.splitlines() == [
        f"note: the rules for 'list_isues' {said} Did you mean 'list_issues'?",
        f"note: the rules for 'gitlab/*' {said}",
    ]


@pytest.mark.parametrize("named", [(), ("response_config.json",)])
def test_a_config_that_applies_only_in_part_is_not_called_good(named: tuple[str, ...]) -> None:
    Path("response_config.json").write_text('{"global": {"profile": "debug"}}')
    result = run(*named)
    assert (result.exit_code, result.stdout) == (0, "response_config.json has no errors, but not all of it applies\n")
    assert "not allowed; read it, then run `shaping allow` to make `profile` apply." in result.stderr
    RUNNER.invoke(build(), ["allow"])
    assert run(*named).stdout == "response_config.json is good\n"
