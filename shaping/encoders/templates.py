"""Texts that differ in a few words: what they share is a template with a place for each of those words."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cached_property
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Words = Sequence[str]

LEAST: Final = 5  # lines of one kind
MOST: Final = 24  # kinds of lines: more templates stand too far from their lines for a reader
_TAG, GAP_PRICE, _PLACE_PRICE = 4, 3, 4  # characters of which a tag, a wide gap and a place have the price
_AFFIX: Final = 3  # characters that the words of a column begin or end with, from which they are part of the template
_PAYS: Final = 40  # characters that a kind of lines must save
_ALIGNED: Final = 0.8  # of numbers with padding stand before a few columns
_FIRST_WORDS, _SHORTER = 7, 0.1  # by which lines are alike whose others are not; the part of them that may have fewer
_SPLITS: Final = 4  # words by which lines of one kind are told apart, one after the other
_COLUMNS: Final = 4  # that are tried for that: those with the fewest different words
# Such braces would be taken for places, and other blanks than spaces and tabs for parts of words.
_ODD = re.compile(r"\{\d*\}|[\x00-\x08\x0b-\x1f\x7f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_PADDED_NUMBER = re.compile(r"([ \t]+)\d\S*[ \t]+(?=\S)")
_GAP, _WORD = re.compile(r"[ \t]+"), re.compile(r"\S+")
_DIVIDING: Final = frozenset("/\\=:,;()[]}<>|\"'`")  # what stands between the parts of a word
_ENCLOSING: Final = frozenset("()[]}<>\"'`,;")  # what is worth writing once even where it stands alone
_BLANKS: Final = frozenset(" \t")
_PATH = re.compile(r"(?:\w+://)?[^:]*(?:/|:+)|")  # the folder of a file, or the file of a line in it
PLACE = re.compile(r"\{(\d*)\}")


class Kind(NamedTuple):
    """Lines that share a template: its text, and the words of each line by its index."""

    template: str
    rows: Mapping[int, str]
    saved: int  # characters


def indent_of(line: str) -> str:
    """Return the blanks before a line."""
    return line[: len(line) - len(line.lstrip())]


def filled(template: Sequence[str], said: str) -> str:
    """Put words into the places of a template; its odd parts say which word again, or nothing of the next one."""
    places = template[1::2]
    words = said.split(" ", max(0, places.count("") - 1))
    following = iter(words)
    found = (words[int(place) - 1] if place else next(following) for place in places)
    return template[0] + "".join(f"{word}{after}" for word, after in zip(found, template[2::2], strict=True))


def alike(texts: Words, chosen: Iterable[int], *, exact: bool = False) -> list[LineGroup]:
    """Group texts by their indentation and number of words, or by all their blanks where those must be `exact`."""
    by_layout: dict[tuple[str, int | str], list[int]] = defaultdict(list)
    words: dict[int, list[str]] = {}
    indent = indent_of if exact else _indent_by(texts)
    for at in chosen:
        text = texts[at]
        if text and not (exact and "{" in text) and not is_odd(text):
            words[at] = text.split()
            blanks = _WORD.sub("x", text) if exact and "  " in text else len(words[at])
            by_layout[indent(text) if text[0] in _BLANKS else "", blanks].append(at)
    kinds = [rows for rows in by_layout.values() if len(rows) >= LEAST and words[rows[0]]]
    return [told for rows in kinds for told in told_apart(LineGroup(texts, words, rows, in_cells=exact))]


def _indent_by(texts: Words) -> Callable[[str], str]:
    """Return what tells texts apart by their indentation, but for the padding of numbers in a column."""
    # Where such a number begins, and the word after it.
    places = Counter((found.end(1), found.end()) for text in texts if (found := _PADDED_NUMBER.match(text)))
    seconds: Counter[int] = Counter()
    for (_, second), count in places.items():
        seconds[second] += count
    usual = dict(seconds.most_common(len({first for first, _ in places})))
    together = sum(second in usual for _, second in places)
    is_padding = len(usual) * 2 <= together and sum(usual.values()) >= _ALIGNED * seconds.total() > 0
    return (lambda text: " " if _PADDED_NUMBER.match(text) else indent_of(text)) if is_padding else indent_of


def alike_at_first(texts: Words, chosen: Iterable[int]) -> list[LineGroup]:
    """Group texts by their indentation alone, whose first words are alike; what follows these is one word."""
    by_indent: dict[str, list[int]] = defaultdict(list)
    indent = _indent_by(texts)
    for at in chosen:
        if texts[at] and not is_odd(texts[at]):
            by_indent[indent(texts[at]) if texts[at][0] in _BLANKS else ""].append(at)
    found: list[LineGroup] = []
    for rows in by_indent.values():
        columns = zip_longest(*(texts[at].split(None, _FIRST_WORDS) for at in rows))
        full = [column for column in columns if column.count(None) <= _SHORTER * len(rows)]
        # Few different words tell kinds of lines; more are free text.
        few = (number for number, column in enumerate(full[:-1], 1) if len(set(column)) * 2 <= len(rows))
        first = max(few, default=0)
        words = {at: split for at in rows if len(split := texts[at].rstrip().split(None, first)) > first}
        found += told_apart(LineGroup(texts, words, list(words))) if first and len(words) >= LEAST else []
    return found


def is_odd(text: str) -> bool:
    """Whether a text holds what would be misread in a template."""
    # Most texts show without a search that they are not.
    return ("{" in text or not text.isprintable()) and _ODD.search(text) is not None


def following_rows(rows: Iterable[int]) -> int:
    """Return how many lines follow one of the same kind: below it, they have no tag."""
    return sum(after - before == 1 for before, after in pairwise(rows))


def told_apart(group: LineGroup, splits: int = _SPLITS) -> list[LineGroup]:
    """Return one group of lines that pays, or several where that is shorter."""
    best, parts = group.saved, list[LineGroup]()
    for column in group.telling() if splits else ():
        split = group.split(column)
        if (saved := sum(max(0, part.saved) for part in split)) > best:
            best, parts = saved, split
    if parts:
        return [found for part in parts for found in told_apart(part, splits - 1)]
    return [group] if len(group.rows) >= LEAST and group.pays else []


class LineGroup:
    """Lines with as many columns of words: which of these are the same, and how many characters that saves."""

    def __init__(
        self, lines: Words, words: Mapping[int, list[str]], rows: list[int], *, in_cells: bool = False
    ) -> None:
        self._lines, self._words, self.rows, self._in_cells = lines, words, rows, in_cells
        self._columns = list(zip(*map(words.__getitem__, rows), strict=True))
        same = again = 0
        differing: set[Words] = set()
        for column in self._columns:
            if column.count(column[0]) == len(column):
                same += len(column[0]) + 1
            elif column in differing:
                again += len("".join(column)) + len(column)
            else:
                same += sum(map(len, _around(column)))
                differing.add(column)
        following = 0 if self._in_cells else following_rows(rows)
        tags = _TAG * (len(rows) - following) + following
        self.saved = same * len(rows) - tags + again - same - _PLACE_PRICE * len(self._columns) - _TAG

    @property
    def pays(self) -> bool:
        """Whether the lines save enough for a reader to look them up."""
        return self.saved >= _PAYS or self.saved + GAP_PRICE * self._gaps[1] >= _PAYS

    def telling(self) -> list[int]:
        """Return the columns whose words may tell kinds of lines apart; that of paths as `~at`."""
        counts = {at: len(set(column)) for at, column in enumerate(self._columns)}
        few = (at for at in counts if 1 < counts[at] <= len(self.rows) // 2)
        paths = [~at for at in counts if counts[at] > len(self.rows) // 2 and "/" in self._columns[at][-1]]
        return sorted(few, key=counts.__getitem__)[:_COLUMNS] + paths[:1]

    def split(self, column: int) -> list[LineGroup]:
        """Return the lines apart by their word in a column, or by its path; those with seldom ones together."""
        keys: Words = self._columns[column if column >= 0 else ~column]
        if column < 0:
            keys = [found[0] for key in keys if (found := _PATH.match(key))]  # which matches nothing too
        counts = Counter(keys)
        parts: dict[str | None, list[int]] = defaultdict(list)
        for row, key in zip(self.rows, keys, strict=True):
            parts[key if counts[key] >= LEAST else None].append(row)
        if len(parts) == 1:
            return []
        return [LineGroup(self._lines, self._words, part, in_cells=self._in_cells) for part in parts.values()]

    def kind(self) -> Kind:
        """Write what the lines share as a template."""
        gaps, wide = self._gaps
        parts = [min((indent_of(self._lines[at]) for at in self.rows), key=len)]
        places: dict[Words, int] = {}
        for column, gap in zip(self._columns, gaps, strict=True):
            if column.count(column[0]) == len(column):
                parts += [column[0], gap]
                continue
            before, after = _around(column)
            inner = tuple(word[len(before) : len(word) - len(after)] for word in column)
            name = str(places[inner]) if inner in places else ""
            places.setdefault(inner, len(places) + 1)
            parts += [before, f"{{{name}}}", after, gap]
        words = map(" ".join, zip(*places, strict=True)) if places else [""] * len(self.rows)
        return Kind("".join(parts), dict(zip(self.rows, words, strict=True)), self.saved + GAP_PRICE * wide)

    @cached_property
    def _gaps(self) -> tuple[list[str], int]:
        """Return the narrowest gap after each column, and how many gaps of all lines are wide."""
        last = len(self._columns) - 1
        text = "\n".join([self._lines[at].strip() for at in self.rows])
        if not last or ("  " not in text and "\t" not in text):  # as most are
            return [*[" "] * last, ""], 0
        gaps = [_GAP.findall(line)[:last] for line in text.split("\n")]
        columns = zip(*gaps, strict=True)
        return [*(min(column, key=len) for column in columns), ""], sum(len(gap) > 1 for line in gaps for gap in line)


def _around(column: Words) -> tuple[str, str]:
    """Return what all words of a column begin and end with, up to a mark that divides words; names stay whole."""
    first, last = column[0], column[-1]
    if _DIVIDING.isdisjoint(first):
        return "", ""
    before = _common(column) if first[0] == last[0] else 0
    turned = [word[: before - 1 if before else None : -1] for word in column] if first[-1] == last[-1] else []
    after = _common(turned) if turned else 0
    # Something must be left of every word.
    if (before or after) and min(map(len, column)) <= before + after:
        return "", ""
    return first[:before], turned[0][:after][::-1] if after else ""


def _common(column: Words) -> int:
    """Return how many characters all words begin with, the last of them a mark that divides words."""
    low, high = min(column), max(column)
    end = len(low)
    while end and (low[:end] != high[:end] or low[end - 1] not in _DIVIDING):
        end -= 1
    return end if end >= _AFFIX or not _ENCLOSING.isdisjoint(low[:end]) else 0
