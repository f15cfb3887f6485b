"""What `shaping ui` and `shaping report` show: the user's ledger, store and config."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from shaping.cli.support.ledger import ledger_file, seconds_back, user_store
from shaping.cli.support.output import stopped
from shaping.ledger import LedgerDatabase
from shaping.ledger.prices import PriceError, load_prices
from shaping.page.data import PageSource
from shaping.settings import load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from shaping.ledger.prices import Price

MODEL = typer.Option(
    "--model", metavar="NAME", help="Also say what was saved in money, by the prices of this model; see --prices."
)
PRICES = typer.Option(
    "--prices",
    metavar="FILE",
    help="The price table in place of the bundled one: prices.json in your config directory, or SHAPING_PRICES.",
)


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
