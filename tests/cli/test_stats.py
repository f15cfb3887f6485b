from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shaping import tokens
from shaping.cli.app import build
from shaping.ledger import LedgerDatabase, LedgerEntry

NOW = time.time()
ENTRIES = [
    LedgerEntry(NOW - 86_400 * 10, "list_issues", 40_000, 2_000, server="github", client="claude-code"),
    LedgerEntry(NOW, "list_issues", 40_000, 2_000, server="github", client="claude-code", tokenizer="o200k_base"),
    LedgerEntry(NOW, "list_issues", 0, 500, kind="expand", server="github", client="claude-code"),
    LedgerEntry(NOW, "query", 1_000, 900, server="postgres", client="codex-mcp-client", error_bound=0.01),
]


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "ledger.sqlite"
    monkeypatch.setenv("SHAPING_LEDGER", str(path))
    LedgerDatabase(path).add(ENTRIES)
    return path


def run(*words: str) -> str:
    done = CliRunner().invoke(build(), ["stats", *words])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.usefixtures("ledger")
def test_tools_are_listed_with_what_they_saved_net_of_expansions() -> None:
    lines = run().splitlines()
    assert lines[1].split() == ["github/list_issues", "2", "80,000", "4,500", "75,500", "94.4%"]
    assert lines[-1].startswith("saved 75,600 of 81,000 tokens net in 3 calls; 1 expansion. Tokens of o200k_base")


@pytest.mark.usefixtures("ledger")
def test_old_calls_are_left_out_where_asked() -> None:
    assert "saved 37,600 of 41,000 tokens net in 2 calls" in run("--since", "7d", "--by", "server")


@pytest.mark.usefixtures("ledger")
def test_a_program_gets_the_same_numbers() -> None:
    said = json.loads(run("--json", "--by", "client"))["data"]
    assert (said["total"]["saved"], said["total"]["calls"]) == (75_600, 3)
    assert [group["client"] for group in said["groups"]] == ["claude-code", "codex-mcp-client"]


@pytest.mark.parametrize("mode", ["on", "off"])
def test_what_a_command_printed_is_entered_where_shaping_is_on(mode: str, tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    numbers = "for n in range(300): print(n, 'the same words again')"
    command = [sys.executable, "-m", "shaping", "run", "--max-tokens", "200", "--", sys.executable, "-c", numbers]
    environ = {**os.environ, "SHAPING_LEDGER": str(file), "SHAPING": mode}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    found = LedgerDatabase(file).entries()
    if mode == "off":
        assert found == []
        return
    raw = "".join(f"{n} the same words again\n" for n in range(300))
    assert [(entry.before, entry.after, entry.kind) for entry in found] == [
        (tokens.exact(raw), tokens.exact(done.stdout + done.stderr), "call")
    ]


def test_of_a_long_output_no_more_counts_than_a_shell_shows_an_agent(tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    command = [sys.executable, "-m", "shaping", "run", "--", sys.executable, "-c", "print('word ' * 100_000)"]
    subprocess.run(command, env={**os.environ, "SHAPING_LEDGER": str(file)}, capture_output=True, check=True)
    (entry,) = LedgerDatabase(file).entries()
    assert entry.before == pytest.approx(6_000, rel=0.03)  # words in 30,000 characters


def test_a_command_whose_output_stays_is_entered_as_one_that_saved_nothing(tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    command = [sys.executable, "-m", "shaping", "run", "--", sys.executable, "-c", "print('a few words')"]
    subprocess.run(command, env={**os.environ, "SHAPING_LEDGER": str(file)}, capture_output=True, check=True)
    (entry,) = LedgerDatabase(file).entries()
    assert entry.before == entry.after > 0


def test_an_empty_ledger_says_what_fills_it(tmp_path: Path) -> None:
    LedgerDatabase(tmp_path / "empty.sqlite").add([])
    assert "has no calls, or none in the time of --since" in run("--ledger", str(tmp_path / "empty.sqlite"))


@pytest.mark.parametrize(
    ("words", "expected"), [(["--by", "colour"], "expected one of tool"), (["--since", "soon"], "such as 7d")]
)
def test_a_wrong_wish_is_told_what_is_expected(words: list[str], expected: str) -> None:
    done = CliRunner().invoke(build(), ["stats", *words])
    assert (done.exit_code, expected in done.output) == (2, True)


def test_a_ledger_that_is_off_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAPING_LEDGER", "off")
    done = CliRunner().invoke(build(), ["stats"])
    assert (done.exit_code, "SHAPING_LEDGER is off" in done.output) == (1, True)


def test_a_stream_is_entered_by_what_was_printed_of_it_and_of_its_end(tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    rows = 'for n in range(40): print(\'{"id": %d, "note": null, "tags": []}\' % n)'
    command = [sys.executable, "-m", "shaping", "run", "--stream", "--", sys.executable, "-c", rows]
    environ = {**os.environ, "SHAPING_LEDGER": str(file)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    raw = "".join(f'{{"id": {n}, "note": null, "tags": []}}\n' for n in range(40))
    (entry,) = LedgerDatabase(file).entries()
    assert (entry.before, entry.after) == (tokens.exact(raw), tokens.exact(done.stdout))


def test_what_is_entered_while_it_watches_is_printed(ledger: Path) -> None:
    command = [sys.executable, "-m", "shaping", "stats", "--watch", "--by", "server"]
    watching = subprocess.Popen(
        command, env={**os.environ, "SHAPING_LEDGER": str(ledger)}, stdout=subprocess.PIPE, text=True
    )
    try:
        assert watching.stdout is not None
        assert any("in 3 calls" in line for line in iter(watching.stdout.readline, ""))
        LedgerDatabase(ledger).add([LedgerEntry(time.time(), "search", 500, 100, server="github")])
        assert any("in 4 calls" in line for line in iter(watching.stdout.readline, ""))
    finally:
        watching.terminate()
        watching.communicate(timeout=30)


@pytest.mark.usefixtures("ledger")
def test_money_is_stated_for_a_model_that_is_named(tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    models = {"mine": {"input": 1, "cache_write": 2, "cache_read": 0.5}, "plain": {"input": 1}}
    prices.write_text(json.dumps({"date": "2026-01-02", "currency": "EUR", "per_tokens": 1000, "models": models}))
    cached = run("--model", "mine", "--prices", str(prices)).splitlines()[-1]
    assert cached == (
        "Worth 151.2000 EUR as cache writes of mine (prices of 2026-01-02), "
        "and 37.8000 more for each turn that they would have stayed."
    )
    plain = run("--model", "plain", "--prices", str(prices)).splitlines()[-1]
    assert plain == (
        "Worth 75.6000 EUR as input of plain (prices of 2026-01-02), "
        "and 75.6000 more for each turn that they would have stayed."
    )
    said = json.loads(run("--model", "mine", "--prices", str(prices), "--json"))["data"]
    assert said["total"]["saved_eur"] == 151.2
    unknown = CliRunner().invoke(build(), ["stats", "--model", "min", "--prices", str(prices)])
    assert (unknown.exit_code, "Did you mean 'mine'?" in unknown.output) == (2, True)
    alone = CliRunner().invoke(build(), ["stats", "--prices", str(prices)])
    assert (alone.exit_code, "--prices is for --model" in alone.output) == (2, True)


@pytest.mark.parametrize("command", ["last", "report", "ui"])
def test_what_shows_the_ledger_says_that_it_is_off(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAPING_LEDGER", "off")
    done = CliRunner().invoke(build(), [command])
    assert (done.exit_code, "SHAPING_LEDGER is off" in done.output) == (1, True)


@pytest.mark.parametrize("command", ["stats", "last", "report"])
def test_a_ledger_that_is_not_there_is_not_an_empty_one(command: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(build(), [command, "--ledger", str(tmp_path / "none.sqlite")])
    assert (done.exit_code, done.stderr) == (2, f"there is no ledger {tmp_path / 'none.sqlite'}\n")
