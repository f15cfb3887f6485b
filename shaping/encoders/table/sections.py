"""Find what several rows or most of them have, so that it is written once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import NamedTuple

from shaping.encoders.table.cells import KEY, bares
from shaping.encoders.table.derive import is_asked_of_a_record
from shaping.encoders.table.model import Leaf, Node, Usual
from shaping.encoders.table.shorten import legend, pattern

_USUAL_ROWS = 8  # from which an exception is told from what is usual
_MOST_ROWS = 0.75  # of the rows must have the usual cell
_BRACKETS = 9  # characters around the exceptions of a row, with their share of names
_USUAL_WORTH = 60  # characters that all of it must save
_USUAL_LOOK = 16  # cells that mostly tell already


class _Candidate(NamedTuple):
    """A column, what it usually is, and the rows in which it is something else."""

    leaf: Leaf
    cell: str
    others: frozenset[int]
    gain: int  # characters saved, but for the brackets of rows with exceptions

    def as_usual(self) -> Usual:
        rows = [one if at in self.others else "" for at, one in enumerate(self.leaf.cells)]
        return Usual(self.leaf.name, self.cell, rows)


def usual(columns: Sequence[tuple[str, Leaf]], count: int) -> dict[int, list[Node]]:
    """Return the columns that are mostly the same, by their identity, as what is usual, where that is worth it."""
    if count < _USUAL_ROWS:
        return {}
    candidates = sorted(_usual_candidates(columns, count), key=lambda found: len(found.others))
    rows, saved, best, taken = frozenset[int](), 0, _USUAL_WORTH, 0
    for number, candidate in enumerate(candidates, 1):
        rows |= candidate.others
        saved += candidate.gain
        if saved - _BRACKETS * len(rows) > best:
            best, taken = saved - _BRACKETS * len(rows), number
    return {id(found.leaf): [found.as_usual()] for found in candidates[:taken]}


def _usual_candidates(columns: Sequence[tuple[str, Leaf]], count: int) -> Iterator[_Candidate]:
    for path, leaf in columns:
        # Every other cell takes at least one row.
        if len(leaf.distinct) - 1 > (1 - _MOST_ROWS) * count or "" in leaf.distinct or leaf.float32 or leaf.shared:
            continue
        cell, times = _most_common(leaf.cells)
        if _MOST_ROWS * count <= times < count and not is_asked_of_a_record(path, cell):
            others = frozenset(at for at, one in enumerate(leaf.cells) if one != cell)
            gain = (len(cell) + 1) * times - len(others) * (len(path) + 1) - len(cell)
            yield _Candidate(leaf, cell, others, gain)


def _most_common(cells: list[str]) -> tuple[str, int]:
    """Return the most common cell and how often it comes; where the first ones all differ, none is common."""
    first = cells[:_USUAL_LOOK]
    if 2 * len(set(first)) > len(first):
        return first[0], 1
    return Counter(cells).most_common(1)[0]


_ROWS = 8  # from which sections are worth a look
_MOSTLY = 0.7  # of the strings must begin in a way that may be the same in several
_RUN = 3  # rows that a section must have on average
_LINE = 5  # characters of a section's line beside its names and values
_TAG = 3  # characters of a tag for a cell that recurs
_EXPLAINED = 60  # characters that say what the lines are
_WORTH = 80  # characters that all of it must save
_DATE = re.compile(
    r"(?:\d{4}-\d\d-\d\d[T ]|(?:[A-Z][a-z]{2},? )?[A-Z][a-z]{2} [ \d]?\d (?:\d{4} )?)(?=\d\d:\d\d)", re.ASCII
)
_ZONE = re.compile(r"(?:\.0+)?(?: \d{4})?(?:Z| ?[+-]\d\d:?\d\d)?$", re.ASCII)
_TEST = re.compile(r"[^\s:]+?::")
_DOTTED = re.compile(r"(?:[A-Za-z_][\w-]*\.)+(?=[\w-]+$)")
_PATH = re.compile(r"[^\s]*/")
_LOOK = 24  # cells that mostly tell already
_LITERAL = re.compile(r"(?! )[^,{}\[\]=\"\x00-\x1f\x7f]*")


class _HeadCandidate(NamedTuple):
    """A column, what its section lines say of each row, and what stays of its cells, if anything."""

    leaf: Leaf
    said: list[str]
    rest: list[str] | None
    gain: int  # characters saved in the rows
    starts: set[int]  # the rows above which it says something new


def in_sections(
    columns: Sequence[tuple[str, Leaf]], rows: int, breaks: Sequence[int]
) -> tuple[dict[int, list[Node]], list[str]]:
    """Return what is left of the columns of which section lines speak, by their identity, and the line above each row.

    `breaks` are the rows before which every section ends.
    """
    starts = {0, *breaks} - {rows}
    if rows < _ROWS or _RUN * len(starts) > rows:
        return {}, []
    candidates = sorted(_candidates(columns, starts), key=lambda found: -_net([found], rows))
    chosen: list[_HeadCandidate] = []
    best = _WORTH
    for candidate in candidates:
        if any(candidate.leaf is other.leaf for other in chosen):
            continue
        if (net := _net([*chosen, candidate], rows)) > best:
            best = net
            chosen.append(candidate)
        elif not chosen:  # nor will a lesser one be worth it
            break
    # Nothing is said above a row where it is what was said last.
    starts = starts.union(*(candidate.starts for candidate in chosen))
    ordered = sorted(chosen, key=lambda candidate: candidate.rest is not None)
    said = zip(*(candidate.said for candidate in ordered), strict=True)
    lines = [",".join(parts) if at in starts else "" for at, parts in enumerate(said)]
    return {id(one.leaf): [] if one.rest is None else [Leaf(one.leaf.name, one.rest)] for one in chosen}, lines


def _net(chosen: Sequence[_HeadCandidate], rows: int) -> int:
    """Return how many characters these columns save as sections."""
    starts = chosen[0].starts.union(*(candidate.starts for candidate in chosen[1:]))
    if _RUN * len(starts) > rows:
        return 0
    lines = sum(len(candidate.said[at]) + 1 for candidate in chosen for at in starts) + _LINE * len(starts)
    return sum(candidate.gain for candidate in chosen) - lines - _EXPLAINED


def _candidates(columns: Sequence[tuple[str, Leaf]], breaks: set[int]) -> Iterator[_HeadCandidate]:
    for path, leaf in columns:
        if "" in leaf.distinct or leaf.float32 or leaf.shared:
            continue
        if leaf.strings and path == leaf.name and (found := _headed(leaf, breaks)):
            yield found
        is_few = _RUN * len(leaf.distinct) <= len(leaf.cells)
        if is_few and _has_runs(leaf.cells) and not is_asked_of_a_record(path, leaf.cells[0]):
            said = [f"{path}={cell}" for cell in leaf.cells]
            yield _HeadCandidate(leaf, said, None, _size(leaf) + len(leaf.cells), breaks | _changes(leaf.cells))


def _heads(head: re.Pattern[str], column: Sequence[str]) -> list[str]:
    return [found[0] if (found := head.match(text)) else "" for text in column]


def _may_have_runs(cells: Sequence[str]) -> bool:
    first = cells[:_LOOK]
    return 2 * sum(map(str.__ne__, first, first[1:])) <= len(first)


def _changes(cells: Sequence[str]) -> set[int]:
    """Return the rows that differ from the one before."""
    return set(compress(range(1, len(cells)), map(str.__ne__, cells, cells[1:])))


def _has_runs(cells: Sequence[str]) -> bool:
    if not _may_have_runs(cells):
        return False
    return _RUN * (1 + sum(map(str.__ne__, cells, cells[1:]))) <= len(cells)


def _headed(leaf: Leaf, breaks: set[int]) -> _HeadCandidate | None:
    """Return a column of times, paths or names of tests by day, directory or file."""
    column = leaf.strings or []
    head = _head_of(column, is_key=leaf.name == KEY)
    if head is None or not _may_have_runs(_heads(head, column[:_LOOK])):
        return None
    heads = _heads(head, column)
    if sum(map(bool, heads)) < _MOSTLY * len(column):
        return None
    if not _has_runs(heads) or not all(map(_LITERAL.fullmatch, set(heads))):
        return None
    end = _ending(column) if _DATE.match(column[0]) else ""
    tails = [text[len(start) : len(text) - len(end)] for start, text in zip(heads, column, strict=True)]
    if not all(tails):
        return None
    rest = bares(tails)
    said = [f"{leaf.name}={start}{{}}{end}" for start in heads]
    return _HeadCandidate(leaf, said, rest, _size(leaf) - sum(map(len, rest)), breaks | _changes(heads))


def _size(leaf: Leaf) -> int:
    """Return how many characters a column has without sections: what all have in common is written once in any case."""
    if leaf.strings and (around := pattern(leaf.strings)):
        return sum(map(len, around[1]))
    often = frozenset(legend(leaf.cells, leaf.distinct)) if leaf.strings else ()
    return sum(_TAG if cell in often else len(cell) for cell in leaf.cells) if often else sum(map(len, leaf.cells))


def _head_of(column: Sequence[str], *, is_key: bool) -> re.Pattern[str] | None:
    """Return what finds the beginning that these strings may have in common, by one of them."""
    heads: list[re.Pattern[str]] = [_DATE, _TEST, _PATH]
    middle = column[len(column) // 2]
    return next((head for head in ([*heads, _DOTTED] if is_key else heads) if head.match(middle)), None)


def _ending(column: Sequence[str]) -> str:
    """Return the zone that all times have."""
    zones = {found[0] for text in column if (found := _ZONE.search(text))}
    return zones.pop() if len(zones) == 1 else ""
