"""A config that protects something and has a mistake: refused wherever it stands, by every command that reads it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from shaping.cli.app import build

if TYPE_CHECKING:
    from pathlib import Path

HELD = "987654"
GOOD = {"tool_overrides": {"**": {"private": ["**.salary"]}}}
WRITTEN = json.dumps(GOOD).encode()
MISTAKES: dict[str, bytes | None] = {
    "cut short": WRITTEN[:-6],
    "empty": b"",
    "a key misspelt": json.dumps({"tool_overrides": {"**": {"privat": ["**.salary"]}}}).encode(),
    "a text for a list": json.dumps({"tool_overrides": {"**": {"private": "**.salary"}}}).encode(),
    "a path that is none": json.dumps({"tool_overrides": {"**": {"private": ["**.sal[ary"]}}}).encode(),
    "an unknown key beside": json.dumps({**GOOD, "globl": {}}).encode(),
    "a profile that is none": json.dumps({**GOOD, "global": {"profile": "minimla"}}).encode(),
    "not UTF-8": WRITTEN[:-1] + b',"x":"\xe9"}',
    "a list": b'[{"private": ["**.salary"]}]',
    "null": json.dumps({"tool_overrides": {"**": {"private": None}}}).encode(),
    "a directory": None,
}
PLACES = ["--config", "SHAPING_CONFIG", "the user's directory", "the working tree, allowed"]
COMMANDS = {
    "shape": ["shape"],
    "run": ["run", "--", "echo", f'{{"who": "Bob", "salary": {HELD}}}'],
    "serve": ["serve", "--scan", "operations"],
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.delenv("SHAPING_CONFIG", raising=False)
    place = tmp_path / "project"
    (place / ".git").mkdir(parents=True)
    (place / "operations").mkdir()
    monkeypatch.chdir(place)
    return place


def put(content: bytes | None, where: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Write a config to a place, and return the options that name it."""
    path = {
        "the user's directory": project.parent / "config" / "shaping" / "response_config.json",
        "the working tree, allowed": project / "response_config.json",
    }.get(where, project.parent / "elsewhere.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir() if content is None else path.write_bytes(content)
    if where == "SHAPING_CONFIG":
        monkeypatch.setenv("SHAPING_CONFIG", str(path))
    if where == "the working tree, allowed":
        CliRunner().invoke(build(), ["allow", str(path)])
    return ["--config", str(path)] if where == "--config" else []


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_ends_the_command_and_nothing_private_leaves(
    mistake: str, where: str, command: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = put(MISTAKES[mistake], where, project, monkeypatch)
    name, *words = COMMANDS[command]
    done = CliRunner().invoke(build(), [name, *options, *words], input=json.dumps({"who": "Bob", "salary": int(HELD)}))
    assert done.exit_code != 0
    assert HELD not in done.stdout + done.stderr
    assert "response_config.json" in done.stderr or "elsewhere.json" in done.stderr


@pytest.mark.parametrize("command", ["shape", "run"])
@pytest.mark.parametrize("where", [*PLACES, "the working tree, not allowed"])
def test_without_a_mistake_it_holds_from_every_place(
    where: str, command: str, project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    if where == "the working tree, not allowed":
        (project / "response_config.json").write_bytes(WRITTEN)
        options: list[str] = []
    else:
        options = put(WRITTEN, where, project, monkeypatch)
    name, *words = COMMANDS[command]
    done = CliRunner().invoke(build(), [name, *options, *words], input=json.dumps({"who": "Bob", "salary": int(HELD)}))
    out = done.output + "".join(capfd.readouterr())
    assert done.exit_code == 0, out
    assert "Bob" in out
    assert HELD not in out
