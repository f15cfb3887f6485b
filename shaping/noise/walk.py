"""Apply the rules to a payload: every place once, all records at it together."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from shaping.noise.batch import MISSING, Batch
from shaping.noise.boilerplate import boilerplate, needs_unwrapping, unwrap
from shaping.noise.bulk import bulk
from shaping.noise.hypermedia import hypermedia
from shaping.noise.links import links
from shaping.noise.opaque import opaque
from shaping.noise.passing import passing
from shaping.noise.text import reduce_text
from shaping.paths import join
from shaping.types import Omission

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from shaping.types import Json, Reason

_DEEP = 200  # deeper than any tool's answer; what lies below is passed on as it is

# In this order: what a link says is settled before anything asks whether a record is still identified.
_RULES: dict[str, tuple[Callable[[Batch], None], ...]] = {
    "links": (hypermedia, links),
    "opaque": (opaque,),
    "bulk": (bulk, passing),
    "boilerplate": (boilerplate,),
}


class Place(NamedTuple):
    """Where values stand: in a list, in a record with a page of its own, in a record with so many other members."""

    listed: bool = False
    nested: bool = False
    around: int = 0
    owners: Sequence[dict[str, Json]] | None = None


@dataclass(slots=True)
class _Walk:
    rules: list[Callable[[Batch], None]]
    arguments: frozenset[str]
    strings: bool
    left_out: dict[tuple[str, Reason], list[int]] = field(default_factory=dict)

    def values(self, values: Sequence[Any], path: str, depth: int, place: Place) -> Sequence[Any]:
        """Return values at one place without noise; the same object where nothing changed."""
        if depth > _DEEP:
            return values
        kinds = set(map(type, values))
        if kinds == {dict}:
            return self.records(values, path, depth, place)
        out = list(values)
        changed = False
        for kind, step in ((dict, self.records), (list, self._lists), (str, self._strings)):
            if kind not in kinds:
                continue
            places = [index for index, value in enumerate(values) if type(value) is kind]
            old = [values[index] for index in places]
            owners = None if place.owners is None else [place.owners[index] for index in places]
            new = step(old, path, depth, place._replace(owners=owners))
            if new is not old:
                changed = True
                for index, value in zip(places, new, strict=True):
                    out[index] = value
        return out if changed else values

    def records(self, rows: Sequence[Any], path: str, depth: int, place: Place) -> Sequence[Any]:
        """Apply every rule to the records of one place, then go into what is left of them."""
        batch = Batch(path, rows, place.listed, place.nested, self.arguments, place.around, place.owners)
        batch.sort()
        for rule in self.rules:
            rule(batch)
        for key in batch.inside:
            if key not in batch.drop:
                self._go_inside(batch, key, depth)
        if not batch.drop and not batch.replace:
            return rows
        self._note(batch)
        return _rebuilt(batch)

    def _go_inside(self, batch: Batch, key: str, depth: int) -> None:
        old = batch.column(key)
        present = [value for value in old if type(value) in (dict, list)]
        owners = [row for row, value in zip(batch.rows, old, strict=True) if type(value) in (dict, list)]
        place = Place(batch.listed, batch.nested or batch.page, batch.company(key), owners)
        new = self.values(present, _joined(batch.path, key), depth + 1, place)
        if new is present:
            return
        fresh = iter(new)
        # A record that held nothing but noise goes with it.
        batch.replace[key] = [(next(fresh) or MISSING) if type(value) in (dict, list) else value for value in old]

    def _lists(self, values: Sequence[Any], path: str, depth: int, place: Place) -> Sequence[Any]:
        items = list(chain.from_iterable(values))
        owners = None
        if place.owners is not None:
            owners = [owner for owner, value in zip(place.owners, values, strict=True) for _ in value]
        new = self.values(items, f"{path}[]", depth + 1, Place(listed=True, nested=place.nested, owners=owners))
        if new is items:
            return values
        out, start = [], 0
        for value in values:
            out.append(list(new[start : start + len(value)]))
            start += len(value)
        return out

    def _strings(self, values: Sequence[Any], path: str, _depth: int, _place: Place) -> Sequence[Any]:
        if not self.strings or not needs_unwrapping("\n".join(values)):
            return values
        out = list(map(unwrap, values))
        count = sum(1 for old, new in zip(values, out, strict=True) if old != new)
        if not count:
            return values
        self.add(path, "boilerplate", count, sum(map(len, values)) - sum(map(len, out)))
        return out

    def _note(self, batch: Batch) -> None:
        """Count what was left out; its size is that of a sample, times the count."""
        rows, first = batch.rows, batch.sample[0]
        for key, reason in batch.drop.items():
            count = len(rows) if batch.uniform else sum(1 for row in rows if key in row)
            example = first[key] if key in first else next(row[key] for row in rows if key in row)
            self.add(_joined(batch.path, key), reason, count, count * _size(example))
        for key, (count, reason) in batch.cut.items():
            pairs = zip(rows, batch.replace[key], strict=True)
            saved = sum(_size(row.get(key)) - _size(new) for row, new in pairs if row.get(key) is not new)
            self.add(_joined(batch.path, key), reason, count, saved)

    def add(self, path: str, reason: Reason, count: int, size: int) -> None:
        """Note that something was left out."""
        noted = self.left_out.setdefault((path, reason), [0, 0])
        noted[0] += count
        noted[1] += size


def reduce(
    value: Json, rules: Collection[str], *, arguments: frozenset[str] = frozenset()
) -> tuple[Json, list[Omission]]:
    """Return a payload without its noise, and what was left out; the same object where there was none."""
    if type(value) is str:
        return reduce_text(value, rules, arguments=arguments)
    chosen = [step for name, steps in _RULES.items() if name in rules for step in steps]
    if not chosen:
        return value, []
    walk = _Walk(chosen, arguments, "boilerplate" in rules)
    (reduced,) = walk.values([value], "", 0, Place())
    # Four characters a token is low for what these rules take, so a price is never overstated.
    omissions = [
        Omission(path, count, reason, max(1, size // 4)) for (path, reason), (count, size) in walk.left_out.items()
    ]
    return reduced, omissions


def _rebuilt(batch: Batch) -> list[dict[str, Json]]:
    drop = batch.drop
    if not drop:
        rows = [row.copy() for row in batch.rows]
    elif batch.uniform and len(kept := [key for key in batch.rows[0] if key not in drop]) > 1:
        pick = itemgetter(*kept)
        rows = [dict(zip(kept, pick(row), strict=True)) for row in batch.rows]
    else:
        rows = [{key: value for key, value in row.items() if key not in drop} for row in batch.rows]
    for key, column in batch.replace.items():
        for row, value in zip(rows, column, strict=True):
            if value is not MISSING:
                row[key] = value
            else:
                row.pop(key, None)
    return rows


def _joined(path: str, key: str) -> str:
    """Write a member's path; most names need no quotes, and there are many."""
    return f"{path}.{key}" if path and key.isidentifier() else join(path, key)


def _size(value: Any) -> int:
    if type(value) is str:
        return len(value) + 3
    if type(value) is dict:
        return sum(len(key) + 3 + _size(item) for key, item in value.items())
    if type(value) is list:
        return sum(map(_size, value))
    return 4
