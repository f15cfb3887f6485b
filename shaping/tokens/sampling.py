"""Counts a long text by samples, in time that does not grow with it.

Every stratum of the text gives a span at a random place, and what is counted is the slice from the first safe cut after
the span's start to the first after its end. Cuts move both ends alike, so slices hold every part of the text as often
as spans do, and the count has no bias. From the slices to the whole leads the density of bytes, which is known of the
whole at almost no cost.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from math import hypot, sqrt
from random import Random
from typing import TYPE_CHECKING

from shaping.tokens.estimate import weigh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Encode = Callable[[str], Sequence[int]]
    RunTokens = Callable[[str, int], int]

# Letters by fixed ranges rather than by property: a code point that one Unicode version calls a letter and another
# does not would make a cut that is safe for us and not for the tokenizer.
_LETTERS = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0391-\u03a1\u03a3-\u03c9\u0410-\u044f\u05d0-\u05ea\u0621-\u063a"
    "\u0641-\u064a\u0904-\u0939\u0e01-\u0e30\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3"
)
# ASCII and CJK punctuation and white space; not the apostrophe, which may join a contraction to its word.
_BREAKS = r" \t\r\n!-&(-/:-@\[-`{-~\u3000-\u3003\u3008-\u3011\uff01-\uff0f\uff1a-\uff20"

# In o200k and cl100k no pre-token has a letter or digit followed by punctuation or space inside it, so parts that begin
# and end at such places may also be joined in any order; nor a digit followed by a letter, nor a letter by a digit.
BREAK = re.compile(f"[{_LETTERS}0-9](?=[{_BREAKS}])")
CUT = re.compile(f"{BREAK.pattern}|[0-9](?=[{_LETTERS}])|[{_LETTERS}](?=[0-9])")

# White space without line ends, long enough to make the tokenizers' regex engine run out of stack (it gives up
# near a million). Only such a run is tried by the one branch of their pattern that backtracks.
_SPACES = "\t\v\f \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_GAP_LENGTH = 100_000
_GAP = re.compile(f"(?<![{_SPACES}])[{_SPACES}]{{{_GAP_LENGTH},}}+(?![\r\n])")

CHUNK = 64_000

EXACT_UP_TO = 8_000

_STRATA = 88
_WIDTH = 72  # a multiple of 3, as is the lead: digits are tokens by threes
_GROUP = 4
_REACH = 64
_LEAD = 24
_RUN = 8_192  # a multiple of 128, the longest token

# Two rounds are always made, a third where the standard error (in percent) is worth it, more only for wild texts.
_ENOUGH = (0.0, 1.6, 2.0, *[1.6] * 13)
# Fixed jitter: a regular grid would fall into step with records of one length, and the same text must cost the same.
_DICE = Random(7)  # noqa: S311 - nobody's secret
_JITTER = [_DICE.random() for _ in range(_STRATA)]
# Later rounds fall between the earlier ones: 0, 1/2, 1/4, 3/4, 1/8 and so on.
_SHIFTS = [int(f"{number:04b}"[::-1], base=2) / 16 for number in range(len(_ENOUGH))]

_BLOCKS = 16  # of each stride
_SEEN = 30_000
_DENSITY_ERROR = 0.6  # percent, of the density itself
_PRIMES = [number for number in range(2, 1_000) if all(number % divisor for divisor in range(2, int(sqrt(number)) + 1))]


def chunks(text: str) -> Iterator[str]:
    """Cut a long text where it is safe, near every 64,000 characters, so that its tokens never all exist at once."""
    start = 0
    while cut := CUT.search(text, start + CHUNK):
        yield text[start : cut.end()]
        start = cut.end()
    yield text[start:]


def gaps(text: str) -> Iterator[tuple[str, bool]]:
    """Cut out white space too long for the tokenizers' regex; each part says whether it is one such gap."""
    start = 0
    if any(char.isspace() for char in text[_GAP_LENGTH - 1 :: _GAP_LENGTH]):  # a gap cannot lie between these
        for gap in _GAP.finditer(text):
            # The last space of a gap goes with the word that follows it.
            end = gap.end() if gap.end() == len(text) else gap.end() - 1
            yield text[start : gap.start()], False
            yield text[gap.start() : end], True
            start = end
    yield text[start:], False


def estimate(text: str, encode: Encode) -> tuple[int, float]:
    """Return a long text's tokens, and the percent that the number is off by in at most one text of twenty."""
    run_tokens = cache(lambda char, length: len(encode(char * length)))
    groups: list[str] = []
    tokens: list[float] = []
    weights: list[float] = []
    error = 0.0
    for shift, enough in zip(_SHIFTS, _ENOUGH, strict=True):
        spans = list(_spans(len(text), shift))
        for first in range(0, _STRATA, _GROUP):
            group, found = _count_group(text, spans[first : first + _GROUP], encode, run_tokens)
            groups.append(group)
            tokens.append(found)
        if enough:
            weights += map(weigh, groups[len(weights) :])
            error = _standard_error(tokens, weights)
            if error < enough:
                break
    total = sum(tokens) / sum(weights) * _weigh_whole(text)
    return round(total), round(2 * hypot(error, _DENSITY_ERROR), 1)


def _spans(length: int, shift: float) -> Iterator[tuple[int, int]]:
    """Yield one span a stratum; they may hang over both ends, so that every character is as likely as any other."""
    step = (length + _WIDTH - 2) / _STRATA
    for index, jitter in enumerate(_JITTER):
        end = int(step * (index + (jitter + shift) % 1)) + 1
        yield max(0, end - _WIDTH), min(end, length)


def _count_group(
    text: str, spans: Sequence[tuple[int, int]], encode: Encode, run_tokens: RunTokens
) -> tuple[str, float]:
    """Return the slices of a few spans and their tokens; those between safe cuts are joined and encoded in one call."""
    joined = loose = ""
    tokens = 0.0
    for start, end in spans:
        first, last = _cut_after(text, start), _cut_after(text, end)
        if first is not None and last is not None:
            joined += text[first:last]
        else:
            begin, stop = start if first is None else first, end if last is None else last
            loose += text[begin:stop]
            tokens += _count_loose(text, begin, stop, encode, run_tokens)
    return joined + loose, tokens + len(encode(joined))


def _cut_after(text: str, place: int) -> int | None:
    if place in {0, len(text)}:
        return place
    cut = BREAK.search(text, place, place + _REACH)
    return cut.end() if cut else None


def _count_loose(text: str, start: int, end: int, encode: Encode, run_tokens: RunTokens) -> float:
    """Count a slice with no safe cut at one of its ends: CJK without punctuation, emoji, a run of one character."""
    part = text[start:end]
    if part.count(part[0]) == len(part):
        return _tokens_in_run(text, start, end, run_tokens)
    # The same lead before both ends makes the same error in both counts.
    lead = text[max(0, start - _LEAD) : start]
    return len(encode(lead + part)) - len(encode(lead))


def _tokens_in_run(text: str, start: int, end: int, run_tokens: RunTokens) -> float:
    """Return a span's share of the run it is in: one token may stand for a hundred spaces or hyphens."""
    char = text[start]
    before, after = text[max(0, start - _RUN // 2) : start], text[end : end + _RUN // 2]
    around = len(before) - len(before.rstrip(char)) + len(after) - len(after.lstrip(char))
    run = min(around + end - start, _RUN)
    return run_tokens(char, run) * (end - start) / run


def _standard_error(tokens: Sequence[float], sizes: Sequence[float]) -> float:
    """Return the sum's standard error in percent, from how much neighbours differ: strata share what is near."""
    whole = sum(tokens) or 1
    usual = whole / sum(sizes)
    unusual = [count - usual * size for count, size in zip(tokens, sizes, strict=True)]
    squares = sum((one - other) ** 2 for one, other in pairwise(unusual))
    return 100 * sqrt(squares / 2 / (len(tokens) - 1) * len(tokens)) / whole


def _weigh_whole(text: str) -> float:
    """Weigh a text by every few characters of it, its blocks by turns with prime strides, so that no period hides."""
    length = len(text)
    if length <= 2 * _SEEN:
        return weigh(text)
    strides = _strides(length // _SEEN)
    turns = len(strides)
    edges = [length * block // (turns * _BLOCKS) for block in range(turns * _BLOCKS + 1)]
    density = 0.0
    for turn, stride in enumerate(strides):
        seen = "".join(
            [
                # Each block begins at another phase of its stride: records as long as the stride are seen all over.
                text[edges[block] + (number * stride // _BLOCKS - edges[block]) % stride : edges[block + 1] : stride]
                for number, block in enumerate(range(turn, turns * _BLOCKS, turns))
            ]
        )
        density += weigh(seen) / len(seen)
    return density / turns * length


def _strides(about: int) -> list[int]:
    about = min(about, 600)
    return [prime for prime in _PRIMES if 2 * about <= 3 * prime <= 5 * about][:16]
