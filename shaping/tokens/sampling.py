"""Token counts without encoding the whole text: an estimate from its bytes, or a count of samples.

The estimate needs no vocabulary and takes microseconds. A count of samples takes time that hardly grows with the text:
every stratum of it gives a span at a random place, and what is counted is the slice from the first safe cut after
the span's start to the first after its end. Cuts move both ends alike, so slices hold every part of the text as often
as spans do, and the count has no bias. From the slices to the whole leads the density of bytes, which is known of the
whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from math import hypot, sqrt
from operator import mul
from random import Random
from typing import TYPE_CHECKING, TypeAlias

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
    counts: tuple[int, ...] = byte_counts(data)
    weights = (*_ALONE, 0.0, *_TOGETHER)
    guess: float = sum(map(mul, weights, counts)) * len(text) / (len(seen) or 1)
    return max(round(guess), bool(text))


def byte_counts(data: bytes) -> tuple[int, ...]:
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


# What the programs that show a text may limit.
LENGTHS: Mapping[str, Callable[[str], int]] = {
    "chars": len,
    "bytes": upper_bound,
    "lines": lambda text: text.count("\n") + 1,
}


def _some_of(text: str | bytes) -> str | bytes:
    if len(text) <= _BLOCK * _ESTIMATE_BLOCKS:
        return text
    starts = [(len(text) - _BLOCK) * block // (_ESTIMATE_BLOCKS - 1) for block in range(_ESTIMATE_BLOCKS)]
    blocks = [text[start : start + _BLOCK] for start in starts]
    return b"".join(blocks) if isinstance(text, bytes) else "".join(blocks)  # type: ignore[arg-type]  # blocks are what text is


if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Count: TypeAlias = Callable[[str], int]

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

EXACT_UP_TO = 48_000  # samples of a shorter text cost as much as all of it

# Strata, and the characters of a span of each: a multiple of 3, because digits are tokens by threes.
_STRATA, _WIDTH = 240, 72
# The same of a text with few safe cuts (CJK without punctuation, a run of one character): spans are long, so that what
# is wrong at their edges matters little, and multiples of 128, the longest token.
_FEW_STRATA, _LONG_WIDTH = 48, 512
_GROUP = 4  # slices that are counted in one call
_REACH = 600  # characters in which a safe cut is looked for
_ENOUGH_CUT = 0.9  # of the strata
# Fixed jitter: a regular grid would fall into step with records of one length, and the same text must cost the same.
_DICE = Random(7)  # noqa: S311 - nobody's secret
_JITTER = [_DICE.random() for _ in range(_STRATA)]
_DENSITY_ERROR = 0.6  # percent, of the density itself


def chunks(text: str) -> Iterator[str]:
    """Cut a long text where it is safe, near every 64,000 characters, so that its tokens never all exist at once."""
    start = 0
    while cut := re.compile(CUT).search(text, start + CHUNK):
        yield text[start : cut.end()]
        start = cut.end()
    yield text[start:]


def estimate(text: str, count: Count) -> tuple[int, float]:
    """Return a long text's tokens, and the percent that the number is off by in at most one text of twenty."""
    cut = [(_cut_after(text, start), _cut_after(text, end)) for start, end in _spans(len(text), _STRATA, _WIDTH)]
    slices = [text[start:end] for start, end in cut if start is not None and end is not None]
    if len(slices) >= _ENOUGH_CUT * _STRATA:
        samples = ["".join(slices[first : first + _GROUP]) for first in range(0, len(slices), _GROUP)]
    else:
        samples = [text[start:end] for start, end in _spans(len(text), _FEW_STRATA, _LONG_WIDTH)]
    tokens, weights = list(map(count, samples)), list(map(weigh, samples))
    error = _standard_error(tokens, weights)
    return round(sum(tokens) / sum(weights) * weigh(text)), round(2 * hypot(error, _DENSITY_ERROR), 1)


def _spans(length: int, strata: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield one span a stratum; they may hang over both ends, so that every character is as likely as any other."""
    step = (length + width - 2) / strata
    for index, jitter in enumerate(_JITTER[:strata]):
        end = int(step * (index + jitter)) + 1
        yield max(0, end - width), min(end, length)


def _cut_after(text: str, place: int) -> int | None:
    if place in {0, len(text)}:
        return place
    cut = re.compile(BREAK).search(text, place, place + _REACH)
    return cut.end() if cut else None


def _standard_error(tokens: Sequence[float], sizes: Sequence[float]) -> float:
    """Return the sum's standard error in percent, from how much neighbours differ: strata share what is near."""
    whole = sum(tokens) or 1
    usual = whole / sum(sizes)
    unusual = [count - usual * size for count, size in zip(tokens, sizes, strict=True)]
    squares = sum((one - other) ** 2 for one, other in pairwise(unusual))
    return 100 * sqrt(squares / 2 / (len(tokens) - 1) * len(tokens)) / whole


# Samples of a text, and their characters, by which it is known to be far from a limit; no two of them are equally far
# apart, because records are.
_FEW, _MANY, _SAMPLE, _UNEVEN = 6, 24, 400, 0.618
SAMPLED = _MANY * _SAMPLE  # characters of all samples
# Times under the limit by few and by many samples, and times over it, beyond which an estimate is enough.
_FAR_BELOW, _CLEARLY, _NEARLY = 1.6, 1.25, 1.05
_SURE = 1.3  # by how much a guess of tokens must differ, for two writings of the same


def count_near(text: str, limit: int, exact: Count) -> float:
    """Return a text's tokens: exactly where they are near the limit, else an estimate by samples."""
    if len(text) > 2 * _FEW * _SAMPLE:
        tokens = estimate_by_samples(text, exact, _FEW)
        if tokens * _FAR_BELOW <= limit:
            return tokens
        # Of a text that is this near to its limit more samples would decide nothing.
        if len(text) > 2 * _MANY * _SAMPLE and not limit / _CLEARLY < tokens <= limit * _NEARLY:
            tokens = estimate_by_samples(text, exact)
            # Of what is not ASCII, which may stand together where no sample is, each byte may be a token.
            if tokens * _CLEARLY + upper_bound(text) - len(text) <= limit or tokens > limit * _NEARLY:
                return tokens
    return exact(text)


def is_within(text: str, limit: int, exact: Count) -> bool:
    """Return whether a text is within so many tokens, counting no more of it than that needs."""
    # No text has more tokens than bytes: for one that is small by its bytes no vocabulary is loaded.
    return upper_bound(text) <= limit or count_near(text, limit, exact) <= limit


def costs_at_most(text: str, other: str, exact: Count, part: float = 1.0) -> bool:
    """Return whether a text costs no more than this part of what another writing of the same costs."""
    # Where a guess of the tokens is sure enough, nothing is counted.
    return _SURE * cheap(text) < cheap(other) * part or exact(text) <= exact(other) * part


def estimate_by_samples(text: str, exact: Count, blocks: int = _MANY) -> float:
    """Estimate a text's tokens by samples from all over it."""
    span = len(text) - _SAMPLE
    starts = [int((block + block * _UNEVEN % 1) * span / blocks) for block in range(blocks)]
    sample = "\n".join(text[start : start + _SAMPLE] for start in starts)
    return exact(sample) * len(text) / len(sample)
