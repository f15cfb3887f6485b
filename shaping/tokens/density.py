"""What a text costs, guessed from its bytes alone: no vocabulary, no network, microseconds."""

from __future__ import annotations

# Tokens of o200k per byte of each class: lower case, upper case, digit, space, punctuation, and the first byte of a
# character of two, three and four bytes. Fitted by `benchmarks/bench_counting.py --fit` on half of its kinds of text.
_WEIGHTS = (0.229, 0.47, 0.771, 0.065, 0.559, 0.576, 0.717, 1.5)
# The same where neighbours are known: what a byte costs by itself, and what two of one class save by standing together.
_ALONE = (0.512, 0.67, 1.73, 0.482, 0.727, 0.486, 0.523, 1.83)
_TOGETHER = (-0.828, -0.994, -2.646, -0.876, -0.398)
_CONTINUES = len(_WEIGHTS)

_BLOCK = 512
_BLOCKS = 64


def _class(byte: int) -> int:
    char = chr(byte)
    if byte < 0x80:
        return (char.islower(), char.isupper(), char.isdigit(), char.isspace(), True).index(True)
    if byte < 0xC0:
        return _CONTINUES
    return 5 + (byte >= 0xE0) + (byte >= 0xF0)


_CLASSES = bytes(map(_class, range(256)))


def weigh(text: str) -> float:
    """Weigh characters by their classes, in tokens; they need not stand together."""
    classes = text.encode("utf-8", "surrogatepass").translate(_CLASSES)
    return sum(weight * classes.count(index) for index, weight in enumerate(_WEIGHTS))


def cheap(text: str | bytes) -> int:
    """Guess a text's tokens: good enough to choose between two writings of the same data, and for nothing else."""
    seen = _some_of(text)
    raw = seen.encode("utf-8", "surrogatepass") if isinstance(seen, str) else seen
    classes = raw.translate(_CLASSES)
    alone = sum(weight * classes.count(index) for index, weight in enumerate(_ALONE))
    together = sum(weight * classes.count(bytes((index, index))) for index, weight in enumerate(_TOGETHER))
    guess = (alone + together) * len(text) / (len(seen) or 1)
    return max(round(guess), bool(text))


def upper_bound(text: str | bytes) -> int:
    """Return a number of tokens that the text cannot exceed: no token is shorter than a byte."""
    if isinstance(text, bytes) or text.isascii():
        return len(text)
    # A lone surrogate is counted as U+FFFD, whose three bytes it has too.
    return len(text.encode("utf-8", "surrogatepass"))


def _some_of(text: str | bytes) -> str | bytes:
    if len(text) <= _BLOCK * _BLOCKS:
        return text
    starts = [(len(text) - _BLOCK) * block // (_BLOCKS - 1) for block in range(_BLOCKS)]
    blocks = [text[start : start + _BLOCK] for start in starts]
    return b"".join(blocks) if isinstance(text, bytes) else "".join(blocks)  # type: ignore[arg-type]  # blocks are what text is
