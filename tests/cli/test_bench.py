from __future__ import annotations

import json
import re
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner, Result

from benchmarks import texts
from shaping.cli.app import build
from shaping.tokens import exact

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(build(), ["bench", *arguments], input=stdin)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    rng = Random(3)  # noqa: S311 - nobody's secret
    issues = [texts.issue(rng) for _ in range(12)]
    answers = tmp_path / "answers"
    answers.mkdir()
    (answers / "issues.json").write_text(json.dumps(issues, indent=2))
    (answers / "points.jsonl").write_text("\n".join(json.dumps([texts.point(rng)] * 5) for _ in range(2)))
    result = {"content": [{"type": "text", "text": json.dumps(issues)}], "structuredContent": {"result": issues}}
    (answers / "result.json").write_text(json.dumps(result))
    return answers


def measured(*arguments: str) -> dict[str, Any]:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    data: dict[str, Any] = json.loads(result.stdout)["data"]
    return data


def test_each_profile_is_measured_on_each_payload(folder: Path) -> None:
    data = measured(str(folder))
    names = [payload["name"].removeprefix(f"{folder}/") for payload in data["payloads"]]
    assert names == ["issues.json", "points.jsonl:1", "points.jsonl:2", "result.json"]
    assert [cost["profile"] for cost in data["total"]["profiles"]] == ["minimal", "standard", "debug"]
    issues = data["payloads"][0]
    text = (folder / "issues.json").read_text()
    assert (issues["raw"], issues["compact"]) == (
        exact(text),
        exact(json.dumps(json.loads(text), separators=(",", ":"))),
    )


def test_minimal_saves_and_the_totals_are_sums(folder: Path) -> None:
    data = measured(str(folder), "--profile", "minimal")
    payloads, total = data["payloads"], data["total"]
    shaped = [payload["profiles"][0]["tokens"] for payload in payloads]
    assert total["raw"] == sum(payload["raw"] for payload in payloads)
    assert total["profiles"][0]["tokens"] == sum(shaped) < total["raw"]
    assert total["profiles"][0]["saved_percent"] == round(100 * (1 - sum(shaped) / total["raw"]), 1)
    assert all(payload["profiles"][0]["milliseconds"] > 0 for payload in payloads)


def test_a_results_client_decides_what_it_costs(folder: Path) -> None:
    arguments = (str(folder / "result.json"), "--profile", "minimal", "--tool", "list_issues")
    unknown, known = measured(*arguments), measured(*arguments, "--client", "claude-code")
    assert known["total"]["profiles"][0]["tokens"] <= unknown["total"]["profiles"][0]["tokens"]


def test_people_see_a_table_with_a_total(folder: Path) -> None:
    lines = run(str(folder), "--table", "--profile", "minimal").stdout.splitlines()
    assert lines[0].strip() == "tokens"
    assert re.split("  +", lines[1]) == ["payload", "as sent", "compact", "profile", "shaped", "saved", "ms"]
    assert lines[-1].startswith("total")


def test_fields_add_up_to_the_compact_total(folder: Path) -> None:
    fields = measured(str(folder), "--by-field")
    assert sum(field["tokens"] for field in fields["fields"]) == fields["total"]
    assert fields["total"] == measured(str(folder), "--profile", "debug")["total"]["compact"]


def test_people_see_the_dearest_fields_and_the_rest_as_one(folder: Path) -> None:
    (folder / "wide.json").write_text(json.dumps({f"field_{n}": n for n in range(30)} | {"body": "a long text " * 20}))
    lines = run(str(folder / "wide.json"), "--by-field", "--table").stdout.splitlines()
    assert lines[2].startswith("body ")
    assert [line.partition("  ")[0] for line in lines[-2:]] == ["7 more fields", "total"]


def test_all_fields_are_shown_where_they_fit(folder: Path) -> None:
    assert "more fields" not in run(str(folder / "issues.json"), "--by-field", "--table").stdout


def test_standard_input_is_measured(folder: Path) -> None:
    result = run("-", "--profile", "standard", stdin='{"a": [1, 2, 3]}')
    assert json.loads(result.stdout)["data"]["payloads"][0]["name"] == "-"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.json"], "cannot read missing.json: No such file or directory"),
        (["empty"], "nothing to measure: no file there ends in .json"),
        (
            ["answers", "--profile", "minimla"],
            "--profile is 'minimla'; expected debug, minimal or standard. Did you mean 'minimal'?",
        ),
        (["answers", "--tokenizer", "o200k"], "Did you mean 'o200k_base'?"),
        (["answers", "--tokenizer", "chars", "--by-field"], "cannot count exactly"),
    ],
)
def test_what_is_wrong_is_said_on_standard_error(folder: Path, arguments: list[str], said: str) -> None:
    (folder.parent / "empty").mkdir()
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_a_config_with_problems_is_refused(folder: Path) -> None:
    (folder.parent / "bad.json").write_text('{"global": {"profile": "minimla"}}')
    result = run(str(folder), "--config", str(folder.parent / "bad.json"), "--table")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "minimla" in result.stderr


def test_a_saving_is_what_the_clients_model_does_not_read(tmp_path: Path) -> None:
    words = "It rains in the north, and nobody has seen the sun for a week. " * 5
    result = {"content": [{"type": "text", "text": words}], "structuredContent": {"result": words}}
    (tmp_path / "weather.json").write_text(json.dumps(result))
    for client in ((), ("--client", "claude-code")):
        total = measured(str(tmp_path / "weather.json"), "--profile", "standard", *client)["total"]
        assert total["profiles"][0]["saved_percent"] <= 8, client
