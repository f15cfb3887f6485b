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
    """Run `shaping` in a project whose config is not allowed yet."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "response_config.json").write_text('{"errors": {"builtins.ValueError": "NOT_FOUND"}}')
    environ = {**os.environ, "XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "config")}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "shaping", *words]
        return subprocess.run(command, cwd=project, env=environ, capture_output=True, text=True, check=False)

    return run


def test_a_config_is_told_of_allowed_and_taken_back(shaping: Any) -> None:
    told = shaping("check")
    assert told.returncode == 0
    assert "not allowed; read it, then run `shaping allow` to make `errors` apply." in told.stderr
    assert shaping("allow").stdout == "response_config.json is allowed as it is now\n"
    assert shaping("check").stderr == ""
    assert json.loads(shaping("allow", "--forget", "--json").stdout)["data"]["allowed"] is False
    assert "not allowed" in shaping("check").stderr


def test_a_directory_is_allowed_with_all_that_is_below_it(shaping: Any) -> None:
    assert shaping("allow", ".").stdout == ". is allowed: every config below it, now and later\n"
    assert shaping("check").stderr == ""


def test_what_is_not_there_cannot_be_allowed(shaping: Any) -> None:
    missing = shaping("allow", "elsewhere.json")
    assert (missing.returncode, missing.stderr.splitlines()[0]) == (2, "there is no file elsewhere.json")


def test_the_root_and_the_home_directory_cannot_be_allowed(shaping: Any) -> None:
    for place in ("/", str(Path.home())):
        done = shaping("allow", place)
        assert (done.returncode, done.stdout) == (2, "")
        assert "name a project below it" in done.stderr
    assert shaping("allow", "--forget", "/").returncode == 0
