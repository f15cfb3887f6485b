"""`shaping ui` and `shaping report`: the page in a browser, or as one file."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from shaping.cli.ledger import LEDGER, MODEL, PRICES, SINCE, page_source, price_of, write_page
from shaping.cli.output import CONFIG, free_address, page_address, stopped
from shaping.page.html import document

PORT = typer.Option("--at", metavar="HOST:PORT", help="Where to serve the page; PORT alone is loopback.")
OPEN = typer.Option("--open/--no-open", help="Open the page in your browser.")
OUTPUT = typer.Option("--output", "-o", metavar="FILE", help="The file to write; - is standard output.")


def ui(
    *,
    at: Annotated[str, PORT] = "127.0.0.1:8765",
    since: Annotated[str | None, SINCE] = None,
    model: Annotated[str | None, MODEL] = None,
    prices: Annotated[str | None, PRICES] = None,
    config: Annotated[Path | None, CONFIG] = None,
    ledger: Annotated[str | None, LEDGER] = None,
    open_it: Annotated[bool, OPEN] = True,
) -> None:
    """Show a live page: what was saved over time, by tool and by field, the last calls, and what was left out."""
    try:
        import uvicorn  # noqa: PLC0415 (an extra)

        from shaping.operations.http_server import LOCAL_HOSTS  # noqa: PLC0415 (an extra)
        from shaping.page.app import page_app  # noqa: PLC0415 (an extra)
    except ImportError:
        raise stopped('the page needs an extra: pip install "shaping[http]"', code="DEPENDENCY_UNAVAILABLE") from None
    price = price_of(model, prices)
    host, port = free_address(at)
    address, token = page_address(host, port)
    hosts = {f"{name}:{port}" for name in LOCAL_HOSTS}
    with page_source(ledger, since, config, price) as source:
        typer.echo(f"serving {address}", err=True)
        if open_it:
            webbrowser.open(address)
        app = page_app(source, token=token, hosts=hosts)
        quiet = {"access_log": False, "log_level": "warning", "timeout_graceful_shutdown": 1}
        uvicorn.run(app, host=host, port=port, **quiet)  # type: ignore[arg-type]  # of several types


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
    with page_source(ledger, since, config, price_of(model, prices)) as source:
        written = document(source.collect())
    if output == "-":
        sys.stdout.write(written)
    else:
        write_page(Path(output), written)
