"""`shaping check`: every problem in a config, at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shaping.cli.support.output import config_failure, print_result
from shaping.settings import ConfigError, load
from shaping.settings.context import checked_environment
from shaping.settings.files import config_places
from shaping.settings.jsonc import report, short_name

if TYPE_CHECKING:
    from collections.abc import Sequence

PATH = typer.Argument(help="The config to check, or a directory to look in; without it, the config that is found.")
TRAFFIC = typer.Option(
    metavar="DIR", help="Recorded traffic to ask the config's `answers` of, and to look for changes in.", exists=True
)
JSON = typer.Option("--json", help="Print an envelope for a program to read.")


def check(
    path: Annotated[Path | None, PATH] = None,
    *,
    traffic: Annotated[Path | None, TRAFFIC] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Check a config, its profiles and the SHAPING variables; exit 1 on any problem. Warnings alone exit 0."""
    try:
        found = load(cwd=path.absolute()) if path is not None and path.is_dir() else load(path)
        checked_environment(os.environ, found.profiles)
    except ConfigError as error:
        raise config_failure(error, as_json=as_json) from None
    if traffic is not None:
        from shaping.cli.support.traffic import report_traffic  # noqa: PLC0415 (most checks read no traffic: costs 100 ms)

        report_traffic(traffic, found, as_json=as_json)
        return
    if as_json:
        print_result({"files": list(found.files), "hash": found.hash}, [str(warning) for warning in found.warnings])
        return
    for line in report(found.warnings, "warning"):
        typer.echo(line, err=True)
    for file in found.files:
        typer.echo(f"{short_name(file)} is good")
    if not found.files:
        looked = config_places(None, cwd=path.absolute() if path is not None else Path.cwd(), environ=os.environ)
        typer.echo(f"no config was found; the bundled default applies. Looked for: {_places(looked)}", err=True)


def _places(files: Sequence[Path]) -> str:
    """Name the places of a search: the directory where it starts, the one where it ends, and the user's own."""
    *near, own = files
    first, last = near[0].parent, near[-1].parent
    names = ", ".join(dict.fromkeys(str(file.relative_to(first)) for file in near if file.is_relative_to(first)))
    upwards = "" if first in (last, last.parent) else f" and up to {near[-1].parent.parent}"
    return f"{names} in {first}{upwards}; {own}"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(check)
