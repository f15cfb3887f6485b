"""Counts a long text by samples, in time that does not grow with it.

Every stratum of the text gives a span at a random place, and what is counted is the slice from the first safe cut after
the span's start to the first after its end. Cuts move both ends alike, so slices are as long as spans on average and
the count has no bias, wherever the cuts are. From the spans to the whole leads the density of bytes, which is known
of the whole at almost no cost.
"""

from __future__ import annotations

from bisect import bisect
from functools import cache
from itertools import pairwise
from math import hypot, sqrt
from random import Random
from typing import TYPE_CHECKING

from shaping.tokens.cuts import CUT
from shaping.tokens.density import weigh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Encode = Callable[[str], Sequence[int]]
    RunTokens = Callable[[str, int], int]

EXACT_UP_TO = 8_000

_STRATA = 72
_WIDTH = 96  # a multiple of 3, as is the lead: digits are tokens by threes
_REACH = 64
_LEAD = 24
_RUN = 8_192  # a multiple of 128, the longest token

# Two rounds are always made, and up to six more while the standard error, in percent, is worth their time.
_ENOUGH = (0.0, 1.6, 2.6, 2.6, 2.6, 2.6, 2.6, 100.0)
# Fixed jitter: a regular grid would fall into step with records of one length, and the same text must cost the same.
_JITTER = tuple(Random(5).random() for _ in range(_STRATA))  # noqa: S311 - nobody's secret
_SHIFTS = (0.0, 0.5, 0.25, 0.75, 0.125, 0.625, 0.375, 0.875)

_STRIDES = 16
_BLOCKS = 6 * _STRIDES
_SEEN = 24_000
_DENSITY_ERROR = 0.5  # percent, of the density itself
_PRIMES = [number for number in range(2, 1_000) if all(number % divisor for divisor in range(2, int(sqrt(number)) + 1))]


def estimate(text: str, encode: Encode) -> tuple[int, float]:
    """Return a long text's tokens, and the percent that the number is off by in at most one text of twenty."""
    run_tokens = cache(lambda char, length: len(encode(char * length)))
    spans: list[str] = []
    tokens: list[float] = []
    error = 0.0
    for shift, enough in zip(_SHIFTS, _ENOUGH, strict=True):
        for start, end in _spans(len(text), shift):
            spans.append(text[start:end])
            tokens.append(_tokens_in(text, start, end, encode, run_tokens))
        error = _standard_error(tokens)
        if error < enough:
            break
    total = sum(tokens) / weigh("".join(spans)) * _weigh_whole(text)
    return round(total), round(2 * hypot(error, _DENSITY_ERROR), 1)


def _spans(length: int, shift: float) -> Iterator[tuple[int, int]]:
    """Yield one span a stratum; they may hang over both ends, so that every character is as likely as any other."""
    step = (length + _WIDTH - 2) / _STRATA
    for index, jitter in enumerate(_JITTER):
        end = int(step * (index + (jitter + shift) % 1)) + 1
        yield max(0, end - _WIDTH), min(end, length)


def _tokens_in(text: str, start: int, end: int, encode: Encode, run_tokens: RunTokens) -> float:
    first, last = _cut_after(text, start), _cut_after(text, end)
    if first is None or last is None:
        return _tokens_uncut(text, start, end, encode, run_tokens)
    return len(encode(text[first:last]))


def _cut_after(text: str, place: int) -> int | None:
    if place in {0, len(text)}:
        return place
    cut = CUT.search(text, place, place + _REACH)
    return cut.end() if cut else None


def _tokens_uncut(text: str, start: int, end: int, encode: Encode, run_tokens: RunTokens) -> float:
    """Return a span's tokens where no safe cut is near: CJK without punctuation, a run of one character, emoji."""
    span = text[start:end]
    if span.count(span[0]) == len(span):
        return _tokens_in_run(text, start, end, run_tokens)
    # Where nothing is safe, the same lead before both ends makes the same error in both counts.
    lead = text[max(0, start - _LEAD) : start]
    return len(encode(lead + span)) - len(encode(lead))


def _tokens_in_run(text: str, start: int, end: int, run_tokens: RunTokens) -> float:
    """Return a span's share of the run it is in: one token may stand for a hundred spaces or hyphens."""
    char = text[start]
    before, after = text[max(0, start - _RUN // 2) : start], text[end : end + _RUN // 2]
    around = len(before) - len(before.rstrip(char)) + len(after) - len(after.lstrip(char))
    run = min(around + end - start, _RUN)
    return run_tokens(char, run) * (end - start) / run


def _standard_error(tokens: Sequence[float]) -> float:
    """Return the sum's standard error in percent, from how much neighbours differ: strata share what is near."""
    squares = sum((left - right) ** 2 for left, right in pairwise(tokens))
    return 100 * sqrt(squares / 2 / (len(tokens) - 1) * len(tokens)) / (sum(tokens) or 1)


def _weigh_whole(text: str) -> float:
    """Weigh a text by every few characters of it, its blocks by turns with prime strides, so that no period hides."""
    length = len(text)
    if length <= 2 * _SEEN:
        return weigh(text)
    first = min(max(0, bisect(_PRIMES, length // _SEEN) - _STRIDES // 2), len(_PRIMES) - _STRIDES)
    edges = [length * block // _BLOCKS for block in range(_BLOCKS + 1)]
    density = 0.0
    for turn, stride in enumerate(_PRIMES[first : first + _STRIDES]):
        blocks = zip(edges[turn::_STRIDES], edges[turn + 1 :: _STRIDES], strict=False)
        seen = "".join([text[start:end:stride] for start, end in blocks])
        density += weigh(seen) / len(seen)
    return density / _STRIDES * length
