"""What `--help` prints is stored, so that a change of it is seen and meant.

Set SHAPING_WRITE_CASES=1 to write the files anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from shaping.cli.app import build

CASES = Path(__file__).parent.parent / "cases" / "help"
COMMANDS = sorted(typer.main.get_command(build()).commands)  # type: ignore[attr-defined]  # a Typer app makes a group


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_the_help_of_every_command_is_the_stored_one(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("COLUMNS", "100"), ("TERMINAL_WIDTH", "100"), ("NO_COLOR", "1"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)
    done = CliRunner().invoke(build(), [*filter(None, [command]), "--help"])
    assert done.exit_code == 0
    shown = "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip() + "\n"
    file = CASES / f"{command or 'shaping'}.txt"
    if os.environ.get("SHAPING_WRITE_CASES"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(shown)
    assert shown == file.read_text()
