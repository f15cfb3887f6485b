"""`shaping query`: ask a SELECT of a file's records, or of an answer that is kept behind a ref."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shaping.cleaning import fail_safe
from shaping.cli.support.output import config_failure, failure, print_result, stopped
from shaping.cli.support.payloads import read_payloads
from shaping.errors import ToolError
from shaping.parsers import parse
from shaping.present.expansion import present_rows
from shaping.settings import ConfigError, Overrides
from shaping.shaper import Shaper
from shaping.store.sql import Database

if TYPE_CHECKING:
    from shaping.response import Shaped

SOURCE = typer.Argument(metavar="FILE|REF", help="A file, - for standard input, or a ref that an answer gave.")
SQL = typer.Argument(metavar="SQL", help="One SELECT; `schema` lists the tables and their columns.")
MAX_TOKENS = typer.Option(metavar="N", min=1, help="The most tokens the answer may cost.")
CONFIG = typer.Option(metavar="FILE", help="The config to use instead of the one that is found.", dir_okay=False)
JSON = typer.Option("--json", help="Print an envelope for a program to read.")


def query(
    source: Annotated[str, SOURCE],
    sql: Annotated[str, SQL] = "schema",
    *,
    max_tokens: Annotated[int | None, MAX_TOKENS] = None,
    config: Annotated[Path | None, CONFIG] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Ask a SELECT of the records in a file (JSON, JSON lines, CSV, tables in text, …) or behind a ref."""
    try:
        shaper = Shaper(config, watch=False)
        if source.startswith("r_") and not Path(source).exists():
            found = shaper.query(source, sql, surface="command")
        else:
            found = _ask_file(shaper, source, sql, max_tokens)
    except ConfigError as error:
        raise config_failure(error, as_json=as_json) from None
    except ToolError as error:
        raise failure(error.detail, as_json=as_json) from None
    warnings = [str(warned) for warned in found.warnings]
    if as_json:
        print_result(found.data, warnings)
        return
    typer.echo(found.text if found.data else "no rows")
    for warned in warnings:
        typer.echo(warned, err=True)


def _ask_file(shaper: Shaper, file: str, sql: str, max_tokens: int | None) -> Shaped:
    request = Overrides(dialect="none", max_tokens=max_tokens)
    plan = shaper.plan("query", surface="command", request=request)
    data = fail_safe(_read(file), plan)  # what is private cannot be asked for by another name either
    return present_rows(Database(data).query(sql), plan, shaper.shape_by)


def _read(file: str) -> Any:
    answers = [payload.data for payload in read_payloads([file])]
    values = [_data(answer) for answer in answers]
    if any(value is None for value in values):
        raise stopped(f"{file} holds no records", 1, hint="JSON, JSON lines, CSV, XML, YAML and text tables are read.")
    return values[0] if len(values) == 1 else values


def _data(answer: Any) -> Any:
    if not isinstance(answer, str):
        return answer
    parsed = parse(answer)
    return None if parsed is None else parsed.value
