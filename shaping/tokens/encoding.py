"""Byte-pair encoding by a vocabulary in flat arrays.

Every proxied server has a process that counts. They share 4 MB of a mapped file here, which is open at once; tiktoken
takes 70 MB in each, and the tests compare every count with it. It is as fast, because most pieces of a tool's answer
were counted before.
"""

from __future__ import annotations

import json
import re
import sys
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from heapq import heapify, heappop, heappush
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

NAMES = ("o200k_base", "cl100k_base")
_DATA = Path(__file__).with_name("data")


@dataclass(frozen=True, slots=True)
class Definition:
    """What makes an encoding beside its ranks, and the sha256 of the rank file that OpenAI publishes."""

    sha256: str
    pat_str: str
    special_tokens: dict[str, int]


def definition(name: str) -> Definition:
    """Read an encoding's definition."""
    return Definition(**json.loads(read_data("encodings.json"))[name])


class Vocabulary(NamedTuple):
    """An encoding's tokens in the order of their ranks, with a hash table over them that was made beforehand.

    The table is open: a slot holds one more than the rank of its token, and 0 where it is free; `crc32` of a token's
    bytes says where to look first.
    """

    slots: memoryview
    starts: memoryview  # where each token begins in the file, and the end of the last
    file: mmap


def vocabulary(name: str) -> Vocabulary:
    """Map an encoding's file, of which all processes share the memory: the number of tokens, slots, starts, tokens."""
    with (_DATA / f"{name}.table").open("rb") as opened:
        file = mmap(opened.fileno(), 0, access=ACCESS_READ)
    count = int.from_bytes(file[:4], "little")
    size = table_size(count)
    numbers = memoryview(file)[4 : 4 * (size + count + 2)].cast("I")
    if sys.byteorder == "big":
        swapped = array("I", numbers)
        swapped.byteswap()
        numbers = memoryview(swapped)
    return Vocabulary(numbers[:size], numbers[size:], file)


def table_size(count: int) -> int:
    """Return the number of slots for so many tokens, a power of two: at least half of them are free."""
    return 1 << (2 * count).bit_length()


def read_data(file: str) -> bytes:
    """Read a file of this package's data."""
    return (_DATA / file).read_bytes()


@dataclass(frozen=True, slots=True)
class Multiplier:
    """How many tokens a family of models takes for each of o200k, from the lowest to the highest report, and whose."""

    family: str
    low: float
    high: float
    of: str
    source: str
    note: str

    @property
    def label(self) -> str:
        """A sentence's worth: `about 1.15 to 1.5 times o200k_base (reported, not counted)`."""
        span = f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}"
        return f"about {span} times {self.of} (reported, not counted)"


@cache
def multipliers() -> tuple[Multiplier, ...]:
    """Return what is reported of Claude and Gemini."""
    return tuple(Multiplier(**entry) for entry in json.loads(read_data("multipliers.json")))


_MOST_CACHED = 20_000  # words: 2 MB
_LONGEST_CACHED = 256  # characters: columns are aligned by runs of a hundred spaces and more
# A word of ASCII with the signs before it. In no piece of the patterns does a sign of ASCII follow a letter or a digit,
# but for the apostrophe of a contraction: so words may be counted one by one, and most come again.
_WORD = re.compile(
    r"[^A-Za-z0-9]*+[A-Za-z0-9]++(?:'[A-Za-z]++|[^\x00-\x7f][^A-Za-z0-9]*+[A-Za-z0-9]*+)*+|[^A-Za-z0-9]++"
)
_RUN = 1_024  # a multiple of 128, the length of the longest token of one character
_RUNS = re.compile(r"(.)\1{64,}+", re.DOTALL)
_NO_TOKEN = 0
_GONE = -1  # of a part that has merged with the one before it
# The classes of the patterns as they are among ASCII characters, by which `re` is three times as fast as `regex`.
_ASCII = (
    (r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", "[A-Z]"),
    (r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", "[a-z]"),
    (r"\p{L}\p{N}", "A-Za-z0-9"),
    (r"\p{L}", "[A-Za-z]"),
    (r"\p{N}", "[0-9]"),
)


class Encoding:
    """Splits texts into pieces as a vocabulary's pattern says, and pieces into tokens by the ranks of its tokens."""

    def __init__(self, name: str) -> None:
        self._slots, self._starts, self._file = vocabulary(name)
        self._mask = len(self._slots) - 1
        self._pattern = definition(name).pat_str
        self._find_ascii = _compile_ascii(self._pattern)
        self._find_any: Callable[[str], list[str]] | None = None
        self._counts = _Counts(self._count_piece)
        self._words = _Counts(lambda word: sum(map(self._counts.__getitem__, self._pieces(word))))

    def count(self, text: str) -> int:
        """Count the tokens of a text."""
        for counts in (self._words, self._counts):
            if len(counts) > _MOST_CACHED:
                counts.clear()
        return sum(map(self._words.__getitem__, _WORD.findall(text)))

    def _pieces(self, text: str) -> list[str]:
        if text.isascii():
            return self._find_ascii(text)
        if self._find_any is None:
            import regex  # noqa: PLC0415 (only for a text that is not ASCII: takes 10 ms)

            self._find_any = regex.compile(self._pattern).findall
        return self._find_any(text)

    def _count_piece(self, piece: str) -> int:
        runs = _RUNS.finditer(piece) if len(piece) > 3 * _RUN else ()
        if (run := next((run for run in runs if run.end() - run.start() > 3 * _RUN), None)) is not None:
            # Each further stretch of a run of one character has as many tokens as the one before it.
            head, rest, size = piece[: run.start()], piece[run.end() :], run.end() - run.start()
            short = run[1] * (_RUN + size % _RUN)
            fewer, more = (self._count_piece(f"{head}{kept}{rest}") for kept in (short, short + run[1] * _RUN))
            return fewer + (size - len(short)) // _RUN * (more - fewer)
        token = piece.encode()
        return 1 if self._number(token) else len(self._boundaries(token)) - 1

    def _number(self, token: bytes) -> int:
        """Return one more than the rank of a token, or `_NO_TOKEN`."""
        slot = crc32(token) & self._mask
        while number := self._slots[slot]:
            if self._file[self._starts[number - 1] : self._starts[number]] == token:
                return number
            slot = (slot + 1) & self._mask
        return _NO_TOKEN

    def _boundaries(self, piece: bytes) -> list[int]:
        """Return where the tokens of a piece begin, and its end.

        Of all neighbours those merge first whose token has the lowest rank, and of two with the same rank the left one.
        """
        size = len(piece)
        after = list(range(1, size + 2))  # where the part that begins at a place ends
        before = list(range(-1, size))
        heap = [(rank, at, at + 2) for at in range(size - 1) if (rank := self._number(piece[at : at + 2]))]
        heapify(heap)
        while heap:
            _, start, end = heappop(heap)
            middle = after[start]
            if middle == _GONE or middle >= end or after[middle] != end:
                continue  # one of the two has merged with another part since
            after[start], after[middle] = end, _GONE
            if end < size:
                before[end] = start
                if rank := self._number(piece[start : after[end]]):
                    heappush(heap, (rank, start, after[end]))
            if start and (rank := self._number(piece[before[start] : end])):
                heappush(heap, (rank, before[start], end))
        return [at for at in range(size) if after[at] != _GONE] + [size]


class _Counts(dict[str, int]):
    """The tokens of texts that were counted before."""

    def __init__(self, count: Callable[[str], int]) -> None:
        super().__init__()
        self._count = count

    def __missing__(self, piece: str) -> int:
        found = self._count(piece)
        if len(piece) <= _LONGEST_CACHED:
            self[piece] = found
        return found


def _compile_ascii(pattern: str) -> Callable[[str], list[str]]:
    for unicode_class, ascii_class in _ASCII:
        pattern = pattern.replace(unicode_class, ascii_class)
    return re.compile(pattern, re.ASCII).findall
