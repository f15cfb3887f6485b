"""Models whose tokenizer nobody may run offline: how many times as many tokens others report, never a count."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from shaping.tokens.vocabulary import read_data


@dataclass(frozen=True, slots=True)
class Multiplier:
    """How many tokens a family of models takes for each of o200k, from the lowest to the highest report, and whose."""

    family: str
    low: float
    high: float
    of: str
    source: str
    note: str

    @property
    def label(self) -> str:
        """A sentence's worth: `about 1.15 to 1.5 times o200k_base (reported, not counted)`."""
        span = f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}"
        return f"about {span} times {self.of} (reported, not counted)"


@cache
def multipliers() -> tuple[Multiplier, ...]:
    """Return what is reported of Claude and Gemini."""
    return tuple(Multiplier(**entry) for entry in json.loads(read_data("multipliers.json")))
