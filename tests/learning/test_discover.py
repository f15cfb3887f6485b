"""`shaping discover` on a home directory in which four real clients left their sessions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from shaping import Recorder, Shaper
from shaping.cli.app import build
from shaping.cli.discover import discover as discover_here
from shaping.learning.transcripts import read_codex
from shaping.tokens import count, exact
from tests.learning.test_suggest import record

if TYPE_CHECKING:
    from pathlib import Path


def discover(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "shaping", "discover", *words]
    environ = {**os.environ, "NO_COLOR": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environ, timeout=120)


def test_a_folder_without_recordings_is_told_in_one_line(tmp_path: Path) -> None:
    done = discover(str(tmp_path / "nothing"))
    assert done.returncode == 1
    assert done.stderr.startswith("there are no recordings in ")
    assert done.stderr.count("\n") == 1


def test_it_says_what_each_tool_cost_would_have_cost_and_would_have_lacked(home: Path) -> None:
    done = discover("--home", str(home))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for client in (
        "Claude Code: 2 sessions",
        "Codex: 1 session, 3 calls",
        "Gemini CLI: 1 session",
        "opencode: 1 session",
    ):
        assert any(line.startswith(client) for line in lines), client
    rows = next(line for line in lines if line.startswith("lab/rows")).split()
    assert rows[1] == "4", "one call in each client"
    assert rows[-2:] == ["8", "4"], "two values used later by each agent, one of them in a link that minimal drops"
    assert "lab/rows would have lacked what was used later: https://api.example.com/records/4" in lines
    assert '"prune": {"links": false}' in done.stdout, "the config that it would write keeps them"
    assert "$schema" not in done.stdout, "that file is not written"
    install = {
        f"  shaping {what}" for what in ("wrap --client claude-code", "wrap --client opencode", "hook install opencode")
    }
    assert {"To install:", *install} <= {*lines}
    assert any("tokens (counted by o200k_base exactly, profile minimal)" in line for line in lines)
    assert done.stderr == ""


def test_a_program_gets_the_same_as_an_envelope(home: Path) -> None:
    done = discover("--home", str(home), "--json")
    data = json.loads(done.stdout)["data"]
    assert data["sessions"] == 5
    rows = next(row for row in data["tools"] if row["tool"] == "rows")
    assert rows["missing"] == {"https://api.example.com/records/4": 4}


def test_a_folder_of_recordings_is_read_too(tmp_path: Path) -> None:
    record(tmp_path / "traffic", sessions=3)
    done = discover(str(tmp_path / "traffic"))
    assert done.returncode == 0, done.stderr
    assert "hub/list" in done.stdout
    assert "recordings: 3 sessions, 6 calls" in done.stdout
    assert "To install" not in done.stdout


@pytest.mark.parametrize(("records", "sampled"), [(1_000, False), (25_000, True)])
def test_tokens_are_counted_exactly_or_with_their_error(tmp_path: Path, records: int, *, sampled: bool) -> None:
    text = json.dumps([{"id": at, "title": f"item {at}", "state": "open", "weight": at * 7} for at in range(records)])
    recorder = Recorder(tmp_path / "traffic")
    recorder.record(Shaper({}).plan("hub/list", surface="mcp"), {"content": [{"type": "text", "text": text}]})
    recorder.close()
    (row,) = json.loads(discover(str(tmp_path / "traffic"), "--json").stdout)["data"]["tools"]
    assert abs(row["before"] - exact(text)) <= row["error"]
    assert (row["error"] > 0) is sampled


def test_a_home_without_sessions_says_which_clients_were_looked_for(tmp_path: Path) -> None:
    done = discover("--home", str(tmp_path))
    assert done.returncode == 1
    assert "Claude Code, Codex, Gemini CLI or opencode" in done.stderr


def test_secrets_in_a_session_are_not_printed(home: Path) -> None:
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" * 2
    for path in home.rglob("session.jsonl"):
        path.write_text(
            path.read_text().replace("https://api.example.com/records/4", f"https://x:{secret}@example.com/4")
        )
    done = discover("--home", str(home), "--json")
    assert done.returncode == 0
    assert secret not in done.stdout


def test_results_are_priced_once_as_written_and_as_cache_reads_for_the_turns_that_they_stayed(
    home: Path, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.json"
    models = {"m": {"input": 2, "cache_write": 3, "cache_read": 1}, "no-cache": {"input": 2}}
    prices.write_text(json.dumps({"date": "2026-01-01", "currency": "EUR", "per_tokens": 1, "models": models}))
    codex = home / ".codex" / "sessions"
    for client in (".claude", ".gemini", ".local"):
        shutil.rmtree(home / client)
    data = json.loads(discover("--home", str(home), "--model", "m", "--prices", str(prices), "--json").stdout)["data"]
    (transcript,) = read_codex(next(codex.rglob("*.jsonl")))
    assert len(transcript.turns) == 4
    # The model is asked three times with the first result, of which the first writes it, twice with the second, once.
    tokens = [int(count(call.text_before())) for call in transcript.calls]
    assert data["money"]["before"] == 3 * sum(tokens) + 2 * tokens[0] + tokens[1]
    assert data["money"]["after"] < data["money"]["before"]
    again = discover("--home", str(home), "--model", "no-cache", "--prices", str(prices), "--json").stdout
    assert json.loads(again)["data"]["money"]["before"] == 2 * (sum(tokens) + 2 * tokens[0] + tokens[1])


def write_claude_session(home: Path, calls: int, rows: int, sessions: int) -> None:
    """Write sessions in which every call asks for what the one before it has answered."""
    folder = home / ".claude" / "projects" / "work"
    folder.mkdir(parents=True)
    for session in range(sessions):
        with (folder / f"{session}.jsonl").open("w") as file:
            for call in range(session, calls, sessions):
                ids = [f"item-{call - sessions}-{row:04}" for row in range(rows)]
                use = {"type": "tool_use", "id": f"c{call}", "name": "mcp__hub__list", "input": {"ids": ids}}
                data = [{"id": f"item-{call}-{row:04}", "text": f"about row {row} of {call}"} for row in range(rows)]
                result = {"type": "tool_result", "tool_use_id": f"c{call}", "content": json.dumps(data)}
                for role, block, second in (("assistant", use, "00"), ("user", result, "30")):
                    line: dict[str, Any] = {"type": role, "message": {"role": role, "content": [block]}}
                    line["timestamp"] = f"2026-01-01T{call // 60:02}:{call % 60:02}:{second}Z"
                    file.write(json.dumps(line) + "\n")


@pytest.mark.parametrize(
    ("once", "twice"),
    [((60, 10, 2), (120, 10, 2)), ((80, 10, 40), (160, 10, 80)), ((24, 40, 2), (24, 80, 2))],
    ids=["calls", "sessions", "rows"],
)
def test_twice_the_sessions_calls_or_rows_take_at_most_about_twice_the_steps(
    once: tuple[int, int, int], twice: tuple[int, int, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken: list[int] = []
    for size in (once, once, twice):  # the first run fills what is remembered from call to call
        home, steps = tmp_path / str(len(taken)), 0
        write_claude_session(home, *size)

        def count_step(*_: Any) -> None:
            nonlocal steps
            steps += 1

        before = sys.getprofile()
        sys.setprofile(count_step)
        try:
            answer = discover_here(None, home=home)
        finally:
            sys.setprofile(before)
        assert answer.data["tools"][0]["used"] > 0
        taken.append(steps)
    assert taken[2] < 2.2 * taken[1]


def test_a_file_that_is_no_recording_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text('{"a": 1}\nwords\n')
    done = CliRunner().invoke(build(), ["discover", str(tmp_path / "notes.jsonl")])
    assert (done.exit_code, "is not a recording" in done.stderr) == (1, True)
