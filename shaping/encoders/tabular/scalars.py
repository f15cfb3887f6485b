"""A column without records or lists: said once, in the rows, or under them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from shaping.encoders.tabular.cells import MISSING, cell, cells, texts
from shaping.encoders.tabular.nodes import Leaf, Text
from shaping.encoders.tabular.once import repeated, said_once, throughout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.encoders.tabular.nodes import Node
    from shaping.encoders.tabular.once import Finder, Spot

_LONG = 100  # a string longer than this stands under its row


def plain(column: list[Any], finder: Finder, spot: Spot) -> Sequence[Node]:
    """Return a column of strings or of nulls alone, as most are, or nothing: no need to look at each type."""
    first = column[0]
    if first is not None and type(first) is not str:
        return ()
    if first == column[-1] and not finder.spread and column.count(first) == len(column):
        return (throughout(cell(first), len(column), finder, spot),)
    try:
        joined = ",".join(column)
    except TypeError:
        return ()
    if len(joined) > _LONG and finder.count > 1 and max(map(len, column)) > _LONG:
        return _with_long(column, finder, spot)
    return (repeated(texts(column, joined), finder, spot),)


def scalars(column: list[Any], kinds: set[type], finder: Finder, spot: Spot) -> Sequence[Node]:
    """Return a column of any scalars."""
    if str in kinds and finder.count > 1 and any(type(value) is str and len(value) > _LONG for value in column):
        return _with_long(column, finder, spot)
    return (said_once(cells(column, kinds), finder, spot),)


def _with_long(column: list[Any], finder: Finder, spot: Spot) -> Sequence[Node]:
    """Return the long strings of a column as text under the rows, and what else it has in them."""
    long = [value if type(value) is str and len(value) > _LONG else None for value in column]
    text = Text(spot.label, finder.full(long, None), finder.repeats)
    rest = [value if said is None else MISSING for said, value in zip(long, column, strict=True)]
    if rest.count(MISSING) == len(rest):
        return (text,)
    return (Leaf(spot.label, finder.full(cells(rest, set(map(type, rest))), "")), text)


def long_lists(node: Node, finder: Finder) -> list[Node]:
    """Return a column of lists with the long ones that come back under their rows, each said once."""
    if type(node) is not Leaf or not finder.repeats:
        return [node]
    counts = Counter(cell for cell in node.cells if len(cell) > _LONG)
    if counts.total() == len(counts):
        return [node]
    long = [cell if counts[cell] > 1 else None for cell in node.cells]
    rest = ["" if said else cell for said, cell in zip(long, node.cells, strict=True)]
    text = Text(node.name, long, as_json=True)
    return [Leaf(node.name, rest), text] if any(rest) else [text]
