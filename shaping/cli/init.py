"""`shaping init`: a config to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shaping.cli.support.output import print_result
from shaping.settings import bundled
from shaping.settings.files import refuse_links

DIRECTORY = typer.Argument(help="Where to write; without it, here.", show_default=False, file_okay=False)
JSON = typer.Option("--json", help="Print an envelope for a program to read.")

STARTER = """\
{
  "$schema": "./response_config.schema.json",

  // What applies to every tool. `shaping explain --tool NAME` shows what it comes to, and why.
  "global": {
    // minimal (cheapest), standard (drops only nulls and empties) or debug (everything).
    "profile": "minimal",
  },

  // What applies to one tool, or to every tool that a pattern matches. Take away the slashes and change the names.
  "tool_overrides": {
    // "list_issues": { "include_only": ["items[].number", "items[].title", "items[].user.login"], "max_tokens": 2000 },
    // All tools of one server, by the name that it has in your client's list (or its own):
    // "github/*": { "exclude_fields": ["**.node_id", "**.*_url"] },
    // "accounts": { "private": ["**.password_hash"] },
  },

  // Profiles of your own. They say only what differs from the profile they extend.
  "profiles": {
    // "audit": { "extends": "standard", "envelope": { "include": ["request_id", "duration_ms"] } },
  },
}
"""


def init(directory: Annotated[Path, DIRECTORY] = Path(), *, as_json: Annotated[bool, JSON] = False) -> None:
    """Write a commented response_config.json and its schema; a file that is there already is left as it is."""
    schema = "response_config.schema.json"
    files = {"response_config.json": STARTER.encode(), schema: bundled("config", schema)}
    try:
        refuse_links(directory)
        directory.mkdir(parents=True, exist_ok=True)
        written = {name: _write(directory / name, content) for name, content in files.items()}
    except OSError as error:
        typer.echo(f"cannot write in {directory}: {error.strerror}", err=True)
        raise typer.Exit(1) from None
    if as_json:
        print_result([{"file": str(directory / name), "written": new} for name, new in written.items()])
        return
    for name, new in written.items():
        typer.echo(f"{directory / name} {'written' if new else 'was there already; left as it is'}", err=not new)


def _write(path: Path, content: bytes) -> bool:
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        return False
    return True
