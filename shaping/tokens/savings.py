"""The tokens of a response before and after shaping, and which fields of a document carry them."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import orjson

from shaping.paths import join
from shaping.tokens.counters import DEFAULT, Method, TokenCount, TokenCounter, by_characters, counter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shaping.response import Json


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
    """Attribute the tokens of a value's compact JSON to its fields, dearest first; a key belongs to its value."""
    exact = counter(tokenizer).exact
    parts = defaultdict[str, list[bytes]](list)
    waiting: list[tuple[str, Json]] = [("", value)]
    while waiting:
        path, item = waiting.pop()
        if isinstance(item, dict):
            parts[path].append(b"{%s}" % (b"," * (len(item) - 1)))
            for key, member in item.items():
                inner = join(path, key)
                parts[inner].append(orjson.dumps(key) + b":")
                waiting.append((inner, member))
        elif isinstance(item, list):
            inner = join(path, slice(None))
            parts[path].append(b"[]")
            parts[inner] += [b","] * (len(item) - 1)
            waiting += [(inner, element) for element in item]
        else:
            parts[path].append(orjson.dumps(item))
    apart = {path: exact(b"".join(found).decode()) for path, found in parts.items()}
    # At its edges a piece shares tokens with its neighbours: parts are scaled so that they add up to the whole.
    scale = exact(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) / (sum(apart.values()) or 1)
    costs = _whole({path: tokens * scale for path, tokens in apart.items()})
    return sorted((FieldCost(path or ROOT, tokens) for path, tokens in costs.items()), key=lambda cost: -cost.tokens)


def add_up(documents: Sequence[Sequence[FieldCost]]) -> list[FieldCost]:
    """Add the fields of several documents by path, dearest first."""
    totals: dict[str, int] = defaultdict(int)
    for document in documents:
        for cost in document:
            totals[cost.path] += cost.tokens
    return sorted((FieldCost(path, tokens) for path, tokens in totals.items()), key=lambda cost: -cost.tokens)


def _whole(shares: dict[str, float]) -> dict[str, int]:
    """Round shares to whole tokens without changing their sum: the largest remainders are rounded up."""
    floors = {path: int(share) for path, share in shares.items()}
    missing = round(sum(shares.values())) - sum(floors.values())
    by_remainder = sorted(shares, key=lambda path: floors[path] - shares[path])
    return floors | {path: floors[path] + 1 for path in by_remainder[:missing]}
