"""The data of this package: vocabularies to count with, and what others report of models that have no public one."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tiktoken

NAMES = ("o200k_base", "cl100k_base")


@dataclass(frozen=True, slots=True)
class Definition:
    """What makes an encoding beside its ranks, and the sha256 that tiktoken checks its rank file by."""

    sha256: str
    pat_str: str
    special_tokens: dict[str, int]


def definition(name: str) -> Definition:
    """Read an encoding's definition."""
    return Definition(**json.loads(read_data("encodings.json"))[name])


def tokens(name: str) -> list[bytes]:
    """Read an encoding's tokens in the order of their ranks."""
    import lzma  # noqa: PLC0415 - some builds of Python lack it; counting then says so, and nothing else fails

    raw = lzma.decompress(read_data(f"{name}.xz"))
    count = int.from_bytes(raw[:4], "big")
    lengths = raw[4 : 4 + count]
    return [raw[start:end] for start, end in pairwise(accumulate(lengths, initial=4 + count))]


def rank_file(name: str) -> bytes:
    """Rebuild the file that tiktoken would have fetched, byte for byte."""
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens(name)))


def encoding(name: str) -> tiktoken.Encoding:
    """Build tiktoken's encoding from the ranks in this package, without its cache and without the network."""
    import tiktoken  # noqa: PLC0415 - `import shaping` stays light

    defined = definition(name)
    ranks = {token: rank for rank, token in enumerate(tokens(name))}
    return tiktoken.Encoding(
        name, pat_str=defined.pat_str, mergeable_ranks=ranks, special_tokens=defined.special_tokens
    )


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
