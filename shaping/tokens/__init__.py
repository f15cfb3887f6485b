"""What a text costs: exact or sampled, labelled, offline."""

from __future__ import annotations

from shaping.tokens.counters import (
    DEFAULT,
    CountingError,
    Method,
    TokenCount,
    TokenCounter,
    Tokens,
    UnknownTokenizerError,
    counter,
    tokenizers,
    warm,
)
from shaping.tokens.encoding import Multiplier, multipliers
from shaping.tokens.sampling import cheap, upper_bound

__all__ = [
    "CountingError",
    "Method",
    "Multiplier",
    "TokenCount",
    "TokenCounter",
    "Tokens",
    "UnknownTokenizerError",
    "cheap",
    "count",
    "counter",
    "exact",
    "multipliers",
    "tokenizers",
    "upper_bound",
    "warm",
]


def count(text: str, tokenizer: str = DEFAULT) -> TokenCount:
    """Count a text's tokens: exactly to 48,000 characters, by samples above; the number says which and how well."""
    return counter(tokenizer).count(text)


def exact(text: str, tokenizer: str = DEFAULT) -> int:
    """Count a text's tokens exactly, however long it is."""
    return counter(tokenizer).exact(text)
