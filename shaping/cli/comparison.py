"""What each profile makes of an answer: tokens as sent, compact and shaped, and the time it took."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from shaping.cli.payloads import shown
from shaping.tokens import counter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shaping import Shaper
    from shaping.cli.payloads import Payload

_RUNS = 3


@dataclass(frozen=True, slots=True)
class Cost:
    """What an answer costs under one profile, and how long shaping it took."""

    profile: str
    tokens: int
    milliseconds: float

    def saved(self, raw: int) -> float:
        """Return the percent saved of what was sent."""
        return 100 * (1 - self.tokens / raw) if raw else 0.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """One answer, or all of them: what was sent, the same as compact JSON, and what each profile makes of it."""

    name: str
    raw: int
    compact: int
    costs: tuple[Cost, ...]


@dataclass(frozen=True, slots=True)
class Setup:
    """What all answers are compared with."""

    shaper: Shaper
    profiles: tuple[str, ...]
    tokenizer: str
    tool: str | None = None  # without it, a file's name up to its first dot
    client: str | None = None


def compare(payload: Payload, setup: Setup) -> Comparison:
    """Count an answer exactly, as sent and as each profile shapes it."""
    exact = counter(setup.tokenizer).exact
    costs = []
    for profile in setup.profiles:
        text, seconds = _timed(_shape(payload, profile, setup))
        costs.append(Cost(profile, exact(text), 1000 * seconds))
    return Comparison(payload.name, exact(payload.as_sent), exact(payload.compact), tuple(costs))


def total(comparisons: Sequence[Comparison]) -> Comparison:
    """Add comparisons up."""
    columns = zip(*(comparison.costs for comparison in comparisons), strict=True)
    costs = tuple(
        Cost(column[0].profile, sum(cost.tokens for cost in column), sum(cost.milliseconds for cost in column))
        for column in columns
    )
    raw = sum(comparison.raw for comparison in comparisons)
    return Comparison("total", raw, sum(comparison.compact for comparison in comparisons), costs)


def _shape(payload: Payload, profile: str, setup: Setup) -> Callable[[], str]:
    shaper, client = setup.shaper, setup.client
    tool = PurePath(payload.name).name.split(".")[0] if setup.tool is None else setup.tool
    if payload.is_mcp:
        return lambda: shown(shaper.shape_result(payload.value, tool=tool, client=client, profile=profile))
    return lambda: shaper.shape(payload.value, tool=tool, profile=profile).text


def _timed(call: Callable[[], str]) -> tuple[str, float]:
    spent = []
    text = ""
    for _ in range(_RUNS):
        start = perf_counter()
        text = call()
        spent.append(perf_counter() - start)
    return text, median(spent)
