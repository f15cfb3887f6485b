from __future__ import annotations

import re
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from shaping.cli.app import COMMANDS as LISTED, build

COMMANDS = sorted(typer.main.get_command(build()).commands)  # type: ignore[attr-defined]  # a Typer app makes a group


def help_of(*words: str, width: int = 80) -> str:
    done = CliRunner().invoke(build(), [*words, "--help"], terminal_width=width)
    assert done.exit_code == 0
    return str(done.stdout)


def test_an_option_is_shown_with_what_it_takes_and_a_flag_with_nothing() -> None:
    shown = help_of("shape")
    assert shown.startswith("Usage: shaping shape [OPTIONS] [FILE]\n")
    assert "  --max-tokens N  " in shown
    assert "  -q, --quiet     " in shown


def test_what_must_be_given_is_said() -> None:
    assert "The tool to explain.  [required]" in help_of("explain")
    assert help_of("expand").startswith("Usage: shaping expand [OPTIONS] REF [PATH]\n")
    assert help_of("run").startswith("Usage: shaping run [OPTIONS] [COMMAND...]\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_no_help_names_a_python_type_or_draws_a_box(command: str) -> None:
    assert not re.search(r"<\w|list\[|int range|[│╭╰]", help_of(command))


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_stays_within_a_narrow_terminal(command: str) -> None:
    longest = max(map(len, help_of(*filter(None, [command]), width=60).splitlines()))
    assert longest <= 60


def test_the_list_of_commands_says_the_whole_sentence_of_each() -> None:
    shown = " ".join(help_of().split())
    assert "expand Show what an answer left out: the exact values under a path" in shown
    assert "..." not in shown.partition("Commands:")[2]


def test_the_listed_help_of_a_command_is_the_first_line_of_its_own() -> None:
    loaded = typer.main.get_command(build()).commands  # type: ignore[attr-defined]  # a Typer app makes a group
    assert {name: command.help.split("\n")[0] for name, command in loaded.items()} == LISTED


def test_listing_the_commands_loads_none_of_them() -> None:
    program = (
        "import sys; from shaping.cli.app import main; sys.argv[1:] = ['--help']\ntry: main()\nexcept SystemExit: pass"
    )
    check = (
        f"{program}\nprint([name for name in sys.modules if name.startswith(('shaping.shaper', 'shaping.envelope'))])"
    )
    shown = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "[]"
