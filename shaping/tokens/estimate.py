"""What a text costs, guessed from its bytes alone: no vocabulary, no network, microseconds."""

from __future__ import annotations

# Tokens of o200k per byte of each class: lower case, upper case, digit, space, punctuation, and the first byte of a
# character of two, three and four bytes. Fitted by `benchmarks/bench_counting.py --fit` on half of its kinds of text.
_WEIGHTS = (0.234, 0.352, 0.741, 0.169, 0.593, 0.44, 0.518, 1.669)
# The same where neighbours are known: what a byte costs by itself, and what two of one class save by standing together.
_ALONE = (0.457, 1.369, 1.742, 0.385, 0.717, 0.389, 0.498, 1.777)
_TOGETHER = (-0.622, -2.248, -2.754, -0.671, -0.221)
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
    if len(text) <= _BLOCK * _BLOCKS:
        return text
    starts = [(len(text) - _BLOCK) * block // (_BLOCKS - 1) for block in range(_BLOCKS)]
    blocks = [text[start : start + _BLOCK] for start in starts]
    return b"".join(blocks) if isinstance(text, bytes) else "".join(blocks)  # type: ignore[arg-type]  # blocks are what text is
