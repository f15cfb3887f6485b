from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from typer.testing import CliRunner, Result

from shaping.cli.app import build
from shaping.settings.files import bundled
from shaping.settings.loading import load

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

RUNNER = CliRunner()
NAMES = ("response_config.json", "response_config.schema.json")


def run(*arguments: str) -> Result:
    return RUNNER.invoke(build(), ["init", *arguments])


def test_a_commented_config_and_its_schema_are_written_and_load(tmp_path: Path) -> None:
    result = run(str(tmp_path / "new"))
    written = [tmp_path / "new" / name for name in NAMES]
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "".join(f"{path} written\n" for path in written)
    assert [path.read_bytes() for path in written] == [bundled("config", "starter.json"), bundled("config", NAMES[1])]
    assert load(written[0]).plan("search").profile == "minimal"


def test_what_the_starter_suggests_is_good(tmp_path: Path) -> None:
    path = tmp_path / "response_config.json"
    path.write_text(re.sub(r'// "', '"', bundled("config", "starter.json").decode()))
    config = load(path).config
    assert list(config.tool_overrides or ()) == ["list_issues", "github/*", "accounts"]
    assert "audit" in (config.profiles or ())


def test_a_file_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    mine = tmp_path / "response_config.json"
    mine.write_text("mine")
    result = run(str(tmp_path))
    assert (result.exit_code, mine.read_text()) == (0, "mine")
    assert result.stdout == f"{tmp_path / NAMES[1]} written\n"
    assert result.stderr == f"{mine} was there already; left as it is\n"


def test_without_a_directory_it_is_written_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = json.loads(run("--json").stdout)
    assert told["data"] == [{"file": name, "written": True} for name in NAMES]


def test_a_place_that_cannot_be_written_exits_1(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run(str(tmp_path / "file" / "below"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"cannot write in {tmp_path / 'file' / 'below'}: ")


def test_a_file_in_place_of_the_directory_exits_2(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert run(str(tmp_path / "file")).exit_code == 2
