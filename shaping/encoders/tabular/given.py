"""Sentences that come back by the dozen are told once, by the column that decides them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from shaping.encoders.tabular.nodes import Given, Leaf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.encoders.tabular.nodes import Node

MANY = 24  # rows from which a reader would rather be told the sentences apart
_SENTENCE = 20  # characters from which a cell is worth it
_OFTEN = 8  # times a sentence must come back
_WORTH = 400  # characters that must be saved


def given(nodes: Sequence[Node]) -> list[Node]:
    """Take recurring sentences out of the rows and say by which short cell of the row each is decided."""
    leaves = [node for node in nodes if type(node) is Leaf]
    sizes = {leaf.name: len("".join(leaf.cells)) / len(leaf.cells) for leaf in leaves}
    told = {leaf.name for leaf in leaves if sizes[leaf.name] >= _SENTENCE and _are_few(leaf.cells, 2)}
    if not told:
        return list(nodes)
    short = sorted((leaf for leaf in leaves if sizes[leaf.name] < _SENTENCE), key=lambda leaf: sizes[leaf.name])
    keys = [leaf for leaf in short if _are_few(leaf.cells, _OFTEN)]
    return [
        part
        for node in nodes
        for part in (_decided(node, keys) if type(node) is Leaf and node.name in told else (node,))
    ]


def _are_few(cells: list[str], times: int) -> bool:
    """Tell whether the different cells come so many times on average; mostly the first ones tell already."""
    most = len(cells) // times
    return len(set(cells[: most + 1])) <= most and len(set(cells)) <= most


def _decided(leaf: Leaf, keys: Sequence[Leaf]) -> Sequence[Node]:
    best: dict[str, str] = {}
    name, worth = "", _WORTH
    for key in keys:
        told, saved = _told(key.cells, leaf.cells)
        if saved > worth:
            best, name, worth = told, key.name, saved
    if not best:
        return (leaf,)
    by = next(key.cells for key in keys if key.name == name)
    rest = ["" if one in best else cell for one, cell in zip(by, leaf.cells, strict=True)]
    told_all = Given(leaf.name, name, best)
    return (Leaf(leaf.name, rest), told_all) if any(rest) else (told_all,)


def _told(keys: Sequence[str], cells: Sequence[str]) -> tuple[dict[str, str], int]:
    """Return what each key says in every row it is in, where that is often and long, and the characters saved."""
    # There are at least as many pairs as sentences, and counting those is quicker.
    if len(set(cells)) >= 2 * len(set(keys)):
        return {}, 0
    counts = Counter(keys)
    pairs = dict.fromkeys(zip(keys, cells, strict=True))
    if len(pairs) >= 2 * len(counts):
        return {}, 0
    told = dict(list(pairs))
    for key in [key for key, times in Counter(key for key, _ in pairs).items() if times > 1]:
        del told[key]
    told = {key: said for key, said in told.items() if key and counts[key] >= _OFTEN and len(said) >= _SENTENCE}
    return told, sum(len(said) * (counts[key] - 1) - len(key) for key, said in told.items())
