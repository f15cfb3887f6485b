"""The data of this package: vocabularies to count with, and what others report of models that have no public one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

NAMES = ("o200k_base", "cl100k_base")


@dataclass(frozen=True, slots=True)
class Definition:
    """What makes an encoding beside its ranks, and the sha256 of the rank file that OpenAI publishes."""

    sha256: str
    pat_str: str
    special_tokens: dict[str, int]


def definition(name: str) -> Definition:
    """Read an encoding's definition."""
    return Definition(**json.loads(read_data("encodings.json"))[name])


def tokens(name: str) -> tuple[bytes, bytes]:
    """Read an encoding's tokens in the order of their ranks: the length of each, and all of them joined."""
    import lzma  # noqa: PLC0415 - some builds of Python lack it; counting then says so, and nothing else fails

    raw = lzma.decompress(read_data(f"{name}.xz"))
    count = int.from_bytes(raw[:4], "big")
    return raw[4 : 4 + count], raw[4 + count :]


def read_data(file: str) -> bytes:
    """Read a file of this package's data."""
    from importlib import resources  # noqa: PLC0415 - `import shaping` stays light

    return resources.files("shaping.tokens").joinpath("data", file).read_bytes()


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
