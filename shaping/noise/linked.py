"""Linked data: a number on some site for what a record says in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shaping.noise.batch import Batch
    from shaping.response import Json

_AFTER = re.compile(r"_ur[il]$|(?<=[a-z])Ur[il]$", re.IGNORECASE)
_NUMBER = re.compile(r"/\d+/?$")
_ENOUGH = 3  # rows from which it is no accident that all of them end in a number
_LONGEST = 300  # characters in which a link names its host


def host_of(link: Json) -> str:
    """Return the host of a link, or nothing where there is none."""
    return link.split("/", 3)[2] if type(link) is str and link.count("/", 0, _LONGEST) > 1 else ""


def numbers_a_member(key: str, batch: Batch) -> bool:
    """Tell whether a link only numbers what another member says, as more than one does in its record."""
    if key in batch.arguments or not _is_called_after_one(key, batch) or not _all_numbers(key, batch):
        return False
    first = batch.sample[0]
    site = host_of(first.get(key))
    return sum(host_of(first.get(name)) == site for name in batch.links if _is_called_after_one(name, batch)) > 1


def _is_called_after_one(key: str, batch: Batch) -> bool:
    return bool(_AFTER.search(key)) and _AFTER.sub("", key) in batch.plain


def _all_numbers(key: str, batch: Batch) -> bool:
    beside = _AFTER.sub("", key)
    rows = [row for row in batch.rows if row.get(key)]
    return len(rows) >= _ENOUGH and all(type(row.get(beside)) is str and _NUMBER.search(str(row[key])) for row in rows)
