from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from shaping.cli.app import build

if TYPE_CHECKING:
    from typer.testing import Result

TINY = [sys.executable, str(Path(__file__).parents[1] / "servers" / "tiny_server.py")]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(build(), ["tools", *arguments])


def test_every_definition_is_priced_and_the_dearest_stands_first() -> None:
    result = run("--", *TINY)
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["tokens", "tool"]
    assert lines[-1][1:] == ["6", "tools"]
    costs = [int(line[0]) for line in lines[1:-1]]
    assert costs == sorted(costs, reverse=True)
    assert sum(costs) == int(lines[-1][0])


@pytest.mark.parametrize("rule", ["die", "tiny/die", "tiny/d*"])
def test_what_a_config_saves_stands_beside_it(tmp_path: Path, rule: str) -> None:
    config = tmp_path / "c.json"
    config.write_text(json.dumps({"tools": {rule: {"drop": True}}}))
    told = run("--config", str(config), "--", *TINY)
    counted = json.loads(run("--json", "--config", str(config), "--", *TINY).stdout)["data"]
    assert told.stdout.splitlines()[0].split() == ["tokens", "shown", "tool"]
    assert [row["tool"] for row in counted if row["shown"] == 0] == ["die"]


def test_a_server_that_does_not_start_is_told_with_what_to_do() -> None:
    result = run("--", "/no/such/program")
    assert result.exit_code == 1
    assert "the server 'program' could not be started" in result.stderr
    assert "Install it, or give its whole path" in result.stderr


def test_one_server_of_several_that_does_not_start_does_not_hide_the_others(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    entries = {"ghost": {"command": "/no/such/program"}, "tiny": {"command": TINY[0], "args": TINY[1:]}}
    file.write_text(json.dumps({"mcpServers": entries}))
    result = run("--json", "--servers", str(file))
    assert (result.exit_code, len(json.loads(result.stdout)["data"])) == (1, 6)
    assert "the server 'ghost' could not be started" in result.stderr
