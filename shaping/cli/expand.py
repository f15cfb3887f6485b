"""`shaping expand` and `shaping query`: ask for what an answer left out, or a SELECT of a file's records."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import orjson
import typer

from shaping.cleaning import protect_or_withhold
from shaping.cli.output import CONFIG, JSON, MAX_TOKENS, Answer, stopped
from shaping.cli.payloads import read_payloads, why_no_json
from shaping.commands.rendering import render_wire
from shaping.commands.storage import streams_of
from shaping.envelope import Dialect
from shaping.ledger import record_text
from shaping.parsers import parse_to_ask
from shaping.present.expansion import present_rows
from shaping.response import TOOL_WARNING, Shaped, counted
from shaping.settings.plan import Overrides
from shaping.shaper import Shaper
from shaping.store.expand import stream_parts
from shaping.store.sql import Database

REF = typer.Argument(metavar="REF", help="The ref that the answer gave.")
PATH = typer.Argument(
    metavar="PATH",
    help="Which part to show, as `items[0].user.login`, `rows[20:]` or, of an output that is text, not data,"
    " `stdout[L10:L20]` for lines; several with commas between. Without it, all of it.",
)
CURSOR = typer.Option(metavar="CURSOR", help="Where to go on: the cursor of the page before.")
PAGE = typer.Option(metavar="N", min=1, help="The most tokens a page may cost.")
SQL = typer.Option("--sql", metavar="SELECT", help="Ask one SELECT of its records; `schema` lists tables and columns.")
SEARCH = typer.Option("--search", metavar="TEXT", help="Find a text, or a /pattern/, in its lines or values.")
STDOUT = typer.Option("--stdout", help="Print a command's standard output byte for byte, less secrets.")
STDERR = typer.Option("--stderr", help="Print a command's standard error byte for byte, less secrets.")
SOURCE = typer.Argument(metavar="FILE|REF", help="A file, - for standard input, or a ref that an answer gave.")
SELECT = typer.Argument(metavar="SQL", help="One SELECT; `schema` lists the tables and their columns.")


def expand(
    ref: Annotated[str, REF],
    path: Annotated[str | None, PATH] = None,
    *,
    cursor: Annotated[str | None, CURSOR] = None,
    max_tokens: Annotated[int | None, PAGE] = None,
    sql: Annotated[str | None, SQL] = None,
    search: Annotated[str | None, SEARCH] = None,
    stdout: Annotated[bool, STDOUT] = False,
    stderr: Annotated[bool, STDERR] = False,
    config: Annotated[Path | None, CONFIG] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Show what an answer left out: the exact values under a path, page by page, or a command's own output."""
    given = {"PATH": path, "--sql": sql, "--search": search, "--stdout": stdout or None, "--stderr": stderr or None}
    asked_by = [name for name, value in given.items() if value is not None]
    if len(asked_by) > 1:
        raise stopped(f"{' and '.join(asked_by)} are different questions; give one of them")
    shaper = Shaper(config, expandable=True, watch=False)
    if stdout or stderr:
        _print_bytes(shaper, ref, "stdout" if stdout else "stderr")
        return
    place = cursor.removeprefix(f"{ref}:") if cursor else None
    dialect: Dialect = "invariant" if as_json else "none"
    wanted = partial(page_text, ref=ref, dialect=dialect)
    asked = {"sql": sql, "search": search}
    shaped = shaper.expand(ref, path, place, max_tokens, surface="command", render_page=wanted, **asked)
    if as_json or (sql is None and search is None):
        text = wanted(shaped)
        print_page(shaped, text, ref, dialect)
    else:
        text = shaped.text if shaped.data or search is not None else "no rows"
        _shown(text, shaped).print(as_json=False)
    server, _, tool = shaped.plan.tool.rpartition("/")
    # What `shaping shape` keeps is of no tool, and no call of the ledger; in a terminal a person reads, and no model.
    if tool and not sys.stdout.isatty() and _is_of_command(shaper, ref):
        record_text(tool, "", text, kind="expand" if sql is None else "query", server=server)


def _is_of_command(shaper: Shaper, ref: str) -> bool:
    """Return whether a command or a hook kept a ref; models expand those of servers by a tool, not in a shell."""
    stored = shaper.keeper("command").get(ref)
    return stored is not None and stored.meta.get("surface") == "command"


def _print_bytes(shaper: Shaper, ref: str, name: str) -> None:
    stream = streams_of(shaper, ref)[name]
    for part in stream_parts(shaper.keeper("command").store, stream):
        sys.stdout.buffer.write(part)
    sys.stdout.flush()
    if stream.kept < stream.size:
        typer.echo(f"{counted(stream.size - stream.kept, 'byte')} after these were not kept", err=True)


def page_text(page: Shaped, ref: str, dialect: Dialect) -> str:
    """Return the printed form of a page, whose cursor carries its ref; the budget of a page is for this text."""
    envelope = page.envelope
    if dialect == "none":
        return envelope.data if isinstance(envelope.data, str) else orjson.dumps(envelope.data).decode()
    if page.cursor:
        meta = envelope.meta.model_copy(update={"cursor": f"{ref}:{page.cursor}"})
        envelope = envelope.model_copy(update={"meta": meta})
    return orjson.dumps(render_wire(envelope, replace(page.plan, dialect=dialect))).decode()


def print_page(page: Shaped, text: str, ref: str, dialect: Dialect) -> None:
    """Print a page, and on standard error what an envelope has in its meta: how to go on."""
    typer.echo(text, nl=not text.endswith("\n"))
    if page.cursor and dialect == "none":
        typer.echo(f"there is more: shaping expand {ref} --cursor {quote(page.cursor)}", err=True)


def _shown(text: str, shaped: Shaped) -> Answer:
    """Return an answer for a program to read, with what is to be known of it on standard error."""
    said = [str(warned) for warned in shaped.warnings if warned.code != TOOL_WARNING]  # the notice has that one
    notes = filter(None, (shaped.notice.strip(), *said))
    warnings = [warned.message for warned in shaped.warnings]
    return Answer(shaped.data, [text.removesuffix(shaped.notice)], notes, warnings)


def query(
    source: Annotated[str, SOURCE],
    sql: Annotated[str, SELECT] = "schema",
    *,
    max_tokens: Annotated[int | None, MAX_TOKENS] = None,
    config: Annotated[Path | None, CONFIG] = None,
) -> Answer:
    """Run one SELECT over the records in a file (JSON, JSON lines, CSV, tables in text, …) or behind a ref."""
    shaper = Shaper(config, watch=False)
    if source.startswith("r_") and not Path(source).exists():
        found = shaper.query(source, sql, max_tokens, surface="command")
    else:
        found = _ask_file(shaper, source, sql, max_tokens)
    return _shown(found.text if found.data else "no rows", found)


def _ask_file(shaper: Shaper, file: str, sql: str, max_tokens: int | None) -> Shaped:
    overrides = Overrides(dialect="none", max_tokens=max_tokens)
    plan = shaper.plan("query", surface="command", overrides=overrides)
    data = protect_or_withhold(_read(file), plan)  # what is private cannot be asked for by another name either
    return present_rows(Database(data).query(sql), plan, shaper.shape_by)


def _read(file: str) -> Any:
    found = [payload.data for payload in read_payloads([file])]
    answers = [answer if isinstance(answer, dict | list) else str(answer) for answer in found]
    texts = [answer for answer in answers if isinstance(answer, str)]
    read = {text: parsed.value for text in texts if (parsed := parse_to_ask(text)) is not None}
    if len(read) < len({*texts}):
        broken = next(filter(None, map(why_no_json, texts)), None)
        why = f" and is not valid JSON: {broken}" if broken else ""
        hint = "JSON, JSON lines, CSV, XML, YAML and text tables are read."
        raise stopped(f"{file} holds no records{why}", 1, hint=hint)
    values = [read[answer] if isinstance(answer, str) else answer for answer in answers]
    return values[0] if len(values) == 1 else values
