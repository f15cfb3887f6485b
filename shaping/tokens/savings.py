"""The tokens of a response before and after shaping, and which fields of a document carry them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import orjson

from shaping.paths import join
from shaping.tokens.counters import DEFAULT, Method, TokenCount, by_characters, counter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from shaping.response import Json
    from shaping.tokens.counters import TokenCounter


Countable: TypeAlias = "str | int | Callable[[], str | int]"

_BEST_FIRST: tuple[Method, ...] = ("exact", "sampled", "chars")


class Tokens:
    """What a response would have cost and what it costs; each counted when first asked, once, and never failing."""

    def __init__(self, before: Countable, after: Countable, tokenizer: str | TokenCounter = DEFAULT) -> None:
        self._before = before
        self._after = after
        self._tokenizer = tokenizer

    @cached_property
    def before(self) -> TokenCount:
        """The tokens of what the client would have shown its model."""
        return self._count(self._before)

    @cached_property
    def after(self) -> TokenCount:
        """The tokens of what the client shows its model."""
        return self.before if self._after is self._before else self._count(self._after)

    @property
    def saved(self) -> int:
        """The difference; negative where a small answer grew by its envelope."""
        return self.before - self.after

    @property
    def ratio(self) -> float:
        """The share saved, from 0 for nothing to 1 for everything."""
        return self.saved / self.before if self.before else 0.0

    @property
    def method(self) -> Method:
        """How the weaker of the two numbers was found."""
        return max(self.before.method, self.after.method, key=_BEST_FIRST.index)

    @property
    def error_bound(self) -> float:
        """The percent that either number may be off by, at most."""
        return max(self.before.error_bound, self.after.error_bound)

    def __repr__(self) -> str:
        return f"Tokens(before={self.before}, after={self.after}, saved={self.saved}, method={self.method!r})"

    def _count(self, what: Countable) -> TokenCount:
        text = ""
        try:
            made = what() if callable(what) else what
            if isinstance(made, int):
                return made if isinstance(made, TokenCount) else TokenCount(made)
            text = made
            chosen = counter(self._tokenizer) if isinstance(self._tokenizer, str) else self._tokenizer
            return chosen.count(text)
        except Exception:  # noqa: BLE001 - what a call costs must never be what it fails by
            return by_characters(text)


ROOT = "(root)"


@dataclass(frozen=True, slots=True)
class FieldCost:
    """What all values at one path cost, their keys included."""

    path: str
    tokens: int


def by_field(value: Json, tokenizer: str = DEFAULT) -> list[FieldCost]:
    """Attribute the tokens of a value's compact JSON to its fields, dearest first."""
    exact = counter(tokenizer).exact
    whole, parts = list(pieces(value)), defaultdict[str, list[bytes]](list)
    for path, piece in whole:
        parts[path].append(piece)
    apart = {path: exact(b"".join(found).decode()) for path, found in parts.items()}
    # At its edges a piece shares tokens with its neighbours: parts are scaled so that they add up to the whole.
    scale = exact(b"".join(piece for _, piece in whole).decode()) / sum(apart.values())
    costs = _whole({path: tokens * scale for path, tokens in apart.items()})
    return sorted((FieldCost(path or ROOT, tokens) for path, tokens in costs.items()), key=lambda cost: -cost.tokens)


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


def _whole(shares: dict[str, float]) -> dict[str, int]:
    """Round shares to whole tokens without changing their sum: the largest remainders are rounded up."""
    floors = {path: int(share) for path, share in shares.items()}
    missing = round(sum(shares.values())) - sum(floors.values())
    by_remainder = sorted(shares, key=lambda path: floors[path] - shares[path])
    return floors | {path: floors[path] + 1 for path in by_remainder[:missing]}
