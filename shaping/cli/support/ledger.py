"""What the commands that read the ledger share: its file, how far back, and the store with the texts of calls."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from shaping.cli.support.output import stopped
from shaping.ledger import default_path
from shaping.settings import load
from shaping.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shaping.store import Store

LEDGER = typer.Option("--ledger", metavar="FILE", help="Read another ledger than the user's own.")
SINCE = typer.Option("--since", metavar="TIME", help="How far back: 30m, 12h, 7d or 4w. [default: everything kept]")

_UNITS: Final = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def ledger_file(named: str | None) -> Path:
    """Return the ledger to read, or end with a way out where it is switched off."""
    path = default_path() if named is None else Path(named)
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
