from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def shaping(tmp_path: Path) -> Any:
    environ = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR"):
        environ.pop(name, None)
    (tmp_path / "project").mkdir()

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "shaping", "hook", *words]
        return subprocess.run(
            command, cwd=tmp_path / "project", env=environ, capture_output=True, text=True, check=False
        )

    return run


def test_a_hook_is_installed_told_of_and_taken_out(shaping: Any, tmp_path: Path) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"model": "opus"}')

    installed = shaping("install", "claude-code")
    assert f"installed in {settings}" in installed.stderr
    assert "undo with: shaping hook uninstall claude-code" in installed.stderr
    assert "already" in shaping("install", "claude-code").stderr
    assert f"claude-code: {settings}\n" in shaping("status").stdout
    assert "opencode: not installed\n" in shaping("status").stdout
    assert "no resident process runs" in shaping("status", "claude-code").stdout
    assert "as it was before" in shaping("uninstall", "claude-code").stderr
    assert settings.read_text() == '{"model": "opus"}'
    assert "no hook of ours" in shaping("uninstall", "claude-code").stderr


def test_a_program_is_told_which_file_holds_the_hook(shaping: Any, tmp_path: Path) -> None:
    told = json.loads(shaping("install", "claude-code", "--json").stdout)["data"]

    file = str(tmp_path / ".claude" / "settings.json")
    assert told == {"client": "claude-code", "file": file, "changed": True}
    status = json.loads(shaping("status", "--json").stdout)["data"]
    assert (status["installed"]["claude-code"], status["installed"]["kilo"], status["running"]) == (file, None, None)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["install", "claude-cod"], "did you mean 'claude-code'?"),
        (["install"], "say for which client"),
        (["instal", "claude-code"], "'instal' is not one of 'install'"),
    ],
)
def test_what_cannot_be_done_is_said(shaping: Any, words: list[str], said: str) -> None:
    done = shaping(*words)
    assert done.returncode in {1, 2}
    assert said in done.stderr


def test_a_file_that_cannot_be_used_is_said_and_left(shaping: Any, tmp_path: Path) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{nonsense")

    done = shaping("install", "claude-code")

    assert done.returncode == 1
    assert f"{settings}: line 1" in done.stderr
    assert settings.read_text() == "{nonsense"
