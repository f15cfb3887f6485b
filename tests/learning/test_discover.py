"""`shaping discover` on a home directory in which four real clients left their sessions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.learning.test_suggest import record

if TYPE_CHECKING:
    from pathlib import Path


def discover(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "shaping", "discover", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"})


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
    assert "To install: shaping wrap --client claude-code" in lines
    assert done.stderr == ""


def test_a_program_gets_the_same_as_an_envelope(home: Path) -> None:
    done = discover("--home", str(home), "--json")
    data = json.loads(done.stdout)["data"]
    assert data["sessions"] == 5
    rows = next(row for row in data["tools"] if row["tool"] == "rows")
    assert rows["missing"] == ["https://api.example.com/records/4"]


def test_a_folder_of_recordings_is_read_too(tmp_path: Path) -> None:
    record(tmp_path / "traffic", sessions=3)
    done = discover(str(tmp_path / "traffic"))
    assert done.returncode == 0, done.stderr
    assert "hub/list" in done.stdout
    assert "recordings: 3 sessions, 6 calls" in done.stdout


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
