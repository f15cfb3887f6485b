"""What tokens cost: a dated table of model prices that a user can replace (`config/prices.json`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pydantic import BaseModel, PositiveFloat, ValidationError

from shaping.errors.codes import CodedError
from shaping.nearest import did_you_mean, nearest
from shaping.settings.files import bundled, user_directory

VARIABLE: Final = "SHAPING_PRICES"
FILE: Final = "prices.json"


class PriceError(CodedError):
    """A price table or a model that cannot be used; the message says which and what was expected."""


class Price(BaseModel):
    """What so many of a model's input tokens cost; a price that the table does not have is None."""

    input: float
    cache_write: float | None = None
    cache_read: float | None = None
    # What the table says of all its prices.
    model: str = ""
    currency: str = ""
    date: str = ""
    per_tokens: PositiveFloat = 1

    def cost(self, tokens: int, read: int = 0) -> float:
        """Return what results cost: `tokens` written once, and `read` tokens read from the cache in later turns.

        Where the table has no price of the cache, they are read as input again.
        """
        write = self.input if self.cache_write is None else self.cache_write
        turn = self.input if self.cache_read is None else self.cache_read
        return (tokens * write + read * turn) / self.per_tokens


class PriceTable(BaseModel):
    """The prices of one day, each for so many tokens."""

    date: str
    currency: str
    per_tokens: PositiveFloat
    models: dict[str, Price]
    source: str = ""

    def find(self, model: str) -> Price:
        """Return the price of a model by its name, whatever provider stands before it."""
        name = model.rpartition("/")[2]
        if name not in self.models:
            near = did_you_mean(nearest(name, self.models))
            raise PriceError(f"the prices of {self.date} have no model {model!r}; --prices names another table.{near}")
        about = {"model": name, "currency": self.currency, "date": self.date, "per_tokens": self.per_tokens}
        return self.models[name].model_copy(update=about)


def load_prices(file: str | os.PathLike[str] | None = None, environ: Mapping[str, str] = os.environ) -> PriceTable:
    """Read a price table: the file named here, by SHAPING_PRICES or in the user's config directory, else ours."""
    named = file or environ.get(VARIABLE)
    own = user_directory(environ) / FILE
    place = Path(named).expanduser() if named else own if own.is_file() else None
    try:
        return PriceTable.model_validate_json(bundled("config", FILE) if place is None else place.read_bytes())
    except (OSError, ValidationError) as problem:
        first = problem.errors()[0] if isinstance(problem, ValidationError) else None
        why = problem if first is None else f"{'.'.join(map(str, first['loc']))} {first['msg']}".strip()
        raise PriceError(
            f"the price table {place} cannot be read ({why}); expected the members date, currency, per_tokens and "
            "models, and for each model input, cache_write and cache_read"
        ) from None
