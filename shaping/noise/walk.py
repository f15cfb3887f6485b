"""Apply the rules to a payload: every place once, all records at it together."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from shaping.noise.batch import MISSING, Batch
from shaping.noise.boilerplate import boilerplate, may_be_wrapped, unwrap
from shaping.noise.bulk import bulk
from shaping.noise.encoded import encoded
from shaping.noise.hypermedia import hypermedia
from shaping.noise.links import links
from shaping.noise.names import REMEMBERED
from shaping.noise.opaque import opaque
from shaping.noise.passing import passing
from shaping.noise.places import Place, joined, picked, spread, written
from shaping.noise.rebuild import rebuilt
from shaping.noise.renderings import renderings
from shaping.noise.single import members_inside
from shaping.noise.text import reduce_text
from shaping.parsers import parse_within
from shaping.response import Omission

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from shaping.noise.places import Trail
    from shaping.response import Json, Reason

_HOLDERS = (dict, list, str)
_NESTS = frozenset({dict, list})
_DEEP = 200  # deeper than any tool's answer; what lies below is passed on as it is

# In this order: what a link says is settled before anything asks whether a record is still identified.
_RULES: dict[str, tuple[Callable[[Batch], None], ...]] = {
    "links": (hypermedia, links),
    "opaque": (opaque, encoded),
    "bulk": (bulk, passing),
    "boilerplate": (renderings, boilerplate),
}


@dataclass(slots=True)
class _Walk:
    rules: list[Callable[[Batch], None]]
    arguments: frozenset[str]
    strings: bool
    left_out: list[Omission] = field(default_factory=list)

    def values(self, values: Sequence[Any], kinds: set[type], trail: Trail, depth: int, place: Place) -> Sequence[Any]:
        """Return values of these types at one place without noise; the same object where nothing changed."""
        if depth > _DEEP or kinds.isdisjoint(_HOLDERS):
            return values
        if len(kinds) == 1:
            return self._step(kinds.pop())(values, trail, depth, place)
        out = list(values)
        changed = False
        for kind in _HOLDERS:
            if kind not in kinds:
                continue
            places = [index for index, value in enumerate(values) if type(value) is kind]
            old = [values[index] for index in places]
            new = self._step(kind)(old, trail, depth, place._replace(owners=picked(place.owners, places)))
            if new is not old:
                changed = True
                for index, value in zip(places, new, strict=True):
                    out[index] = value
        return out if changed else values

    def _step(self, kind: type) -> Callable[[Sequence[Any], Trail, int, Place], Sequence[Any]]:
        return self.records if kind is dict else self._lists if kind is list else self._strings

    def records(self, rows: Sequence[Any], trail: Trail, depth: int, place: Place) -> Sequence[Any]:
        """Apply every rule to the records of one place, then go into what is left of them."""
        if len(rows) == 1 and (inside := members_inside(rows[0])) is not None:
            record = self._record(rows[0], inside, trail, depth, place)
            return rows if record is rows[0] else [record]
        batch = Batch(rows, place.listed, place.nested, self.arguments, place.around, place.owners)
        batch.sort()
        if batch.inside or not batch.is_quiet():
            for rule in self.rules:
                rule(batch)
        for key in batch.inside if depth < _DEEP else ():
            if key not in batch.drop:
                self._go_inside(batch, key, trail, depth)
        if not batch.drop and not batch.replace:
            return rows
        self._note(batch, trail)
        return rebuilt(batch)

    def _go_inside(self, batch: Batch, key: str, trail: Trail, depth: int) -> None:
        present = batch.present(key)
        kinds = set(map(type, present))
        if not kinds <= _NESTS:
            present = [value for value in present if type(value) in _NESTS]
        place = Place(batch.listed, batch.nested or batch.page, batch.company(key), lambda: _owners(batch, key))
        if kinds == {dict}:  # what most are takes the straight way: deep answers would use up the stack
            new = self.records(present, (trail, key), depth + 1, place)
        else:
            new = self.values(present, kinds & _NESTS, (trail, key), depth + 1, place)
        if new is not present:
            batch.replace[key] = _refilled(batch.column(key), new)

    def _record(
        self, row: dict[str, Json], inside: list[str], trail: Trail, depth: int, place: Place
    ) -> dict[str, Json]:
        """Go into the only record of a place, which no rule has anything to take from."""
        if not inside or depth == _DEEP:
            return row
        out = row
        inner = Place(place.listed, place.nested, place.around + len(row) - 1, lambda: [row])
        for key in inside:
            old: Any = row[key]
            if type(old) is list:
                (new,) = self._lists([old], (trail, key), depth + 1, inner)
            elif (below := members_inside(old)) is not None:
                new = self._record(old, below, (trail, key), depth + 1, inner)
            else:
                (new,) = self.records([old], (trail, key), depth + 1, inner)
            if new is not old:
                out = row.copy() if out is row else out
                out[key] = new
                if not new:  # a record that held nothing but noise goes with it
                    del out[key]
        return out

    def _lists(self, values: Sequence[Any], trail: Trail, depth: int, place: Place) -> Sequence[Any]:
        items = list(chain.from_iterable(values))
        kinds = set(map(type, items))
        if kinds.isdisjoint(_HOLDERS):
            return values
        inner = Place(True, place.nested, 0, spread(place.owners, values))
        new = self.values(items, kinds, (trail, None), depth + 1, inner)
        if new is items:
            return values
        out, start = [], 0
        for value in values:
            out.append(list(new[start : start + len(value)]))
            start += len(value)
        return out

    def _strings(self, values: Sequence[Any], trail: Trail, _depth: int, _place: Place) -> Sequence[Any]:
        if not self.strings or (wrapped := may_be_wrapped(values)) is None:
            return values
        out = [unwrap(value) if may else value for value, may in zip(values, wrapped, strict=True)]
        count = sum(1 for old, new in zip(values, out, strict=True) if old != new)
        if not count:
            return values
        self.left_out.append(Omission(written(trail), count, "boilerplate"))
        return out

    def _note(self, batch: Batch, trail: Trail) -> None:
        """Count what was left out; the shaper prices it where somebody asks."""
        rows, drop = batch.rows, batch.drop
        counts = (len(rows),) * len(drop) if batch.uniform else _counts(rows, drop)
        write = _dropped if len(drop) <= REMEMBERED else _dropped.__wrapped__
        self.left_out += write(trail, tuple(drop), tuple(drop.values()), counts)
        if batch.cut:
            path = written(trail)
            self.left_out += [Omission(joined(path, key), count, reason) for key, (count, reason) in batch.cut.items()]


@lru_cache(maxsize=256)
def _dropped(
    trail: Trail, keys: tuple[str, ...], reasons: tuple[Reason, ...], counts: tuple[int, ...]
) -> tuple[Omission, ...]:
    """Write what the records of a place are without; a tool leaves out the same in every call."""
    path = written(trail)
    found = zip(keys, counts, reasons, strict=True)
    return tuple(Omission(joined(path, key), count, reason) for key, count, reason in found)


def reduce(
    value: Json, rules: Collection[str], *, arguments: frozenset[str] = frozenset()
) -> tuple[Json, list[Omission]]:
    """Return a payload without its noise, and what was left out; the same object where there was none."""
    if type(value) is str:
        return _reduce_string(value, rules, arguments)
    chosen = [step for name, steps in _RULES.items() if name in rules for step in steps]
    if not chosen:
        return value, []
    walk = _Walk(chosen, arguments, "boilerplate" in rules)
    (reduced,) = walk.values([value], {type(value)}, None, 0, Place())
    return reduced, walk.left_out


def _reduce_string(text: str, rules: Collection[str], arguments: frozenset[str]) -> tuple[Json, list[Omission]]:
    """Return a text without noise; data with a sentence around it is written as data is."""
    found = parse_within(text) if rules else None
    if found is None:
        return reduce_text(text, rules, arguments=arguments)
    from shaping.encoders import encode  # noqa: PLC0415 (few texts are mostly data)

    value, omissions = reduce(found.value, rules, arguments=arguments)
    written = encode(value, repeats="repeats" in rules, constants="constants" in rules).text
    whole = found.before + written + found.after
    if len(whole) >= len(text):
        return text, []
    # Only the whole can be asked back: a text has no members to name.
    counts = {omission.reason: 0 for omission in omissions} or {"boilerplate": 1}
    for omission in omissions:
        counts[omission.reason] += omission.count
    return whole, [Omission("", count, reason) for reason, count in counts.items()]


def _refilled(column: list[Any], new: Sequence[Any]) -> list[Any]:
    """Put what became of records and lists into their column; one that held nothing but noise goes with it."""
    fresh = iter(new)
    return [(next(fresh) or MISSING) if type(value) in _NESTS else value for value in column]


def _counts(rows: Sequence[Any], keys: Collection[str]) -> tuple[int, ...]:
    """Count the records that have each of these members."""
    return tuple([sum([key in row for row in rows]) for key in keys])


def _owners(batch: Batch, key: str) -> list[dict[str, Json]]:
    return [row for row, value in zip(batch.rows, batch.column(key), strict=True) if type(value) in _NESTS]
