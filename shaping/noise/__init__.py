"""Noise of payloads that nobody wrote a config for: every path is visited once, all records at it together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, TypeAlias

from shaping.encoders import encode
from shaping.noise.records import MISSING, USUAL, NoiseRule, Owners, Records, Surroundings
from shaping.noise.rules import RULES
from shaping.noise.text import reduce_text
from shaping.noise.unwrap import may_be_wrapped, unwrap
from shaping.parsers import Parsed, head_of, is_cheaper, parse_tables, parse_within
from shaping.parsers.sections import is_diff
from shaping.parsers.snapshot import is_tree
from shaping.paths import join
from shaping.response import Json, Omission, Reason

__all__ = ["NoiseRule", "reduce", "reduce_text"]

# The way to a value, last step first: a member's name, or None for the elements of a list. Most are never written out.
Steps: TypeAlias = "tuple[Steps, str | None] | None"

_HOLDERS = (dict, list, str)
_NESTS = frozenset({dict, list})
_DEEP = 200  # deeper than any tool's answer; what lies below is passed on as it is


def reduce(
    value: Json,
    groups: Collection[str],
    *,
    arguments: frozenset[str] = frozenset(),
    rules: Sequence[NoiseRule] = RULES,
    parses: bool = True,
) -> tuple[Json, list[Omission]]:
    """Return a payload without its noise, and what was left out; the same object where there was none.

    A text that holds data is written as data is, unless nothing `parses` it.
    """
    if type(value) is str:
        reduce_string = _reduce_string if parses else reduce_text
        return reduce_string(value, groups, arguments=arguments)
    chosen = tuple(rule for rule in rules if rule.group in groups)
    if not chosen:
        return value, []
    reduction = _Reduction(chosen, arguments, strings="boilerplate" in groups)
    (reduced,) = reduction.values([value], {type(value)}, None, 0, Surroundings())
    return reduced, reduction.left_out


class _Reduction:
    """One payload on its way through the rules, and what they have left out of it so far."""

    def __init__(self, rules: tuple[NoiseRule, ...], arguments: frozenset[str], *, strings: bool) -> None:
        self._rules = rules
        self._arguments = arguments
        self._unwrap_strings = strings
        self.left_out: list[Omission] = []

    def values(
        self, values: Sequence[Any], types: set[type], steps: Steps, depth: int, around: Surroundings
    ) -> Sequence[Any]:
        """Return values of these types at one path without noise; the same object where nothing changed."""
        if depth > _DEEP or types.isdisjoint(_HOLDERS):
            return values
        if len(types) == 1:
            return self._method(types.pop())(values, steps, depth, around)
        out = list(values)
        changed = False
        for kind in _HOLDERS:
            if kind not in types:
                continue
            indices = [index for index, value in enumerate(values) if type(value) is kind]
            old = [values[index] for index in indices]
            new = self._method(kind)(old, steps, depth, around._replace(owners=_owners_at(around.owners, indices)))
            if new is not old:
                changed = True
                for index, value in zip(indices, new, strict=True):
                    out[index] = value
        return out if changed else values

    def _method(self, kind: type) -> Callable[[Sequence[Any], Steps, int, Surroundings], Sequence[Any]]:
        return self._many_records if kind is dict else self._lists if kind is list else self._strings

    def _many_records(self, rows: Sequence[Any], steps: Steps, depth: int, around: Surroundings) -> Sequence[Any]:
        """Apply every rule to the records of one path, then go into what is left of them."""
        records = Records(rows, around, self._arguments, self._rules)
        for rule in records.layout.rules:
            if len(rows) >= rule.least:
                rule.apply(records)
        for key in records.members("nested") if depth < _DEEP else ():
            if key not in records.drop:
                self._go_inside(records, key, (steps, key), depth + 1)
        if not records.drop and not records.replace:
            return rows
        self._note(records, steps)
        return records.result()

    def _go_inside(self, records: Records, key: str, steps: Steps, depth: int) -> None:
        present = records.present(key)
        types = set(map(type, present))
        if not types <= _NESTS:
            present = [value for value in present if type(value) in _NESTS]
        owners = lambda: _owners_of(records, key)  # noqa: E731 (a def for each of hundreds of members costs more)
        around = Surroundings(records.listed, records.nested or records.page, records.other_members(key), owners)
        if types == {dict}:  # what most are takes the straight way: deep answers would use up the stack
            new = self._many_records(present, steps, depth, around)
        else:
            new = self.values(present, types & _NESTS, steps, depth, around)
        if new is not present:
            records.replace[key] = _refilled(records.column(key), new)

    def _lists(self, values: Sequence[Any], steps: Steps, depth: int, around: Surroundings) -> Sequence[Any]:
        items = list(chain.from_iterable(values))
        types = set(map(type, items))
        if types.isdisjoint(_HOLDERS):
            return values
        inner = Surroundings(True, around.nested, 0, _owners_of_items(around.owners, values))
        new = self.values(items, types, (steps, None), depth + 1, inner)
        if new is items:
            return values
        out, start = [], 0
        for value in values:
            out.append(list(new[start : start + len(value)]))
            start += len(value)
        return out

    def _strings(self, values: Sequence[Any], steps: Steps, _depth: int, _around: Surroundings) -> Sequence[Any]:
        if not self._unwrap_strings or not may_be_wrapped(values):
            return values
        out = list(map(unwrap, values))
        count = sum(1 for old, new in zip(values, out, strict=True) if old != new)
        if not count:
            return values
        self.left_out.append(Omission(_path(steps), count, "boilerplate"))
        return out

    def _note(self, records: Records, steps: Steps) -> None:
        """Count what was left out; the shaper prices it where somebody asks."""
        rows, drop = records.rows, records.drop
        if drop:
            counts = [len(rows)] * len(drop) if records.uniform else [sum(key in row for row in rows) for key in drop]
            paths = (_paths if len(drop) <= USUAL else _paths.__wrapped__)(steps, tuple(drop))
            # Made afresh, as callers may change them.
            self.left_out += map(Omission, paths, counts, drop.values())
        for key, (lost, reason) in records.changed.items():
            for name, count in lost.items():
                where = join(_path(steps), key)
                path = where if name is None else join(where, name) if isinstance(name, str) else f"{where}{name}"
                self.left_out.append(Omission(path, count, reason))


@lru_cache(maxsize=1024)
def _paths(steps: Steps, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths of members; those that are dropped are mostly the same in the next answer of a tool."""
    path = _path(steps)
    return tuple(join(path, key) for key in keys)


def _path(steps: Steps) -> str:
    """Write the way to a value in the path language."""
    names = []
    while steps is not None:
        steps, step = steps
        names.append(step)
    path = ""
    for name in reversed(names):
        path = f"{path}[]" if name is None else join(path, name)
    return path


def _reduce_string(text: str, groups: Collection[str], *, arguments: frozenset[str]) -> tuple[Json, list[Omission]]:
    """Return a text without noise; a text that holds data is written as data is, where that is worth it."""
    if not groups or is_diff(text) or is_tree(head_of(text)):
        return reduce_text(text, groups, arguments=arguments)
    found = parse_within(text)
    if found is not None and (written := _with_data([found], groups, arguments)):
        return written
    reduced, omissions = reduce_text(text, groups, arguments=arguments)
    tables = parse_tables(reduced) if found is None else []
    if not tables or (written := _with_data(tables, groups, arguments)) is None:
        return reduced, omissions
    return written[0], [*omissions, *(omission for omission in written[1] if omission not in omissions)]


def _with_data(
    parts: Sequence[Parsed], groups: Collection[str], arguments: frozenset[str]
) -> tuple[str, list[Omission]] | None:
    """Write the data of a text as data is written, where that is cheaper, and the text around it as it is."""
    written: list[str] = []
    counts: dict[Reason, int] = {}
    for part in parts:
        value, omissions = reduce(part.value, groups, arguments=arguments)
        text = encode(value, repeats="repeats" in groups, constants="constants" in groups).text
        is_data = is_cheaper(part, text)
        for omission in omissions if is_data else ():
            counts[omission.reason] = counts.get(omission.reason, 0) + omission.count
        written += [part.before, text if is_data else part.text, part.after]
    if written[1::3] == [part.text for part in parts]:
        return None
    # Only the whole can be asked back: a text has no members to name.
    # Where all of the data is there, only the layout of the text is gone: nothing that anybody has to be told.
    return "".join(written), [Omission("", number, reason) for reason, number in counts.items()]


def _refilled(column: list[Any], new: Sequence[Any]) -> list[Any]:
    """Put what became of records and lists into their column; one that held nothing but noise goes with it."""
    fresh = iter(new)
    return [(next(fresh) or MISSING) if type(value) in _NESTS else value for value in column]


def _owners_of(records: Records, key: str) -> list[dict[str, Json]]:
    """Return the records whose member is nested, in the order of what it holds."""
    return [row for row, value in zip(records.rows, records.column(key), strict=True) if type(value) in _NESTS]


def _owners_at(owners: Owners | None, indices: list[int]) -> Owners | None:
    if owners is None:
        return None

    def some() -> list[dict[str, Json]]:
        every = owners()
        return [every[index] for index in indices]

    return some


def _owners_of_items(owners: Owners | None, lists: Sequence[list[Any]]) -> Owners | None:
    """Return for every element of a list the owner of the list; few rules ever ask."""
    if owners is None:
        return None
    return lambda: [owner for owner, elements in zip(owners(), lists, strict=True) for _ in elements]
