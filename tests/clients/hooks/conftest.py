"""A resident process, and the hook's program run as a client runs it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from shaping.clients.hooks import RELAY, hook_command, socket_directory
from shaping.ledger import LedgerDatabase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from shaping.ledger import LedgerEntry

SECONDS = 60.0  # for something to happen in another process; nothing depends on how soon


def wait_for(happened: Callable[[], Any]) -> Any:
    """Wait until something has happened, and return it."""
    deadline = time.monotonic() + SECONDS
    while not (found := happened()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
    return found


@dataclass
class HookUser:
    """A user whose client has our hook."""

    home: Path
    work: Path
    env: dict[str, str]

    @property
    def directory(self) -> Path:
        return socket_directory(self.env)

    def run(self, payload: Any, client: str = "claude-code", *, seconds: float = SECONDS, **env: str) -> str:
        """Run the hook's own command line with a payload, and return what it printed; it never fails."""
        given = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        command = [self._waiting(word, seconds) for word in shlex.split(hook_command(client, self.env))]
        done = subprocess.run(command, input=given, env=self.env | env, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()

    def _waiting(self, word: str, seconds: float) -> str:
        """Put a copy of the hook's program in its place that waits otherwise: nothing depends on how soon."""
        if word != str(RELAY):
            return word
        copy = self.home / f"relay-{seconds}.py"
        if not copy.exists():
            text = RELAY.read_text()
            assert "SECONDS = 4.0 " in text
            copy.write_text(text.replace("SECONDS = 4.0 ", f"SECONDS = {seconds} "))
        return str(copy)

    def shaping(self, *words: str) -> str:
        command = [sys.executable, "-m", "shaping", *words]
        return subprocess.run(command, env=self.env, cwd=self.work, capture_output=True, text=True, check=True).stdout

    def ledger(self) -> list[LedgerEntry]:
        return LedgerDatabase(self.home / "ledger.sqlite").entries()

    def bash(self, command: str, stdout: str, **members: Any) -> dict[str, Any]:
        """Return what Claude Code 2.1.325 tells a hook of a shell command, as recorded in the lab."""
        response = {"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
        return {
            "session_id": "f004f7c5",
            "transcript_path": str(self.home / "transcript.jsonl"),
            "cwd": str(self.work),
            "permission_mode": "default",
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": command},
            "tool_response": response,
            "tool_use_id": "toolu_1",
            "duration_ms": 50,
            **members,
        }


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HookUser]:
    """A user whose resident process runs."""
    home = tmp_path_factory.mktemp("home")
    work = home / "work"
    work.mkdir()
    (work / ".git").mkdir()
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(home / ".cache")}
    env |= {"XDG_DATA_HOME": str(home / ".data"), "SHAPING_LEDGER": str(home / "ledger.sqlite")}
    user = HookUser(home, work, env)
    command = [sys.executable, "-m", "shaping.clients.hooks.resident", str(user.directory)]
    with subprocess.Popen(command, env=env) as process:
        wait_for((user.directory / "socket").exists)
        yield user
        process.terminate()


@pytest.fixture
def user(started: HookUser) -> HookUser:
    (started.home / "transcript.jsonl").unlink(missing_ok=True)
    (started.work / "response_config.json").unlink(missing_ok=True)
    return started
