"""Find what stays the same for several rows in a row, so that it is written once above them."""

from __future__ import annotations

import re
from itertools import accumulate, chain, groupby
from typing import TYPE_CHECKING, NamedTuple

from shaping.encoders.table.cells import KEY, bare
from shaping.encoders.table.dedupe import is_asked_of_a_record
from shaping.encoders.table.derive import legend, pattern
from shaping.encoders.table.model import Group, Leaf

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shaping.encoders.table.model import Node

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

    path: str
    said: list[str]
    rest: list[str] | None
    gain: int  # characters saved in the rows


def in_sections(nodes: Sequence[Node], rows: int, breaks: Sequence[int]) -> tuple[list[Node], list[str]]:
    """Return nodes without what section lines say, and the line above each row, or nothing.

    `breaks` are the rows before which every section ends.
    """
    if rows < _ROWS:
        return list(nodes), []
    candidates = sorted(_candidates(nodes, ""), key=lambda found: -_net([found], rows, breaks))
    chosen: list[_HeadCandidate] = []
    best = _WORTH
    for candidate in candidates:
        if any(candidate.path == other.path for other in chosen):
            continue
        if (net := _net([*chosen, candidate], rows, breaks)) > best:
            best = net
            chosen.append(candidate)
    left = _without(nodes, {candidate.path: candidate for candidate in chosen}, "")
    if not chosen or not any(isinstance(node, Leaf | Group) for node in left):
        return list(nodes), []
    return left, _lines(chosen, rows, breaks)


def _lines(chosen: Sequence[_HeadCandidate], rows: int, breaks: Sequence[int]) -> list[str]:
    """Return what is said above each row: nothing where it is what was said last."""
    ordered = sorted(chosen, key=lambda candidate: candidate.rest is not None)
    said = [",".join(parts) for parts in zip(*(candidate.said for candidate in ordered), strict=True)]
    starts = _starts(said, rows, breaks)
    return [line if at in starts else "" for at, line in enumerate(said)]


def _starts(said: Sequence[str], rows: int, breaks: Sequence[int]) -> set[int]:
    runs = accumulate(sum(1 for _ in same) for _, same in groupby(said))
    return {0, *runs, *breaks} - {rows}


def _net(chosen: Sequence[_HeadCandidate], rows: int, breaks: Sequence[int]) -> int:
    """Return how many characters these columns save as sections."""
    starts = set(chain.from_iterable(_starts(candidate.said, rows, breaks) for candidate in chosen))
    if _RUN * len(starts) > rows:
        return 0
    lines = sum(len(candidate.said[at]) + 1 for candidate in chosen for at in starts) + _LINE * len(starts)
    return sum(candidate.gain for candidate in chosen) - lines - _EXPLAINED


def _candidates(nodes: Sequence[Node], prefix: str) -> Iterator[_HeadCandidate]:
    for node in nodes:
        if type(node) is Group:
            yield from _candidates(node.nodes, f"{prefix}{node.name}.")
        elif type(node) is Leaf and "" not in node.cells and not (node.float32 or node.shared or node.entries):
            if node.strings and not prefix and (found := _headed(node)):
                yield found
            if not is_asked_of_a_record(node.name, prefix, node.cells[0]) and _has_runs(node.cells):
                path = prefix + node.name
                gain = _size(node) + len(node.cells)
                yield _HeadCandidate(path, [f"{path}={cell}" for cell in node.cells], None, gain)


def _has_runs(cells: Sequence[str]) -> bool:
    first = cells[:_LOOK]
    if 2 * sum(map(str.__ne__, first, first[1:])) > len(first):
        return False
    return _RUN * (1 + sum(map(str.__ne__, cells, cells[1:]))) <= len(cells)


def _headed(leaf: Leaf) -> _HeadCandidate | None:
    """Return a column of times, paths or names of tests by day, directory or file."""
    column = leaf.strings or []
    head = _head_of(column, is_key=leaf.name == KEY)
    if head is None:
        return None
    heads = [found[0] if (found := head.match(text)) else "" for text in column]
    if not _has_runs(heads) or not all(map(_LITERAL.fullmatch, set(heads))):
        return None
    end = _ending(column) if _DATE.match(column[0]) else ""
    tails = [text[len(start) : len(text) - len(end)] for start, text in zip(heads, column, strict=True)]
    if not all(tails):
        return None
    rest = list(map(bare, tails))
    return _HeadCandidate(
        leaf.name, [f"{leaf.name}={start}{{}}{end}" for start in heads], rest, _size(leaf) - sum(map(len, rest))
    )


def _size(leaf: Leaf) -> int:
    """Return how many characters a column has without sections: what all have in common is written once in any case."""
    if leaf.strings and (around := pattern(leaf.strings)):
        return sum(map(len, around[1]))
    often = frozenset(legend(leaf.cells)) if leaf.strings else frozenset[str]()
    return sum(_TAG if cell in often else len(cell) for cell in leaf.cells)


def _head_of(column: Sequence[str], *, is_key: bool) -> re.Pattern[str] | None:
    """Return what finds the beginning that most of these strings have, and that may be the same in several."""
    heads: list[re.Pattern[str]] = [_DATE, _TEST, _PATH]
    middle = column[len(column) // 2]
    for head in [*heads, _DOTTED] if is_key else heads:
        if head.match(middle) and sum(1 for text in column if head.match(text)) >= _MOSTLY * len(column):
            return head
    return None


def _ending(column: Sequence[str]) -> str:
    """Return the zone that all times have."""
    zones = {found[0] for text in column if (found := _ZONE.search(text))}
    return zones.pop() if len(zones) == 1 else ""


def _without(nodes: Sequence[Node], chosen: dict[str, _HeadCandidate], prefix: str) -> list[Node]:
    found: list[Node] = []
    for node in nodes:
        if type(node) is Group:
            found.append(Group(node.name, _without(node.nodes, chosen, f"{prefix}{node.name}.")))
        elif type(node) is not Leaf or (candidate := chosen.get(prefix + node.name)) is None:
            found.append(node)
        elif candidate.rest is not None:
            found.append(Leaf(node.name, candidate.rest))
    return found
