"""Hooks go into a client's files and come out again without a trace."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from shaping.clients.config_files import UnusableFileError
from shaping.clients.hooks import (
    CLIENTS,
    HOOK_EDIT,
    file_of,
    hook_command,
    install,
    is_installed,
    uninstall,
)

if TYPE_CHECKING:
    from pathlib import Path

OTHER = {"type": "command", "command": "/usr/local/bin/lint"}
SETTINGS = [
    "{}",
    "{\n}\n",
    "",
    '{"model": "opus"}',
    '{\n  "model": "opus",\n  "permissions": {"allow": ["Bash(git:*)"]}\n}\n',
    '{\r\n\t"model": "opus"\r\n}\r\n',
    '// mine\n{\n    "hooks": {}, // none yet\n    "é": "ü",\n}\n',
    json.dumps({"hooks": {"PostToolUse": [{"matcher": "Edit", "hooks": [OTHER]}], "Stop": [{"hooks": [OTHER]}]}}),
    json.dumps({"hooks": {"PostToolUse": [], "SessionStart": []}, "z": [1, {"a": None}]}, indent=4),
]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}


def settings_file(env: dict[str, str], text: str | None) -> Path:
    file = file_of("claude-code", env)
    file.parent.mkdir()
    if text is not None:
        file.write_bytes(text.encode())
        file.chmod(0o600)
    return file


@pytest.mark.parametrize("text", SETTINGS)
def test_a_settings_file_comes_back_byte_for_byte(env: dict[str, str], text: str) -> None:
    file = settings_file(env, text)

    assert install("claude-code", file, env)
    assert is_installed("claude-code", file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert uninstall("claude-code", file)

    assert file.read_bytes() == text.encode()
    assert not HOOK_EDIT.backup_of(file).exists()


def test_a_file_that_was_not_there_is_not_there_again(env: dict[str, str]) -> None:
    file = settings_file(env, None)

    install("claude-code", file, env)
    assert json.loads(file.read_text())["hooks"]["PostToolUse"][0]["matcher"] == "Bash|Grep|WebFetch"
    uninstall("claude-code", file)

    assert not file.exists()


def test_the_hooks_of_others_and_all_other_settings_stay_while_ours_is_there(env: dict[str, str]) -> None:
    before = {"hooks": {"PostToolUse": [{"matcher": "Edit", "hooks": [OTHER]}]}, "model": "opus"}
    file = settings_file(env, json.dumps(before))

    install("claude-code", file, env)

    after = json.loads(file.read_text())
    assert after["model"] == "opus"
    assert after["hooks"]["PostToolUse"][0] == before["hooks"]["PostToolUse"][0]  # type: ignore[index]  # a mapping, above
    assert after["hooks"]["PostToolUse"][1]["hooks"][0]["command"] == hook_command("claude-code", env)


def test_installing_twice_changes_nothing_and_keeps_the_one_true_original(env: dict[str, str]) -> None:
    file = settings_file(env, '{ "model" : "opus" }')
    install("claude-code", file, env)
    installed = file.read_bytes()

    assert not install("claude-code", file, env)
    assert file.read_bytes() == installed
    uninstall("claude-code", file)
    assert file.read_bytes() == b'{ "model" : "opus" }'


def test_edits_made_meanwhile_stay(env: dict[str, str]) -> None:
    file = settings_file(env, '{\n  "model": "opus"\n}\n')
    install("claude-code", file, env)
    file.write_text(file.read_text().replace('"opus"', '"sonnet"'))

    uninstall("claude-code", file)

    assert json.loads(file.read_text())["model"] == "sonnet"
    assert not is_installed("claude-code", file)
    assert HOOK_EDIT.backup_of(file).read_text() == '{\n  "model": "opus"\n}\n'


@pytest.mark.parametrize("text", ["[1]", '{"hooks": ', "nonsense"])
def test_settings_that_nobody_can_read_are_left_as_they_are(env: dict[str, str], text: str) -> None:
    file = settings_file(env, text)

    with pytest.raises(UnusableFileError):
        install("claude-code", file, env)

    assert file.read_text() == text


def test_a_link_is_refused(env: dict[str, str], tmp_path: Path) -> None:
    file = settings_file(env, None)
    (tmp_path / "real.json").write_text("{}")
    file.symlink_to(tmp_path / "real.json")

    with pytest.raises(UnusableFileError, match="is a link"):
        install("claude-code", file, env)


@pytest.mark.parametrize("client", [name for name, known in CLIENTS.items() if known.text is not None])
def test_a_hook_that_is_a_file_of_its_own_comes_and_goes(env: dict[str, str], client: str) -> None:
    file = file_of(client, env)

    assert install(client, file, env)
    assert not install(client, file, env)
    assert is_installed(client, file)
    assert uninstall(client, file)
    assert not file.exists()
    assert not uninstall(client, file)


def test_a_file_of_that_name_that_is_not_ours_is_left(env: dict[str, str]) -> None:
    file = file_of("opencode", env)
    file.parent.mkdir(parents=True)
    file.write_text("export const Mine = 1")

    with pytest.raises(UnusableFileError, match="not ours"):
        install("opencode", file, env)
    assert not uninstall("opencode", file)
    assert file.read_text() == "export const Mine = 1"
