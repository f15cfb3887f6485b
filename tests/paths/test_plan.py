from __future__ import annotations

import copy
import sys
import threading
from collections import Counter, OrderedDict
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings, strategies as st
from pydantic import BaseModel

from shaping.paths import PathError, compile_fields
from shaping.paths.grammar import Deep, Each, Name, Path, Step, join, parse
from shaping.paths.machine import MOST_NAMES, MOST_NODES, MOST_ROWS
from shaping.paths.rules import settle
from shaping.types import Omission

KEYS = ["a", "b", "c", "a_url", "b_url", "1", "odd.key"]

scalars = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "x"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)
steps = st.sampled_from(["a", "b", "c", "*", "**", "*_url", "a*", '"odd.key"', '"1"'])
paths = st.lists(st.tuples(steps, st.sampled_from(["", "", "[]"])), min_size=1, max_size=3).map(
    lambda parts: ".".join(step + brackets for step, brackets in parts)
)
members = paths.filter(lambda path: any(step not in {"**", "**[]"} for step in path.split(".")))
plans = st.fixed_dictionaries(
    {
        "include": st.none() | st.lists(paths, max_size=3),
        "exclude": st.lists(members, max_size=3),
        "rename": st.dictionaries(members, st.sampled_from(["a", "b", "z"]), max_size=2),
    }
)


def fits(steps: tuple[Step, ...], keys: tuple[str, ...]) -> bool:
    """The meaning of a path, said once more and slowly: whether it names exactly this row of keys."""
    if not steps:
        return not keys
    head, tail = steps[0], steps[1:]
    if isinstance(head, Deep):
        return fits(tail, keys) or (bool(keys) and fits(steps, keys[1:]))
    if isinstance(head, Each):
        return fits(tail, keys)
    assert not isinstance(head, Path)
    return bool(keys) and str_fits(head, keys[0]) and fits(tail, keys[1:])


def str_fits(step: Any, key: str) -> bool:
    if isinstance(step, Name):
        return step.key == key
    import fnmatch

    return fnmatch.fnmatchcase(key, step.pattern)


def leads_below(steps: tuple[Step, ...], keys: tuple[str, ...]) -> bool:
    """Whether a path may name something below this row of keys."""
    rest = tuple(step for step in steps if not isinstance(step, Each))
    if not rest or isinstance(rest[0], Deep):
        return bool(rest)
    return not keys or (str_fits(rest[0], keys[0]) and leads_below(rest[1:], keys[1:]))


class Oracle:
    """The filter by its definition: every member is judged by its whole row of keys."""

    def __init__(self, include: list[str] | None, exclude: list[str], rename: dict[str, str]) -> None:
        def read(path: str) -> tuple[Step, ...]:
            steps = [step for step in parse(path).steps if not isinstance(step, Each)]
            while steps and isinstance(steps[-1], Deep):
                steps.pop()
            return tuple(steps)

        self.include = None if include is None else [read(path) for path in include]
        self.exclude = [read(path) for path in exclude]
        self.rename = [(read(path), name) for path, name in rename.items()]
        self.gone: Counter[str] = Counter()

    def wanted(self, keys: tuple[str, ...]) -> bool:
        starts = [keys[:size] for size in range(len(keys) + 1)]
        return self.include is None or any(fits(path, start) for path in self.include for start in starts)

    def run(self, value: Any, keys: tuple[str, ...] = (), place: str = "") -> Any:
        if isinstance(value, list):
            kept = [self.run(item, keys, f"{place}[]") for item in value]
            return [item for item in kept if item is not Ellipsis]
        if not isinstance(value, dict):
            if self.wanted(keys) or not place:
                return value
            self.gone[place] += 1
            return Ellipsis
        names = settle([(key, self.name((*keys, key))) for key in value if self.keeps((*keys, key))])
        result = {}
        for key, item in value.items():
            below = join(place, key)
            if key not in names:
                self.gone[below] += 1
            elif (kept := self.run(item, (*keys, key), below)) is not Ellipsis:
                result[names[key]] = kept
        return result

    def keeps(self, keys: tuple[str, ...]) -> bool:
        if any(fits(path, keys) for path in self.exclude):
            return False
        return self.wanted(keys) or any(leads_below(path, keys) for path in self.include or ())

    def name(self, keys: tuple[str, ...]) -> str:
        return next((name for path, name in self.rename if fits(path, keys)), keys[-1])


def compiled(plan: dict[str, Any]) -> Any:
    try:
        return compile_fields(**plan)
    except PathError:
        return None


@given(values, plans)
@settings(max_examples=400, deadline=None)
@example([1, {"a": 1}], {"include": ["a"], "exclude": [], "rename": {}})
def test_the_plan_does_what_the_rules_say_cold_learning_and_learned(value: Any, plan: dict[str, Any]) -> None:
    fields = compiled(plan)
    if fields is None:
        return
    oracle = Oracle(**plan)
    before = copy.deepcopy(value)
    expected = oracle.run(value)
    runs = [fields.apply(value) for _ in range(4)]
    assert [repr(run) for run in runs] == [repr(expected)] * 4
    assert repr(value) == repr(before)
    assert {found.path: found.count for found in fields.left_out(value)} == dict(oracle.gone)
