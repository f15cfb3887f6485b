from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shaping.commands.ending import nearest_programs
from shaping.commands.tool_names import tool_name

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("kubectl get pods -o json", "kubectl get pods"),
        ("kubectl -n web get pods", "kubectl get pods"),
        ("git log --oneline -5", "git log"),
        ("git -C /tmp -c a.b=c --no-pager log main", "git log"),
        ("/usr/bin/git status", "git status"),
        ("git --version", "git"),
        ("cargo +nightly test --offline", "cargo test"),
        ("python -m pytest -q tests", "pytest"),
        ("/x/.venv/bin/python3.11 -m pip install x", "pip install"),
        ("py.test", "pytest"),
        ("npx eslint src", "eslint"),
        ("uv run ruff check .", "ruff check"),
        ("env A=b git log", "env"),
        ("python script.py", "python"),
        ("go test ./...", "go test"),
        ("grep error file.txt", "grep"),
        ("ls -la /tmp", "ls"),
        ("docker compose ps", "docker compose ps"),
        ("docker.exe ps", "docker ps"),
    ],
)
def test_a_command_is_named_by_its_program_and_subcommand(line: str, name: str) -> None:
    assert tool_name(line.split()) == name


def test_rules_of_a_config_name_commands_that_nobody_knows() -> None:
    named = ["mytool deploy now", "other sub*", "git log main", "*"]
    assert tool_name(["mytool", "deploy", "now", "please"], named) == "mytool deploy now"
    assert tool_name(["other", "subway", "line"], named) == "other subway line"
    assert tool_name(["git", "log", "main"], named) == "git log main"
    assert tool_name(["mytool", "status"], named) == "mytool"


def test_a_command_without_a_subcommand_keeps_its_name_under_a_rule_for_all() -> None:
    named = ["kubectl get *", "sh *"]
    lines = ("kubectl get -n prod pods", "kubectl get pods", "sh build.sh", "sh make it")
    assert [tool_name(line.split(), named) for line in lines] == ["kubectl get", "kubectl get pods", "sh", "sh make it"]


def test_the_nearest_programs_on_path_are_offered(tmp_path: Path) -> None:
    for name in ("git", "gio", "gist", "readme"):
        (tmp_path / name).touch(0o755 if name != "readme" else 0o644)
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    environ = {"PATH": f"{tmp_path}:{tmp_path}/missing"}
    assert nearest_programs("gti", environ)[0] == "git"
    assert nearest_programs("readme", environ) == nearest_programs("gone", environ) == ()
