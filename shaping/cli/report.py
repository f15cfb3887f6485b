"""`shaping report`: the page as one file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from shaping.cli.support.ledger import LEDGER, MODEL, PRICES, SINCE, page_source, price_of
from shaping.cli.support.output import config_failure, stopped
from shaping.ledger import LedgerError
from shaping.page.html import document
from shaping.settings import ConfigError
from shaping.settings.files import write_file

OUTPUT = typer.Option("--output", "-o", metavar="FILE", help="The file to write; - is standard output.")
CONFIG = typer.Option(metavar="FILE", help="The config to show instead of the one that is found.", dir_okay=False)


def report(
    *,
    output: Annotated[str, OUTPUT] = "report.html",
    since: Annotated[str | None, SINCE] = None,
    model: Annotated[str | None, MODEL] = None,
    prices: Annotated[str | None, PRICES] = None,
    config: Annotated[Path | None, CONFIG] = None,
    ledger: Annotated[str | None, LEDGER] = None,
) -> None:
    """Write what `shaping ui` shows as one HTML file that needs no network."""
    try:
        with page_source(ledger, since, config, price_of(model, prices)) as source:
            written = document(source.collect())
    except LedgerError as problem:
        raise stopped(str(problem), 1, code="UNAVAILABLE") from None
    except ConfigError as problem:
        raise config_failure(problem, as_json=False) from None
    if output == "-":
        sys.stdout.write(written)
        return
    write_page(Path(output), written)


def write_page(file: Path, written: str) -> None:
    """Write a page for its user alone, because it may show what tools sent, and say where it is."""
    try:
        write_file(file, written.encode())
    except OSError as problem:
        raise stopped(f"cannot write {file}: {problem.strerror}", 1) from None
    typer.echo(f"wrote {file}", err=True)
