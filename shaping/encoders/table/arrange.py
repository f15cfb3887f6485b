"""Put a table's columns in the order a reader wants, keep its rows short enough to count, and say once what recurs."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from shaping.encoders.table.cells import BELOW, bares
from shaping.encoders.table.derive import is_asked_of_a_record
from shaping.encoders.table.model import COLUMN, Also, Group, Items, Leaf, Node, Record, Table, Text, Usual, leaves
from shaping.encoders.table.shorten import (
    RECURRING,
    SENTENCE_ROWS,
    SHARED_ROWS,
    endings,
    legend,
    most_common,
    pattern,
    shortened,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from shaping.encoders.table.derive import TableContext

_IDENTIFIERS = ("id", "number", "key", "name", "uid", "uuid", "sha", "slug", "login", "path", "file", "address")
_RANKS = {name: rank for rank, name in enumerate(_IDENTIFIERS)}
_WIDE = 22  # cells of a row that a reader still counts right
_LEFT = 2  # cells that must stay in a row when a nested record leaves it
_GAP = 5  # empty cells side by side that a reader still counts right
_WORTH = 5  # columns that a nested record must have to be worth a line of its own
_COLUMNS = (*COLUMN, Also, Usual)
_IN_ROWS = frozenset({Leaf, Group})
_SELDOM = 0.5  # of the rows: a column that fewer fill comes last


def arranged(nodes: Sequence[Node], context: TableContext, breaks: Sequence[int] | None = None) -> Table:
    """Return a table: the identifying column first, seldom filled ones last, and few enough to count.

    `breaks` are the rows with which another list begins; without them, each row stands alone.
    """
    rows, sections, changed = context.count, list[str](), dict[int, list[Node]]()
    columns = [(path, leaf) for path, leaf in leaves(nodes) if _may_change(leaf, rows)] if rows >= SHARED_ROWS else []
    if columns and context.constants:
        changed = _usual(columns, rows)
    if columns and context.constants and context.repeats and breaks is not None:
        rest = [(path, leaf) for path, leaf in columns if id(leaf) not in changed]
        taken, said = _in_sections(rest, rows, breaks)
        both = {**changed, **taken}
        # A row with nothing left in it helps nobody to count.
        if taken and any(type(new) in _IN_ROWS for node in nodes for new in both.get(id(node), (node,))):
            changed, sections = both, said
    if context.repeats:
        changed |= {id(leaf): shortened(leaf, context) for _, leaf in columns if id(leaf) not in changed}
    return Table(rows, _narrowed(_ordered(nodes, rows, changed)[0]), sections)


def _may_change(leaf: Leaf, rows: int) -> bool:
    """Return whether a column may be written shorter: one whose cells recur, of times, paths or links, or of a log."""
    if leaf.float32 or leaf.shared:
        return False
    if rows >= SENTENCE_ROWS or len(leaf.distinct) <= rows - RECURRING:
        return True
    if not leaf.strings:
        return False
    first, middle = leaf.strings[0], leaf.strings[rows // 2]
    return "/" in first or ":" in first or first[4:5] == "-" or "/" in middle or ":" in middle


def columns_of(nodes: Sequence[Node]) -> list[list[str]]:
    """Return the cells of a table, column by column."""
    found: list[list[str]] = []
    for node in nodes:
        if isinstance(node, COLUMN):
            found.append(node.cells)
        elif type(node) is Group:
            found += columns_of(node.nodes)
    return found


def _ordered(nodes: Sequence[Node], count: int, changed: Mapping[int, Sequence[Node]]) -> tuple[list[Node], int]:
    """Return nodes with the identifying one first, and those last that few rows have, the fullest of them first.

    `changed` has other ones in place of some columns, by their identity. Beside them, how many rows have something in
    the fullest; -1 where no node has cells.
    """
    ordered: list[Node] = []
    filled: list[int] = []
    is_first, rank, first = True, len(_RANKS), None  # the first column stays there where it identifies a row
    for node in nodes:
        if type(node) is Group:
            inner, rows = _ordered(node.nodes, count, changed)
            ordered.append(Group(node.name, inner))
            filled.append(rows)
            is_first = False
            continue
        for new in changed.get(id(node), (node,)):
            ordered.append(new)
            if not isinstance(new, COLUMN):
                filled.append(-1)
                continue
            filled.append(count - new.cells.count(""))
            if type(new) is Leaf and rank >= 0:
                own = -1 if is_first else _RANKS.get(new.name.lower(), rank)
                if own < rank and filled[-1] == count == len(new.distinct):
                    rank, first = own, None if is_first else new
            is_first = False
    # What has no cells stays where it is.
    often, most = _SELDOM * count, max(filled, default=-1)
    last = [often - rows if 0 <= rows < often else 0 for rows in filled]
    if first is None and not any(last):
        return ordered, most
    places = sorted(range(len(ordered)), key=lambda at: (last[at], ordered[at] is not first))
    return [ordered[at] for at in places], most


def _narrowed(nodes: list[Node]) -> list[Node]:
    """Return nodes with wide nested records on lines of their own: those that leave gaps, and all that are too many."""
    sizes = [len(columns_of(node.nodes)) if type(node) is Group else 0 for node in nodes]
    if max(sizes, default=0) < _WORTH:
        return nodes
    total = sum(sizes) + sum(isinstance(node, COLUMN) for node in nodes)
    moved: dict[int, list[Node]] = {}
    for at in sorted(range(len(nodes)), key=lambda at: -sizes[at]):
        node = nodes[at]
        if type(node) is not Group or sizes[at] < _WORTH:
            continue
        present = _present(node)
        if total - sizes[at] < _LEFT and all(present):
            # A row with nothing left in it helps nobody to count.
            moved[at] = [Group(node.name, _narrowed(node.nodes))]
        elif total > _WIDE or (sizes[at] > _GAP and not all(present)):
            moved[at] = _on_its_own_line(node, present)
            total -= sizes[at] - 1
    return [part for at, node in enumerate(nodes) for part in moved.get(at, (node,))]


def _present(group: Group) -> list[bool]:
    """Return for each row whether it has anything in a group; what is usual is in every row."""
    rows = zip(*columns_of(group.nodes), *_also(group), strict=True)
    usual = _has_usual(group)
    return [usual or any(row) for row in rows]


def _has_usual(group: Group) -> bool:
    return any(type(node) is Usual or (type(node) is Group and _has_usual(node)) for node in group.nodes)


def _also(group: Group) -> list[list[str]]:
    return [
        rows
        for node in group.nodes
        for rows in ([node.rows] if type(node) is Also else _also(node) if type(node) is Group else ())
    ]


def _on_its_own_line(group: Group, present: list[bool]) -> list[Node]:
    """Return a nested record of each row as rows of a table of its own; what holds for all stays said of the row."""
    inside = [_picked(node, present) for node in group.nodes if _has_cells(node)]
    outside = _without_cells(group)
    marks = [BELOW if there else "" for there in present]
    record = Record(group.name, marks, Table(sum(present), _narrowed(inside)))
    return [record, outside] if outside.nodes else [record]


def _has_cells(node: Node) -> bool:
    return isinstance(node, _COLUMNS) or (type(node) is Group and any(map(_has_cells, node.nodes)))


def _without_cells(group: Group) -> Group:
    inner = [_without_cells(node) if type(node) is Group else node for node in group.nodes]
    kept: list[Node] = [
        node for node in inner if not isinstance(node, _COLUMNS) and not (type(node) is Group and not node.nodes)
    ]
    return Group(group.name, kept)


def _picked(node: Node, rows: list[bool]) -> Node:
    """Return a column of only some rows: the others have nothing in it."""
    if type(node) is Group:
        return Group(node.name, [_picked(inner, rows) for inner in node.nodes if _has_cells(inner)])
    if isinstance(node, Also | Usual):
        return replace(node, rows=list(compress(node.rows, rows)))
    if not isinstance(node, COLUMN):
        return node
    cells = list(compress(node.cells, rows))
    if type(node) is Text:
        return replace(node, cells=cells, values=list(compress(node.values, rows)))
    if type(node) is Items:
        return replace(node, cells=cells, counts=list(compress(node.counts, rows)))
    return replace(node, cells=cells)


# What several rows or most of them have is written once.
_USUAL_ROWS = 8  # from which an exception is told from what is usual
_MOST_ROWS = 0.75  # of the rows must have the usual cell
_BRACKETS = 9  # characters around the exceptions of a row, with their share of names
_USUAL_WORTH = 60  # characters that all of it must save


class _Candidate(NamedTuple):
    """A column, what it usually is, and the rows in which it is something else."""

    leaf: Leaf
    cell: str
    others: frozenset[int]
    gain: int  # characters saved, but for the brackets of rows with exceptions

    def as_usual(self) -> Usual:
        rows = [one if at in self.others else "" for at, one in enumerate(self.leaf.cells)]
        return Usual(self.leaf.name, self.cell, rows)


def _usual(columns: Sequence[tuple[str, Leaf]], count: int) -> dict[int, list[Node]]:
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
        if not 1 < len(leaf.distinct) <= (1 - _MOST_ROWS) * count + 1:
            continue
        if "" in leaf.distinct:
            continue
        cell, times = most_common(leaf.cells)
        gain = (len(cell) + 1) * times - (count - times) * (len(path) + 1) - len(cell)
        if _MOST_ROWS * count <= times and gain > 0 and not is_asked_of_a_record(path, cell):
            others = compress(range(count), map(cell.__ne__, leaf.cells))
            yield _Candidate(leaf, cell, frozenset(others), gain)


_ROWS = 8  # from which sections are worth a look
_MOSTLY = 0.7  # of the strings must begin in a way that may be the same in several
_RUN = 3  # rows that a section must have on average
_LINE = 5  # characters of a section's line beside its names and values
_TAG = 3  # characters of a tag for a cell that recurs
_EXPLAINED = 60  # characters that say what the lines are
_SECTIONS_WORTH = 80  # characters that all of it must save
_DATE = re.compile(
    r"(?:\d{4}-\d\d-\d\d[T ]|(?:[A-Z][a-z]{2},? )?[A-Z][a-z]{2} [ \d]?\d (?:\d{4} )?)(?=\d\d:\d\d)", re.ASCII
)
_AFTER = r"(?:Z| ?[+-]\d\d:?\d\d)?$"
_ZONE = re.compile(
    rf"\.0+(?: \d{{4}})?{_AFTER}| \d{{4}}{_AFTER}| [+-]\d\d:?\d\d$|Z$|\+\d\d:?\d\d$|-\d\d:?\d\d$", re.ASCII
)
_TEST = re.compile(r"[^\s:]+?::")
_PATH = re.compile(r"[^\s]*/")
_HEADS = (_DATE, _TEST, _PATH)
_LOOK = 24  # cells that mostly tell already
_LITERAL = re.compile(r"(?! )[^,{}\[\]=\"\x00-\x1f\x7f]*")


class _HeadCandidate(NamedTuple):
    """A column, what its section lines say of each row, and what stays of its cells, if anything."""

    leaf: Leaf
    said: list[str]
    rest: list[str] | None
    gain: int  # characters saved in the rows
    starts: set[int]  # the rows above which it says something new


def _in_sections(
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
    best = _SECTIONS_WORTH
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
        if "" in leaf.distinct:
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
    head = _head_of(column)
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


def _head_of(column: Sequence[str]) -> re.Pattern[str] | None:
    """Return what finds the beginning that these strings may have in common, by one of them."""
    middle = column[len(column) // 2]
    if "/" not in middle and ":" not in middle:
        return None
    return next((head for head in _HEADS if head.match(middle)), None)


def _ending(column: Sequence[str]) -> str:
    """Return the zone that all times have."""
    zones = set(endings(_ZONE, column, 0))
    return zones.pop() if len(zones) == 1 else ""
