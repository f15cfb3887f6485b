"""`shaping ui`: the live page in a browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path  # noqa: TC003 (Typer reads the annotations)
from typing import Annotated

import typer

from shaping.cli.support.ledger import LEDGER, MODEL, PRICES, SINCE, page_source, price_of
from shaping.cli.support.output import config_failure, free_address, page_address, stopped
from shaping.settings import ConfigError

PORT = typer.Option("--at", metavar="HOST:PORT", help="Where to serve the page; PORT alone is loopback.")
OPEN = typer.Option("--open/--no-open", help="Open the page in your browser.")
CONFIG = typer.Option(metavar="FILE", help="The config to show instead of the one that is found.", dir_okay=False)


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
    try:
        with page_source(ledger, since, config, price) as source:
            typer.echo(f"serving {address}", err=True)
            if open_it:
                webbrowser.open(address)
            app = page_app(source, token=token, hosts=hosts)
            quiet = {"access_log": False, "log_level": "warning", "timeout_graceful_shutdown": 1}
            uvicorn.run(app, host=host, port=port, **quiet)  # type: ignore[arg-type]  # of several types
    except ConfigError as problem:
        raise config_failure(problem, as_json=False) from None
