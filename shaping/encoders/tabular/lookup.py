"""Find records that come back again and again and are named by one of their members."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shaping.encoders.tabular.once import Records

_NEAR, _LESS_NEAR = 20, 6  # characters up to which a member of a record that comes back stays in the row
_NAMES = ("name", "login", "key", "id", "number", "slug", "username", "email", "title", "sha", "uid", "path", "code")
_SINGLE = frozenset({str, int})


class Told(NamedTuple):
    """What is told once: the member that names a record, the long ones told of it, and the records of these."""

    key: str
    far: frozenset[str]
    records: Records


def told_once(rows: Records, *, near: bool) -> Told | None:
    """Return what records that come back have in long members, where that is worth a table of its own."""
    present = [row for row in rows if row]
    names = [key for key in present[0] if key.lower().endswith(_NAMES)]
    if not names or any(_differ(key, present) for key in names):
        return None
    # Copies, because each original holds a kilobyte, and a heap that grows and shrinks costs more than all the rest.
    dumps = [b"%b" % orjson.dumps(row) for row in rows]
    # Only what is as long can be the same, and long records take long to hash; two bytes are an absent one.
    if not _saves(map(len, dumps), {*map(len, dumps)} - {2}, len(rows)):
        return None
    distinct = dict(zip(dumps, rows, strict=True))
    distinct.pop(b"{}", None)
    records = list(distinct.values())
    if (
        len(records) < 2
        or not _saves(map(len, dumps), map(len, distinct), len(rows))
        or (key := _identifier(records)) is None
    ):
        return None
    # Short members stay in the row, beside what they belong to: nobody should have to look those up.
    members = dict.fromkeys(chain.from_iterable(records))
    far = {member for member in members if member != key and _is_long(member, records, near=near)}
    told = [{member: record[member] for member in record if member in far or member == key} for record in records]
    sizes = {record[key]: len(orjson.dumps(record)) for record in told}
    if not far or not _saves([sizes[row[key]] for row in present], sizes.values(), len(rows)):
        return None
    return Told(key, frozenset(far), told)


def _differ(key: str, rows: Records) -> bool:
    """Tell whether a member is a different string or number in every record, so that none comes back."""
    values = [row.get(key) for row in rows]
    return type(values[0]) in _SINGLE and set(map(type, values)) <= _SINGLE and len(set(values)) == len(values)


def _saves(sizes: Iterable[int], distinct: Iterable[int], count: int) -> bool:
    return sum(sizes) - sum(distinct) > max(400, 60 * count)


def _is_long(key: str, records: Records, *, near: bool) -> bool:
    values = [record[key] for record in records if key in record]
    if any(type(value) in (dict, list) for value in values):
        return True
    size = sum([len(value) for value in values if type(value) is str])
    return size > (_NEAR if near else _LESS_NEAR) * len(values)


def _identifier(records: Records) -> str | None:
    """Return the member by which a person would name these records, if every record has it and no two share it."""
    for key in (key for word in _NAMES for key in records[0] if key.lower().endswith(word)):
        values: list[Any] = [record.get(key) for record in records]
        if set(map(type, values)) in ({str}, {int}) and len(set(values)) == len(values):
            return key
    return None
