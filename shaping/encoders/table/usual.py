"""Find columns that are the same in most rows, so that only the exceptions are written, with their names."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from shaping.encoders.table.dedupe import is_asked_of_a_record
from shaping.encoders.table.derive import is_source
from shaping.encoders.table.model import Group, Leaf, Usual

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shaping.encoders.table.model import Node

_ROWS = 8  # from which an exception is told from what is usual
_MOSTLY = 0.75  # of the rows must have the usual cell
_BRACKETS = 9  # characters around the exceptions of a row, with their share of names
_WORTH = 60  # characters that all of it must save
_LOOK = 16  # cells that mostly tell already
_SIDE_BY_SIDE = 12  # columns of one record that are compared with each other


class _Candidate(NamedTuple):
    """A column, what it usually is, and the rows in which it is something else."""

    path: str
    leaf: Leaf
    cell: str
    others: frozenset[int]
    gain: int  # characters saved, but for the brackets of rows with exceptions


def usual(nodes: Sequence[Node], count: int) -> list[Node]:
    """Return nodes with the columns that are mostly the same as what is usual, where that is worth it."""
    if count < _ROWS:
        return list(nodes)
    candidates = sorted(_candidates(nodes, count, ""), key=lambda found: len(found.others))
    rows, saved, best, taken = frozenset[int](), 0, _WORTH, 0
    for number, candidate in enumerate(candidates, 1):
        rows |= candidate.others
        saved += candidate.gain
        if saved - _BRACKETS * len(rows) > best:
            best, taken = saved - _BRACKETS * len(rows), number
    chosen = {candidate.path: candidate for candidate in candidates[:taken]}
    # What another column is usually the same as stays a column itself.
    sources = {candidate.cell[1:-1] for candidate in chosen.values() if candidate.cell[0] == "{"}
    return _with_usual(nodes, {path: found for path, found in chosen.items() if path not in sources}, "")


def _candidates(nodes: Sequence[Node], count: int, prefix: str) -> Iterator[_Candidate]:
    leaves = [node for node in nodes if type(node) is Leaf and _is_plain(node)]
    for leaf in leaves:
        cell, times = _most_common(leaf.cells)
        if times == count or is_asked_of_a_record(leaf.name, prefix, cell):
            continue
        if times < _MOSTLY * count:
            if len(leaves) <= _SIDE_BY_SIDE and (other := _same_as(leaf, leaves, prefix, count)):
                yield _candidate(leaf, f"{{{prefix}{other.name}}}", other.cells, prefix)
            continue
        yield _candidate(leaf, cell, [cell] * count, prefix)
    for node in nodes:
        if type(node) is Group:
            yield from _candidates(node.nodes, count, f"{prefix}{node.name}.")


def _most_common(cells: list[str]) -> tuple[str, int]:
    """Return the most common cell and how often it comes; where the first ones all differ, none is common."""
    first = cells[:_LOOK]
    if 2 * len(set(first)) > len(first):
        return first[0], 1
    return Counter(cells).most_common(1)[0]


def _is_plain(leaf: Leaf) -> bool:
    return not (leaf.float32 or leaf.shared or leaf.entries or leaf.pattern or "" in leaf.cells)


def _same_as(leaf: Leaf, leaves: Sequence[Leaf], prefix: str, count: int) -> Leaf | None:
    """Return the column before this one that has the same cells in most rows, not by chance."""
    for other in leaves:
        if other is leaf:
            return None
        if 2 * sum(map(str.__eq__, leaf.cells[:_LOOK], other.cells)) < min(_LOOK, count):
            continue
        same = sum(map(str.__eq__, leaf.cells, other.cells))
        if same >= _MOSTLY * count and len(set(leaf.cells)) > count // 2 and _may_be_named(prefix + other.name):
            return other
    return None


def _may_be_named(path: str) -> bool:
    return is_source(path) and '"' not in path


def _candidate(leaf: Leaf, cell: str, usual_cells: Sequence[str], prefix: str) -> _Candidate:
    pairs = enumerate(zip(leaf.cells, usual_cells, strict=True))
    others = frozenset(at for at, (one, other) in pairs if one != other)
    size = sum(len(one) + 1 for at, one in enumerate(leaf.cells) if at not in others)
    path = prefix + leaf.name
    return _Candidate(path, leaf, cell, others, size - len(others) * (len(path) + 1) - len(cell))


def _with_usual(nodes: Sequence[Node], chosen: dict[str, _Candidate], prefix: str) -> list[Node]:
    found: list[Node] = []
    for node in nodes:
        if type(node) is Group:
            found.append(Group(node.name, _with_usual(node.nodes, chosen, f"{prefix}{node.name}.")))
        elif type(node) is Leaf and (candidate := chosen.get(prefix + node.name)):
            rows = [one if at in candidate.others else "" for at, one in enumerate(node.cells)]
            found.append(Usual(node.name, candidate.cell, rows))
        else:
            found.append(node)
    return found
