"""The command line: one file a command, found by name."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from typing import Annotated, NoReturn

import typer

import shaping.cli
from shaping.cli.program import call, for_programs, wants_json
from shaping.cli.usage import PlainCommand, PlainGroup


def build() -> typer.Typer:
    """Put the commands together, in the order of their names."""
    app = typer.Typer(
        name="shaping",
        help="Cut what tools return down to what an agent needs, and lose nothing.",
        epilog="Exit codes: 0 done, 1 the job failed or found problems, 2 the command was called wrongly.",
        cls=PlainGroup,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback()(_program)
    for module in sorted(pkgutil.iter_modules(shaping.cli.__path__), key=lambda found: found.name):
        register = getattr(importlib.import_module(f"shaping.cli.{module.name}"), "register", None)
        if register is not None:
            register(app)
    for info in app.registered_commands:
        if info.cls is None or not issubclass(info.cls, PlainCommand):
            info.cls = PlainCommand
    for_programs(app.registered_commands)
    return app


def _tell_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version  # noqa: PLC0415 (help must not wait for it)

        typer.echo(f"shaping {version('shaping')}")
        raise typer.Exit


def _program(
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_tell_version)] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    try:
        if wants_json(sys.argv[1:]):
            sys.exit(call(build(), sys.argv[1:]))
        build()()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        _leave_quietly()
    except SystemExit as ended:
        # Typer takes a reader that has gone for a failure of ours.
        if isinstance(ended.__context__, BrokenPipeError):
            _leave_quietly()
        raise


def _leave_quietly() -> NoReturn:
    """End where the reader has seen enough, as in `shaping shape big.json | head`."""
    # What is still unwritten has nowhere to go, and Python would try at its end and complain.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)
