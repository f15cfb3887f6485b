"""What the commands that read the ledger share: its file, how far back, prices, and the store with calls' texts."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from shaping.cli.support.output import stopped
from shaping.ledger import LedgerDatabase
from shaping.ledger.prices import PriceError, load_prices
from shaping.page.data import PageSource
from shaping.settings import load
from shaping.settings.files import ledger_path
from shaping.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shaping.ledger.prices import Price
    from shaping.store import Store

LEDGER = typer.Option("--ledger", metavar="FILE", help="Read another ledger than the user's own.")
SINCE = typer.Option("--since", metavar="TIME", help="How far back: 30m, 12h, 7d or 4w. [default: everything kept]")
MODEL = typer.Option(
    "--model", metavar="NAME", help="Also say what was saved in money, by the prices of this model; see --prices."
)
PRICES = typer.Option(
    "--prices",
    metavar="FILE",
    help="A price table to use; without it SHAPING_PRICES, prices.json in your config directory, or the bundled one.",
)

_UNITS: Final = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def ledger_file(named: str | None) -> Path:
    """Return the ledger to read, or end with a way out where it is switched off."""
    path = ledger_path() if named is None else Path(named)
    if path is None:
        raise stopped(
            "SHAPING_LEDGER is off, so nothing is recorded", 1, hint="Unset it, or name a file with --ledger."
        )
    return path


def seconds_back(since: str | None) -> float | None:
    """Read how far back to look; None is everything."""
    if since is None:
        return None
    found = re.fullmatch(r"(\d{1,6})([mhdw])", since.strip())
    if found is None:
        raise stopped(f"--since is {since!r}; expected a number with m, h, d or w, such as 7d")
    return float(int(found.group(1)) * _UNITS[found.group(2)])


@contextmanager
def user_store(config: Path | None = None) -> Iterator[Store]:
    """Open the store of the user's commands and proxies, as the config in force names it."""
    store = open_store(load(config).store_for("command"))
    try:
        yield store
    finally:
        store.close()


def price_of(model: str | None, prices: str | None) -> Price | None:
    """Find the price of a model, or end with what is wrong; None where no model is named."""
    if model is None:
        return None
    try:
        return load_prices(prices).find(model)
    except PriceError as problem:
        raise stopped(str(problem)) from None


@contextmanager
def page_source(
    ledger: str | None, since: str | None, config: Path | None, price: Price | None = None
) -> Iterator[PageSource]:
    """Open what a page is made from."""
    database = LedgerDatabase(ledger_file(ledger))
    seconds = seconds_back(since)
    with user_store(config) as store:
        yield PageSource(database, store=store, config=lambda: load(config), seconds=seconds, price=price)
