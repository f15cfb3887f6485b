"""Which fields carry the tokens of a document: exact, in that the parts add up to the whole."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from shaping.paths import join
from shaping.tokens.bpe import BpeCounter
from shaping.tokens.counts import CountingError
from shaping.tokens.registry import DEFAULT, counter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shaping.response import Json

ROOT = "(root)"


@dataclass(frozen=True, slots=True)
class FieldCost:
    """What all values at one path cost, their keys included."""

    path: str
    tokens: int


def by_field(value: Json, tokenizer: str = DEFAULT) -> list[FieldCost]:
    """Attribute the tokens of a value's compact JSON to its fields, dearest first."""
    chosen = counter(tokenizer)
    if not isinstance(chosen, BpeCounter):
        raise CountingError(
            f"tokenizer {tokenizer!r} does not say where its tokens are; choose o200k_base or cl100k_base"
        )
    written = list(pieces(value))
    text = b"".join(piece for _, piece in written).decode()
    shares = _shares(written, chosen.lengths(text))
    costs = [FieldCost(path or ROOT, tokens) for path, tokens in _whole(shares).items()]
    return sorted(costs, key=lambda cost: -cost.tokens)


def add_up(documents: Sequence[Sequence[FieldCost]]) -> list[FieldCost]:
    """Add the fields of several documents by path, dearest first."""
    totals: dict[str, int] = defaultdict(int)
    for document in documents:
        for cost in document:
            totals[cost.path] += cost.tokens
    return sorted((FieldCost(path, tokens) for path, tokens in totals.items()), key=lambda cost: -cost.tokens)


def pieces(value: Json) -> Iterator[tuple[str, bytes]]:
    """Yield compact JSON piece by piece, each with the path it belongs to; a key belongs to its value."""
    waiting: list[tuple[str, Json | bytes]] = [("", value)]
    while waiting:
        path, item = waiting.pop()
        if isinstance(item, bytes):
            yield path, item
        elif isinstance(item, dict):
            waiting += reversed(list(_members(path, item)))
        elif isinstance(item, list):
            waiting += reversed(list(_elements(path, item)))
        else:
            yield path, orjson.dumps(item)


def _members(path: str, value: dict[str, Json]) -> Iterator[tuple[str, Json | bytes]]:
    yield path, b"{"
    for index, (key, member) in enumerate(value.items()):
        inner = join(path, key)
        yield inner, b"," * bool(index) + orjson.dumps(key) + b":"
        yield inner, member
    yield path, b"}"


def _elements(path: str, value: list[Json]) -> Iterator[tuple[str, Json | bytes]]:
    inner = join(path, slice(None))
    yield path, b"["
    for index, element in enumerate(value):
        if index:
            yield inner, b","
        yield inner, element
    yield path, b"]"


def _shares(written: Sequence[tuple[str, bytes]], lengths: Sequence[int]) -> dict[str, float]:
    """Share each token among the paths whose bytes it stands for."""
    shares: dict[str, float] = defaultdict(float)
    tokens = iter(lengths)
    length = left = 0
    for path, piece in written:
        open_bytes = len(piece)
        while open_bytes:
            if not left:
                length = left = next(tokens)
            taken = min(left, open_bytes)
            shares[path] += taken / length
            left -= taken
            open_bytes -= taken
    return shares


def _whole(shares: dict[str, float]) -> dict[str, int]:
    """Round shares to whole tokens without changing their sum: the largest remainders are rounded up."""
    floors = {path: int(share) for path, share in shares.items()}
    missing = round(sum(shares.values())) - sum(floors.values())
    by_remainder = sorted(shares, key=lambda path: floors[path] - shares[path])
    return floors | {path: floors[path] + 1 for path in by_remainder[:missing]}
