"""Filters: a walk that also records what was left out, and a faster one that remembers rows of keys.

The walk takes over where data is nested deeper than Python calls may be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from shaping.paths.grammar import Deep, Each, Name, Path
from shaping.paths.rules import State, Verdict, assign_names
from shaping.response import Omission, Reason

Opener: TypeAlias = Callable[[Any], Any]

# The exact types that have no inside. Subclasses are left out on purpose: an opener decides about those.
SCALARS = frozenset((str, int, float, bool, type(None)))
PLAIN = SCALARS | {dict, list}


def open_plainly(value: Any) -> Any:
    """Open mappings and the standard containers one level, and refuse what only an opener can look into.

    Letting an unknown object through would let excluded fields through with it.
    """
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if hasattr(value, "__dict__") and not isinstance(value, str | int | float):
        raise TypeError(f"cannot filter inside a {type(value).__name__} without an opener")
    return value


def open_exactly(value: Any, opener: Opener) -> Any:
    """Open one value that is not plain: the result is an exact dict, an exact list, or has no inside."""
    inside = opener(value)
    if type(inside) is dict or type(inside) is list or type(inside) in SCALARS:
        return inside
    # An opener that hands back a subclass of a container has not opened it.
    return open_plainly(inside) if isinstance(inside, Mapping | list | tuple | set | frozenset) else inside


# What stands for a value that is not there: a scalar where only members were wanted.
GONE: Final = object()

# Places nested deeper are named together, by `**`: a path of ten thousand names helps nobody.
NAMED_DEPTH = 64


@dataclass(slots=True, eq=False)
class OmissionNode:
    """A place in the data, with all elements of a list as one, and how many things were left out there."""

    steps: tuple[Name | Each | Deep, ...] = ()
    left_out: int = 0
    below: dict[str | None, OmissionNode] = field(default_factory=dict)

    def at(self, key: str | None) -> OmissionNode:
        """Go to a member, or with None to the elements."""
        place = self.below.get(key)
        if place is None:
            step = Each() if key is None else Name(key)
            deep = len(self.steps) > NAMED_DEPTH
            steps = (*self.steps[:NAMED_DEPTH], Deep(), step) if deep else (*self.steps, step)
            place = self.below[key] = OmissionNode(steps)
        return place

    def omissions(self, reason: Reason) -> list[Omission]:
        """List what was left out here and below, in the order of the data."""
        counts: dict[tuple[Name | Each | Deep, ...], int] = {}
        todo = [self]
        while todo:
            place = todo.pop()
            if place.left_out:
                counts[place.steps] = counts.get(place.steps, 0) + place.left_out
            todo.extend(reversed(place.below.values()))
        return [Omission(str(Path(steps)), count, reason) for steps, count in counts.items()]


@dataclass(slots=True)
class FilterWalk:
    """One walk over one value: containers entered and not yet left, work to do, and what was decided before."""

    opener: Opener
    texts: Callable[[str, State, OmissionNode], Any] | None = None  # selects inside a string that stands for an object
    states: dict[State, dict[str, Verdict | None]] = field(default_factory=dict)
    entered: dict[int, Any] = field(default_factory=dict)
    todo: list[tuple[Any, Any, Any, State | None, OmissionNode]] = field(default_factory=list)

    def run(self, value: Any, state: State, place: OmissionNode) -> Any:
        """Filter a value; GONE stands for a scalar where only members are wanted."""
        result = value if state.whole else self._open(value, state, place)
        while self.todo:
            raw, inside, target, below, where = self.todo.pop()
            if below is None:
                del self.entered[id(raw)]
                continue
            if id(raw) in self.entered:
                raise ValueError(f"{Path(where.steps)} contains itself")
            self.entered[id(raw)] = raw
            self.todo.append((raw, None, None, None, where))
            if type(inside) is dict:
                self._members(inside, target, below, where)
            else:
                self._elements(inside, target, below, where)
        return result

    def _members(self, inside: dict[str, Any], target: dict[str, Any], state: State, place: OmissionNode) -> None:
        decided = self.states.setdefault(state, {})
        for key in inside:
            if str(key) not in decided:
                decided[str(key)] = state.member(str(key))
        kept = [(key, verdict) for key in inside if (verdict := decided[str(key)]) is not None]
        names = assign_names([(key, written_key(key, verdict)) for key, verdict in kept])
        for key, item in inside.items():
            verdict = decided[str(key)]
            value = GONE if verdict is None else self._start(item, verdict.state, place, str(key))
            if value is GONE:
                place.at(str(key)).left_out += 1
            else:
                target[names[key]] = value

    def _elements(self, inside: list[Any], target: list[Any], state: State, place: OmissionNode) -> None:
        for item in inside:
            value = self._start(item, state, place, None)
            if value is GONE:
                place.at(None).left_out += 1
            else:
                target.append(value)

    def _start(self, value: Any, state: State, place: OmissionNode, key: str | None) -> Any:
        """Return what stands for a member, or an element, of a place."""
        if state.whole:
            return value
        if type(value) is str and state.partial and self.texts is not None:
            return self.texts(value, state, place.at(key))
        if type(value) in SCALARS:
            return GONE if state.partial else value
        return self._open(value, state, place.at(key))

    def _open(self, value: Any, state: State, place: OmissionNode) -> Any:
        """Return what stands for a value in the result, and put off the work inside it."""
        inside = value if type(value) in PLAIN else open_exactly(value, self.opener)
        if type(inside) is not dict and type(inside) is not list:
            return GONE if state.partial else inside
        target: Any = {} if type(inside) is dict else []
        self.todo.append((value, inside, target, state, place))
        return target


def written_key(key: Any, verdict: Verdict) -> Any:
    """Return the key a kept member is written under; a key that is not text is judged by its text and stays itself."""
    return key if verdict.name == str(key) else verdict.name


# Keys come from data, so what is learned of them is bounded, per plan.
MOST_ROWS = 1024
LONGEST_ROW = 4096  # characters
MOST_NODES = 512


class Row(NamedTuple):
    """What one filter does to objects of one row of keys."""

    keys: tuple[Any, ...]
    members: list[tuple[Any, str, PlaceFilter | None]]  # that stay: the key, the name to write, the filter inside
    whole: bool  # whether such an object stays as it is


class Filters:
    """All filters of one plan, by the state of the rules at their place, and what they keep of rows of keys."""

    __slots__ = ("nodes", "opener", "rows", "select_in_text")

    def __init__(self, opener: Opener, select_in_text: Callable[[str, State], Any]) -> None:
        self.opener = opener
        self.select_in_text = select_in_text  # selects inside a string that stands for an object
        self.nodes: dict[State, PlaceFilter] = {}
        self.rows: dict[tuple[PlaceFilter, tuple[Any, ...]], Row] = {}

    def node(self, state: State) -> PlaceFilter:
        """Return the filter for a state; past the bound, one that is not kept."""
        if len(self.nodes) >= MOST_NODES:
            return self.nodes.get(state) or PlaceFilter(self, state)
        return self.nodes.setdefault(state, PlaceFilter(self, state))


class PlaceFilter:
    """The filter of one place."""

    __slots__ = ("filters", "last", "partial", "state", "whole")

    def __init__(self, filters: Filters, state: State) -> None:
        self.filters = filters
        self.state = state
        self.partial, self.whole = state.partial, state.whole
        self.last = Row((), [], whole=True)  # that was met: records of one list are alike

    def run(self, value: Any) -> Any:
        """Filter a value; GONE stands for a scalar where only members are wanted."""
        if self.whole:
            return value
        if type(value) is dict:
            return self.run_object(value)
        if type(value) is list:
            kept = [self.run_object(item) if type(item) is dict else self.run(item) for item in value]
            return [item for item in kept if item is not GONE] if self.partial else kept
        inside = value if type(value) in SCALARS else open_exactly(value, self.filters.opener)
        if type(inside) is dict or type(inside) is list:
            return self.run(inside)
        if type(inside) is str and self.partial:
            return self.filters.select_in_text(inside, self.state)
        return GONE if self.partial else inside

    def run_object(self, value: dict[Any, Any]) -> dict[Any, Any]:
        """Filter an object where not every value is kept whole."""
        row, keys = self.last, tuple(value)
        if row.keys != keys:
            row = self.last = self.filters.rows.get((self, keys)) or self._learn(keys)
        if row.whole:
            return value
        kept = {}
        for key, name, node in row.members:
            item = value[key]
            if node is None:
                kept[name] = item
            elif type(item) is dict:
                kept[name] = node.run_object(item)
            elif type(item) in SCALARS and not node.partial:
                kept[name] = item
            elif (inner := node.run(item)) is not GONE:
                kept[name] = inner
        return kept

    def _learn(self, keys: tuple[Any, ...]) -> Row:
        judged = [(key, verdict) for key in keys if (verdict := self.state.member(str(key))) is not None]
        names = assign_names([(key, written_key(key, verdict)) for key, verdict in judged])
        node = self.filters.node
        members = [(key, names[key], None if one.state.whole else node(one.state)) for key, one in judged]
        same = len(members) == len(keys) and all(node is None and key == name for key, name, node in members)
        row = Row(keys, members, same)
        if sum(len(str(key)) for key in keys) <= LONGEST_ROW:
            if len(self.filters.rows) >= MOST_ROWS:
                self.filters.rows = {}
            self.filters.rows[self, keys] = row
        return row
