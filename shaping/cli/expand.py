"""`shaping expand`: ask for what an answer left out."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path  # noqa: TC003 (Typer reads the annotations)
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from shaping.cli.support.output import config_failure, failure
from shaping.commands.storage import read_stream, streams_of
from shaping.errors import ToolError
from shaping.ledger import record_text
from shaping.response import counted
from shaping.settings import ConfigError
from shaping.shaper import Shaper

if TYPE_CHECKING:
    from shaping.response import Shaped

REF = typer.Argument(metavar="REF", help="The ref that the answer gave.")
PATH = typer.Argument(
    metavar="PATH",
    help="Which part to show, as `items[0].user.login` or `rows[20:]`, or several with commas; without it, all of it.",
)
CURSOR = typer.Option(help="Where to go on: the cursor of the page before.")
MAX_TOKENS = typer.Option(metavar="N", min=1, help="The most tokens a page may cost.")
SQL = typer.Option("--sql", metavar="SELECT", help="Ask one SELECT of its records; `schema` lists tables and columns.")
SEARCH = typer.Option("--search", metavar="TEXT", help="Find a text, or a /pattern/, in its lines or values.")
STDOUT = typer.Option("--stdout", help="Print a command's standard output byte for byte, less secrets.")
STDERR = typer.Option("--stderr", help="Print a command's standard error byte for byte, less secrets.")
CONFIG = typer.Option(metavar="FILE", help="The config to use instead of the one that is found.", dir_okay=False)
JSON = typer.Option("--json", help="Print an envelope for a program to read.")


def expand(
    ref: Annotated[str, REF],
    path: Annotated[str | None, PATH] = None,
    *,
    cursor: Annotated[str | None, CURSOR] = None,
    max_tokens: Annotated[int | None, MAX_TOKENS] = None,
    sql: Annotated[str | None, SQL] = None,
    search: Annotated[str | None, SEARCH] = None,
    stdout: Annotated[bool, STDOUT] = False,
    stderr: Annotated[bool, STDERR] = False,
    config: Annotated[Path | None, CONFIG] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Show what an answer left out: the exact values under a path, page by page, or a command's own output."""
    try:
        shaper = Shaper(config, expandable=True, watch=False)
        if stdout or stderr:
            _raw(shaper, ref, "stdout" if stdout else "stderr")
            return
        place = cursor.removeprefix(f"{ref}:") if cursor else None
        wanted = partial(_written, as_json=as_json)
        asked = {"sql": sql, "search": search}
        shaped = shaper.expand(ref, path, place, max_tokens, surface="command", written=wanted, **asked)
    except ConfigError as error:
        raise config_failure(error, as_json=as_json) from None
    except ToolError as error:
        raise failure(error.detail, as_json=as_json) from None
    if as_json or (sql is None and search is None):
        text = _written(shaped, as_json=as_json)
        _print(shaped, text, ref, as_json=as_json)
    else:
        text = shaped.text if shaped.data or search is not None else "no rows"
        typer.echo(text)
        for warned in shaped.warnings:
            typer.echo(str(warned), err=True)
    server, _, tool = shaped.plan.tool.rpartition("/")
    record_text(tool, "", text, kind="expand" if sql is None else "query", server=server)


def _raw(shaper: Shaper, ref: str, name: str) -> None:

    stream = streams_of(shaper, ref)[name]
    for part in read_stream(shaper, stream):
        sys.stdout.buffer.write(part)
    sys.stdout.flush()
    if stream.kept < stream.size:
        typer.echo(f"{counted(stream.size - stream.kept, 'byte')} after these were not kept", err=True)


def _print(shaped: Shaped, text: str, ref: str, *, as_json: bool) -> None:
    typer.echo(text, nl=not text.endswith("\n"))
    if shaped.cursor and not as_json:
        typer.echo(f"there is more: shaping expand {ref} --cursor {quote(shaped.cursor)}", err=True)
    if shaped.call.path_with_ids and not as_json:
        typer.echo(f"to see whose: shaping expand {ref} {quote(shaped.call.path_with_ids)}", err=True)


def _written(shaped: Shaped, *, as_json: bool) -> str:
    """Return the printed form of a page; its budget is for this text."""
    if as_json:
        return orjson.dumps(shaped.envelope.render("invariant")).decode()
    data = shaped.envelope.data
    return data if isinstance(data, str) else orjson.dumps(data).decode()
