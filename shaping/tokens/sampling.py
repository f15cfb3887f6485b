"""Token counts without encoding the whole text: an estimate from its bytes, or a count of samples.

The estimate needs no vocabulary and takes microseconds. A count of samples takes time that does not grow with the text:
every stratum of it gives a span at a random place, and what is counted is the slice from the first safe cut after
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

# Tokens of o200k per byte of each class: lower case, upper case, digit, space, punctuation, and the first byte of a
# character of two, three and four bytes. Fitted by `benchmarks/bench_counting.py --fit` on half of its kinds of text.
_WEIGHTS = (0.234, 0.352, 0.741, 0.169, 0.593, 0.44, 0.518, 1.669)
# The same where neighbours are known: what a byte costs by itself, and what two of one class save by standing together.
_ALONE = (0.457, 1.369, 1.742, 0.385, 0.717, 0.389, 0.498, 1.777)
_TOGETHER = (-0.622, -2.248, -2.754, -0.671, -0.221)
_CONTINUES = len(_WEIGHTS)

_BLOCK = 512
_ESTIMATE_BLOCKS = 64


def _class(byte: int) -> int:
    char = chr(byte)
    if byte < 0x80:
        return (char.islower(), char.isupper(), char.isdigit(), char.isspace(), True).index(True)
    if byte < 0xC0:
        return _CONTINUES
    return 5 + (byte >= 0xE0) + (byte >= 0xF0)


_CLASSES = bytes(map(_class, range(256)))


def byte_classes(text: str | bytes) -> bytes:
    """Write a text's bytes as the numbers of their classes."""
    return (text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text).translate(_CLASSES)


def weigh(text: str) -> float:
    """Weigh characters by their classes, in tokens; they need not stand together."""
    classes = byte_classes(text)
    return sum(weight * classes.count(index) for index, weight in enumerate(_WEIGHTS))


def cheap(text: str | bytes) -> int:
    """Guess a text's tokens: good enough to choose between two writings of the same data, and for nothing else."""
    seen = _some_of(text)
    data = seen.encode("utf-8", "surrogatepass") if isinstance(seen, str) else seen
    counts: tuple[int, ...] = counted(data)
    weights = (*_ALONE, 0.0, *_TOGETHER)
    guess = sum(weight * count for weight, count in zip(weights, counts, strict=True)) * len(text) / (len(seen) or 1)
    return max(round(guess), bool(text))


def counted(data: bytes) -> tuple[int, ...]:
    """Count the bytes of each class, then the pairs of neighbours of those classes for which it matters."""
    classes = data.translate(_CLASSES)
    pairs = [classes.count(bytes((index, index))) for index in range(len(_TOGETHER))]
    return (*map(classes.count, range(_CONTINUES + 1)), *pairs)


def upper_bound(text: str | bytes) -> int:
    """Return a number of tokens that the text cannot exceed: no token is shorter than a byte."""
    if isinstance(text, bytes) or text.isascii():
        return len(text)
    # A lone surrogate is counted as U+FFFD, whose three bytes it has too.
    return len(text.encode("utf-8", "surrogatepass"))


def _some_of(text: str | bytes) -> str | bytes:
    if len(text) <= _BLOCK * _ESTIMATE_BLOCKS:
        return text
    starts = [(len(text) - _BLOCK) * block // (_ESTIMATE_BLOCKS - 1) for block in range(_ESTIMATE_BLOCKS)]
    blocks = [text[start : start + _BLOCK] for start in starts]
    return b"".join(blocks) if isinstance(text, bytes) else "".join(blocks)  # type: ignore[arg-type]  # blocks are what text is


if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Count = Callable[[str], int]
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
# Compiled when first used: it takes 9 ms, and a short text is counted without.
BREAK = f"[{_LETTERS}0-9](?=[{_BREAKS}])"
CUT = f"{BREAK}|[0-9](?=[{_LETTERS}])|[{_LETTERS}](?=[0-9])"

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
    while cut := re.compile(CUT).search(text, start + CHUNK):
        yield text[start : cut.end()]
        start = cut.end()
    yield text[start:]


def estimate(text: str, count: Count) -> tuple[int, float]:
    """Return a long text's tokens, and the percent that the number is off by in at most one text of twenty."""
    run_tokens = cache(lambda char, length: count(char * length))
    groups: list[str] = []
    tokens: list[float] = []
    weights: list[float] = []
    error = 0.0
    for shift, enough in zip(_SHIFTS, _ENOUGH, strict=True):
        spans = list(_spans(len(text), shift))
        for first in range(0, _STRATA, _GROUP):
            group, found = _count_group(text, spans[first : first + _GROUP], count, run_tokens)
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


def _count_group(text: str, spans: Sequence[tuple[int, int]], count: Count, run_tokens: RunTokens) -> tuple[str, float]:
    """Return the slices of a few spans and their tokens; those between safe cuts are joined and counted in one call."""
    joined = loose = ""
    tokens = 0.0
    for start, end in spans:
        first, last = _cut_after(text, start), _cut_after(text, end)
        if first is not None and last is not None:
            joined += text[first:last]
        else:
            begin, stop = start if first is None else first, end if last is None else last
            loose += text[begin:stop]
            tokens += _count_loose(text, begin, stop, count, run_tokens)
    return joined + loose, tokens + count(joined)


def _cut_after(text: str, place: int) -> int | None:
    if place in {0, len(text)}:
        return place
    cut = re.compile(BREAK).search(text, place, place + _REACH)
    return cut.end() if cut else None


def _count_loose(text: str, start: int, end: int, count: Count, run_tokens: RunTokens) -> float:
    """Count a slice with no safe cut at one of its ends: CJK without punctuation, emoji, a run of one character."""
    part = text[start:end]
    if part.count(part[0]) == len(part):
        return _tokens_in_run(text, start, end, run_tokens)
    # The same lead before both ends makes the same error in both counts.
    lead = text[max(0, start - _LEAD) : start]
    return count(lead + part) - count(lead)


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
