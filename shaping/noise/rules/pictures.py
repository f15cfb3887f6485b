"""Of one picture in several sizes the largest stays."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection
from typing import Any

from shaping.noise.records import NoiseRule, Records
from shaping.noise.vocabulary import PICTURE_SIZE, PICTURE_TARGET, SIZE_NAMES, meaning

_NUMBER = re.compile(r"\d+")
_SIZES, _PIXELS = 3, 16  # links that a number alone tells apart, and the least number, from which it is a size
_WIDER = 2  # times the smallest size is the largest; years are closer to each other
_SAME = 0.05  # of the ratio of width and height is what sizes of one picture may differ by


def pictures(records: Records) -> None:
    """Leave one size of each picture."""
    for key in records.untouched("nested"):
        if meaning(key).pictures:
            records.replace_column(key, list(map(_largest, records.column(key))), "links")
    by_name = defaultdict[str, dict[int, str]](dict)
    for key in records.untouched("link"):
        if meaning(key).pictures and (number := _NUMBER.search(key)):
            by_name[_NUMBER.sub("", key)][int(number[0])] = key
    for sizes in by_name.values():
        if len(sizes) < _SIZES or min(sizes) < _PIXELS or max(sizes) < _WIDER * min(sizes):
            continue
        if all(map(_differ_in_numbers, zip(*map(records.column, sizes.values()), strict=True))):
            # The largest of those that most records have.
            kept = max(sizes, key=lambda size: (len(records.present(sizes[size])), size))
            records.drop.update({key: "links" for size, key in sizes.items() if size != kept})


def _differ_in_numbers(links: Collection[Any]) -> bool:
    """Whether the links of a record are those to one picture, but for their numbers."""
    return len({_NUMBER.sub("", link) for link in links if type(link) is str and link}) <= 1


def _largest(value: Any) -> Any:
    """Return a collection of one picture's sizes with the largest of them; anything else as it is."""
    if type(value) is list and _are_sizes(value):
        return [max(value, key=_width)]
    if type(value) is dict and (_are_named_sizes(value) or _are_sizes(value.values())):
        name = max(value, key=lambda size: _width(value[size]))
        return {name: value[name]}
    return value


def _are_named_sizes(value: dict[str, Any]) -> bool:
    return len(value) > 1 and SIZE_NAMES.issuperset(value) and all(map(_is_picture, value.values()))


def _are_sizes(values: Collection[Any]) -> bool:
    """Whether these are links to pictures of different widths and one form."""
    if len(values) < 2 or not all(map(_is_picture, values)):
        return False
    widths = [_width(value) for value in values]
    ratios = [_width(value) / height for value in values if (height := _size(value, "height", "h"))]
    same_form = not ratios or max(ratios) - min(ratios) <= _SAME * max(ratios)
    return len(set(widths)) == len(widths) and same_form


def _is_picture(value: Any) -> bool:
    return type(value) is dict and not PICTURE_TARGET.isdisjoint(value) and _width(value) > 0


def _width(value: dict[str, Any]) -> float:
    return _size(value, *PICTURE_SIZE)


def _size(value: dict[str, Any], *names: str) -> float:
    for name in names:
        size = value.get(name)
        if isinstance(size, int | float) and size > 0:
            return size
    return 0


RULE = NoiseRule("links", frozenset({"nested", "link"}), pictures, lambda key: meaning(key).pictures)
