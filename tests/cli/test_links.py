"""A repository can hold links: none is followed to write or delete."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shaping.cli.app import build
from shaping.settings.files import link_in_tree, write_file

SERVERS = '{"servers": {"e": {"command": "sleep", "args": ["1"]}}}'


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    directory = tmp_path / "victim"
    directory.mkdir()
    (directory / "f").write_text("keep")
    (directory / "settings.json").write_text("{}")
    (directory / "mcp.json").write_text(SERVERS)
    return directory


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "tree"
    (directory / ".git").mkdir(parents=True)
    (directory / "o").mkdir()
    monkeypatch.chdir(directory)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home" / name))
    monkeypatch.setenv("SHAPING_LEDGER", str(tmp_path / "home" / "ledger.sqlite"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(directory / ".claude"))
    return directory


def content(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.iterdir()}


@pytest.mark.parametrize(
    ("link", "target", "command"),
    [
        ("report.html", "f", "report"),
        ("report.html", "new", "report"),
        ("last.html", "f", "last --html last.html"),
        ("o/d", "", "report -o o/d/rep.html"),
        ("o/d", "", "report -o o/d/../rep.html"),
        (".claude", "", "hook install claude-code"),
        (".claude", "", "hook uninstall claude-code"),
        (".vscode", "", "wrap .vscode/mcp.json --no-test --program shaping"),
        (".vscode", "", "unwrap .vscode/mcp.json"),
        ("o/d", "", "init o/d"),
    ],
)
def test_a_link_in_the_working_tree_is_named_and_not_followed(
    tree: Path, victim: Path, link: str, target: str, command: str
) -> None:
    (tree / link).symlink_to(victim / target)
    before = content(victim)
    CliRunner().invoke(build(), ["run", "--", "seq", "3"])
    shown = CliRunner().invoke(build(), command.split())
    assert shown.exit_code != 0
    assert f"{tree / link} is a link in the working tree" in " ".join(shown.output.split("\n"))
    assert content(victim) == before
    assert (tree / link).is_symlink()


@pytest.mark.parametrize("link", ["rec", "rec/_"])
def test_nothing_is_recorded_through_a_link(
    tree: Path, victim: Path, link: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tree / link).parent.mkdir(exist_ok=True)
    (tree / link).symlink_to(victim)
    before = content(victim)
    assert CliRunner().invoke(build(), ["run", "--record", "rec", "--", "seq", "3"]).exit_code == 0
    assert content(victim) == before
    assert f"{tree / link} is a link in the working tree" in caplog.text


def test_a_report_replaces_what_is_there_and_is_for_its_user_alone(tree: Path) -> None:
    file = tree / "report.html"
    file.write_text("old")
    file.chmod(0o666)
    os.link(file, tree / "other")
    assert CliRunner().invoke(build(), ["report"]).exit_code == 0
    assert (tree / "other").read_text() == "old"
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_link_outside_of_the_working_tree_is_its_users_own(tree: Path, tmp_path: Path, victim: Path) -> None:
    (tmp_path / "mine").symlink_to(victim)
    write_file(tmp_path / "mine" / "f", b"new")
    assert (victim / "f").read_text() == "new"
    (tmp_path / "way").symlink_to(tree)
    (tree / "theirs").symlink_to(victim)
    assert link_in_tree(tmp_path / "way" / "theirs" / "f") == tmp_path / "way" / "theirs"


def test_a_home_directory_is_no_working_tree(tree: Path, victim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / ".claude").symlink_to(victim)
    monkeypatch.setenv("HOME", str(tree))
    assert link_in_tree(Path(".claude/settings.json")) is None


def test_a_page_can_be_written_to_a_device(tree: Path) -> None:
    write_file(Path(os.devnull), b"page")
    assert not Path(os.devnull).is_file()
    assert list(tree.glob(".null*")) == []
