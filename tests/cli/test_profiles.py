from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from shaping.cli.app import build

RUNNER = CliRunner()
CONFIG = """{
  "profiles": {
    "mine": {"extends": "audit"},
    "audit": {"extends": "standard", "description": "For auditors."},
  },
}"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SHAPING_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return RUNNER.invoke(build(), ["profiles", *arguments])


def test_the_bundled_profiles_are_listed_with_what_they_are_for() -> None:
    result = run()
    assert (result.exit_code, result.stderr) == (0, "")
    assert [(line.split()[0], line.split()[-1]) for line in result.stdout.split("\n\n")[0].splitlines()] == [
        ("debug", "(bundled)"),
        ("minimal", "(bundled)"),
        ("standard", "(bundled)"),
    ]


def test_own_profiles_are_listed_with_what_they_extend_and_where_they_stand() -> None:
    Path("response_config.json").write_text(CONFIG)
    lines = run().stdout.splitlines()
    assert lines[0] == "audit     For auditors.  (response_config.json:4)"
    assert lines[2] == "mine      extends audit, standard  (response_config.json:3)"


def test_a_program_reads_an_envelope() -> None:
    Path("other.json").write_text('{"profiles": {"mine": {"extends": "debug"}}}')
    told = json.loads(run("--config", "other.json", "--json").stdout)
    assert told["data"][1] == {"name": "mine", "description": None, "extends": ["debug"], "source": "other.json:1"}


def test_a_config_with_problems_exits_1() -> None:
    Path("response_config.json").write_text("{")
    assert run().exit_code == 1
