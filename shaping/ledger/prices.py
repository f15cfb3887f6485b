"""What tokens cost: a dated table of model prices that a user can replace (`config/prices.json`)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from shaping.errors import nearest
from shaping.settings.files import bundled, user_directory

VARIABLE: Final = "SHAPING_PRICES"
FILE: Final = "prices.json"
_DATED: Final = re.compile(r"-\d{4}-?\d\d-?\d\d$")


class PriceError(ValueError):
    """A price table or a model that cannot be used; the message says which and what was expected."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a model's input tokens cost, per token; a price that the table does not have is None."""

    model: str
    input: float
    cache_write: float | None
    cache_read: float | None
    currency: str
    date: str

    def cost(self, tokens: int, read: int = 0) -> float | None:
        """Return what results cost: `tokens` written once, and `read` tokens read from the cache in later turns.

        None where some were read and the table has no price of cache reads.
        """
        written = tokens * (self.input if self.cache_write is None else self.cache_write)
        if not read:
            return written
        return None if self.cache_read is None else written + read * self.cache_read


@dataclass(frozen=True, slots=True)
class PriceTable:
    """The prices of one day."""

    date: str
    source: str
    prices: Mapping[str, Price]

    def find(self, model: str) -> Price:
        """Return the price of a model by its name, whatever provider stands before it."""
        name = model.rpartition("/")[2]
        if name not in self.prices:
            similar = nearest(name, list(self.prices))
            # A version that is named by its date is one more price of a model that is listed.
            known = [each for each in self.prices if not _DATED.search(each) or _DATED.sub("", each) not in self.prices]
            hint = f"did you mean {similar[0]}?" if similar else f"they have: {', '.join(known)}"
            raise PriceError(f"the prices of {self.date} have no model {model!r}; {hint}")
        return self.prices[name]


def load_prices(file: str | os.PathLike[str] | None = None, environ: Mapping[str, str] = os.environ) -> PriceTable:
    """Read a price table: the file named here, by SHAPING_PRICES or in the user's config directory, else ours."""
    named = file or environ.get(VARIABLE)
    own = user_directory(environ) / FILE
    place = Path(named).expanduser() if named else own if own.is_file() else None
    try:
        return _read(bundled("config", FILE) if place is None else place.read_bytes())
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise PriceError(
            f"the price table {place} cannot be read ({problem}); expected the members date, currency, per_tokens and "
            "models, and for each model input, cache_write and cache_read"
        ) from None


def _read(content: bytes) -> PriceTable:
    said = orjson.loads(content)
    date, currency, per = str(said["date"]), str(said["currency"]), float(said["per_tokens"])

    def price(model: str, listed: Mapping[str, float]) -> Price:
        write, read = listed.get("cache_write"), listed.get("cache_read")
        return Price(
            model,
            float(listed["input"]) / per,
            None if write is None else float(write) / per,
            None if read is None else float(read) / per,
            currency,
            date,
        )

    return PriceTable(date, str(said.get("source", "")), {name: price(name, it) for name, it in said["models"].items()})
