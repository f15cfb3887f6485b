"""Counts a long text by samples, in time that does not grow with it.

Every stratum of the text gives a span at a random place, and what is counted is the slice from the first safe cut after
the span's start to the first after its end. Cuts move both ends alike, so slices are as long as spans on average and
the count has no bias, wherever the cuts are. From the spans to the whole leads the density of bytes, which is known
of the whole at almost no cost.
"""

from __future__ import annotations

from bisect import bisect
from itertools import pairwise
from math import hypot, sqrt
from random import Random
from typing import TYPE_CHECKING

from shaping.tokens.cuts import CUT
from shaping.tokens.density import weigh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Encode = Callable[[str], Sequence[int]]

EXACT_UP_TO = 8_000

_STRATA = 72
_WIDTH = 96  # a multiple of 3, as is the lead: digits are tokens by threes
_REACH = 64
_LEAD = 24
_RUN_REACH = 4_096

_ENOUGH = 1.5  # a standard error in percent; above it a third round is worth its time
# Fixed jitter: a regular grid would fall into step with records of one length, and the same text must cost the same.
_JITTER = tuple(Random(5).random() for _ in range(_STRATA))  # noqa: S311 - nobody's secret
_ROUNDS = (0.0, 0.5, 0.25)

_BLOCKS = 8
_SEEN = 24_000
_DENSITY_ERROR = 0.5  # percent, of the density itself
_PRIMES = [number for number in range(2, 1_000) if all(number % divisor for divisor in range(2, int(sqrt(number)) + 1))]


def estimate(text: str, encode: Encode) -> tuple[int, float]:
    """Return a long text's tokens, and the percent that the number is off by in at most one text of twenty."""
    spans: list[str] = []
    tokens: list[float] = []
    error = 0.0
    for number, shift in enumerate(_ROUNDS):
        for start, end in _spans(len(text), shift):
            spans.append(text[start:end])
            tokens.append(_tokens_in(text, start, end, encode))
        error = _standard_error(tokens)
        if number and error < _ENOUGH:
            break
    total = sum(tokens) / weigh("".join(spans)) * _weigh_whole(text)
    return round(total), round(2 * hypot(error, _DENSITY_ERROR), 1)


def _spans(length: int, shift: float) -> Iterator[tuple[int, int]]:
    """Yield one span a stratum; they may hang over both ends, so that every character is as likely as any other."""
    step = (length + _WIDTH - 2) / _STRATA
    for index, jitter in enumerate(_JITTER):
        end = int(step * (index + (jitter + shift) % 1)) + 1
        yield max(0, end - _WIDTH), min(end, length)


def _tokens_in(text: str, start: int, end: int, encode: Encode) -> float:
    first, last = _cut_after(text, start), _cut_after(text, end)
    if first is None or last is None:
        return _tokens_uncut(text, start, end, encode)
    return len(encode(text[first:last]))


def _cut_after(text: str, place: int) -> int | None:
    if place in {0, len(text)}:
        return place
    cut = CUT.search(text, place, place + _REACH)
    return cut.end() if cut else None


def _tokens_uncut(text: str, start: int, end: int, encode: Encode) -> float:
    """Return a span's tokens where no safe cut is near: CJK without punctuation, a run of one character, emoji."""
    span = text[start:end]
    if len(chars := set(span)) <= 3:
        return _tokens_in_run(text, start, end, "".join(chars), encode)
    # Where nothing is safe, the same lead before both ends makes the same error in both counts.
    lead = text[max(0, start - _LEAD) : start]
    return len(encode(lead + span)) - len(encode(lead))


def _tokens_in_run(text: str, start: int, end: int, chars: str, encode: Encode) -> float:
    """Return a span's share of the run it is in: one token may stand for a hundred spaces or hyphens."""
    before, after = text[max(0, start - _RUN_REACH) : start], text[end : end + _RUN_REACH]
    run = before[len(before.rstrip(chars)) :] + text[start:end] + after[: len(after) - len(after.lstrip(chars))]
    return len(encode(run)) * (end - start) / len(run)


def _standard_error(tokens: Sequence[float]) -> float:
    """Return the sum's standard error in percent, from how much neighbours differ: strata share what is near."""
    squares = sum((left - right) ** 2 for left, right in pairwise(tokens))
    return 100 * sqrt(squares / 2 / (len(tokens) - 1) * len(tokens)) / (sum(tokens) or 1)


def _weigh_whole(text: str) -> float:
    """Weigh a text by every few characters of it, each block with its own prime stride, so that no period hides."""
    length = len(text)
    if length <= 2 * _SEEN:
        return weigh(text)
    first = max(0, bisect(_PRIMES, length // _SEEN) - _BLOCKS // 2)
    edges = [length * block // _BLOCKS for block in range(_BLOCKS + 1)]
    weight = 0.0
    for (start, end), stride in zip(pairwise(edges), _PRIMES[first : first + _BLOCKS], strict=True):
        seen = text[start:end:stride]
        weight += weigh(seen) / len(seen) * (end - start)
    return weight
