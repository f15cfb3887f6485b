"""`shaping allow`: let a config of the working tree do everything a config can do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from shaping.cli.support.output import config_failure, failure, print_result
from shaping.errors import make_error
from shaping.settings import ConfigError, load
from shaping.settings.files import allow as record, find, forget, is_in_tree
from shaping.settings.jsonc import short_name

PATH = typer.Argument(help="The config, or a directory whose configs are all allowed; without it, the one in use here.")
FORGET = typer.Option("--forget", help="Take back what was allowed.")
JSON = typer.Option("--json", help="Print an envelope for a program to read.")


def allow(
    path: Annotated[Path | None, PATH] = None,
    *,
    take_back: Annotated[bool, FORGET] = False,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Let a config of the working tree apply whole, as it is now; an edit has to be allowed again."""
    place = path
    try:
        place = place or find(None, cwd=Path.cwd(), environ=os.environ)
        if place is not None and place.is_file():
            load(place)
    except ConfigError as error:
        raise config_failure(error, as_json=as_json) from None
    if place is None or not place.exists():
        missing = make_error(
            "NOT_FOUND", f"there is no config {place or 'here'}", hint="`shaping check` says where it looks."
        )
        raise failure(missing, as_json=as_json)
    if take_back:
        done = "is no longer allowed" if forget(place, os.environ) else "was not allowed"
    elif path is None and not is_in_tree(place, None, environ=os.environ):
        done = "is your own and needs no permission"
    else:
        record(place, os.environ)
        done = "is allowed" if place.is_dir() else "is allowed as it is now"
    if as_json:
        print_result({"path": str(place), "allowed": done.startswith("is allowed")})
    else:
        typer.echo(f"{short_name(str(place.absolute()))} {done}")
