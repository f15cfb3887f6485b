"""What survives a dialect: the part of an envelope that comes back when its wire form is parsed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from shaping.envelope.meta import Source

# Said beside what the contract's own error holds, where there is something to say.
ERROR_EXTRAS = (
    "hint",
    "retryable",
    "retry_after",
    "phase",
    "next_actions",
    "similar",
    "redirect",
    "docs_url",
    "detail",
)


@dataclass(frozen=True, slots=True)
class Carries:
    """What a dialect carries when every member is included; what an envelope left open may come back filled."""

    source: Source | None  # what meta comes back as; None where the wire tells
    error: frozenset[str] = frozenset()
    meta: frozenset[str] = frozenset()
    warnings: Literal["whole", "message", "none"] = "whole"
    data_on_error: bool = True
    rounds: bool = False  # durations and waits become whole numbers
