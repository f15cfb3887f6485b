"""`shaping manifest`: what this program can do, for a program to read."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated, Any

import orjson
import typer

from shaping.apps import manifest_of
from shaping.cli.app import build
from shaping.cli.output import Answer
from shaping.settings.files import bundled

ETAG = typer.Option(
    metavar="TAG", help="The etag of an earlier manifest: an unchanged one is reported as not_modified."
)


def manifest(*, etag: Annotated[str | None, ETAG] = None) -> Answer:
    """List every command with its flags, exit codes and output schema; the etag tells of changes."""
    found = our_manifest()
    same = etag == found["etag"]
    lines = [] if same else [orjson.dumps(found, option=orjson.OPT_INDENT_2).decode()]
    return Answer(None if same else found, lines, meta={"not_modified": same, "etag": found["etag"]})


def our_manifest() -> dict[str, Any]:
    """Describe our own command line; `outputs` of the bundled file are the schemas of `data` under --json."""
    told = orjson.loads(bundled("config", "commands.json"))
    exit_codes = {int(number): meaning for number, meaning in told["exit_codes"].items()}
    command = typer.main.get_command(build())
    return manifest_of(
        command, name="shaping", version=version("shaping"), outputs=told["outputs"], exit_codes=exit_codes
    )
