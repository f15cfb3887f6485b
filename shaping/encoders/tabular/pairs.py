"""Maps that are written as lists of entries: tags, headers, attributes."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST = 24  # different keys from which the entries are better read as rows of their own


class Pairs(NamedTuple):
    """The names of an entry's key and value, and all keys in the order they come."""

    key: str
    value: str
    keys: list[str]


def pairs_of(lists: Sequence[list[dict[str, Any]]], entries: Sequence[dict[str, Any]]) -> Pairs | None:
    """Return how lists are maps, where each has its entries once, in one order, and most have most."""
    if len(lists) < 2 or set(map(len, entries)) != {2}:
        return None
    key, value = entries[0]
    if any(key not in entry or value not in entry or type(entry[key]) is not str for entry in entries):
        return None
    # Most lists have the same keys, so that few orders need a look.
    orders = dict.fromkeys(tuple([entry[key] for entry in each]) for each in (max(lists, key=len), *lists))
    places = {one: at for at, one in enumerate(dict.fromkeys(chain.from_iterable(orders)))}
    if len(places) > _MOST or 2 * len(entries) < len(places) * len(lists):
        return None
    in_order = all(_in_order([places[one] for one in order]) for order in orders)
    return Pairs(key, value, list(places)) if in_order else None


def _in_order(places: list[int]) -> bool:
    return all(one < other for one, other in pairwise(places))
