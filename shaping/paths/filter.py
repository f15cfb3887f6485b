"""One filter for each place of the data that rules tell apart, and the walk that applies them.

A filter recurs, and remembers rows of keys. Where texts are looked into, or what was left out is recorded, a walk
applies it. Data that is nested deeper than Python calls may be is a RecursionError: opened data is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from shaping.paths.grammar import Deep, Each, Name, Path
from shaping.paths.rules import State, Verdict, assign_names
from shaping.response import Omission, Reason

if TYPE_CHECKING:
    from shaping.paths.strings import StringFilter

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
    dropped: frozenset[Any]
    whole: bool  # whether such an object stays as it is


class Filters:
    """All filters of one plan, by the state of the rules at their place, and what they keep of rows of keys."""

    __slots__ = ("nodes", "opener", "rows", "select_in_text")

    def __init__(self, opener: Opener, select_in_text: Callable[[str, State, OmissionNode | None], Any]) -> None:
        self.opener = opener
        self.select_in_text = select_in_text  # selects inside a string that stands for an object
        self.nodes: dict[State, PlaceFilter] = {}
        self.rows: dict[tuple[PlaceFilter, tuple[Any, ...]], Row] = {}

    def node(self, state: State) -> PlaceFilter:
        """Return the filter for a state; past the bound, one that is not kept."""
        if len(self.nodes) >= MOST_NODES:
            return self.nodes.get(state) or PlaceFilter(self, state)
        return self.nodes.setdefault(state, PlaceFilter(self, state))

    def run(
        self, value: Any, state: State, left_out: OmissionNode | None = None, texts: StringFilter | None = None
    ) -> Any:
        """Filter a value and count what is left out; GONE stands for a scalar where only members are wanted."""
        node = self.node(state)
        if left_out is None and texts is None:
            return node.kept(value)
        return _Walk(self, texts).kept(value, node, left_out or OmissionNode())


class PlaceFilter:
    """The filter of one place."""

    __slots__ = ("filters", "last", "partial", "state", "whole")

    def __init__(self, filters: Filters, state: State) -> None:
        self.filters = filters
        self.state = state
        self.partial, self.whole = state.partial, state.whole
        self.last = Row((), [], frozenset(), whole=True)  # that was met: records of one list are alike

    def kept(self, value: Any) -> Any:
        """Return what stands for a value in the result, where texts are kept whole and nothing is counted."""
        if self.whole:
            return value
        inside = value if type(value) in PLAIN else open_exactly(value, self.filters.opener)
        kind, partial = type(inside), self.partial
        if kind is dict:
            row = self.row(inside)
            if row.whole:
                return inside
            out: dict[Any, Any] = {}
            for key, name, below in row.members:
                item = inside[key]
                if below is None or (type(item) in SCALARS and not below.partial):
                    out[name] = item
                elif (kept := below.kept(item)) is not GONE:
                    out[name] = kept
            return out
        if kind is list:
            return [
                kept
                for item in inside
                if (kept := item if type(item) in SCALARS and not partial else self.kept(item)) is not GONE
            ]
        if not partial:
            return inside
        return self.filters.select_in_text(inside, self.state, None) if kind is str else GONE

    def row(self, value: dict[Any, Any]) -> Row:
        """Return what becomes of an object with these keys."""
        row, keys = self.last, tuple(value)
        if row.keys != keys:
            row = self.last = self.filters.rows.get((self, keys)) or self._learn(keys)
        return row

    def _learn(self, keys: tuple[Any, ...]) -> Row:
        verdicts = [(key, self.state.member(str(key))) for key in keys]
        judged = [(key, verdict) for key, verdict in verdicts if verdict is not None]
        names = assign_names([(key, written_key(key, verdict)) for key, verdict in judged])
        node = self.filters.node
        members = [(key, names[key], None if one.state.whole else node(one.state)) for key, one in judged]
        dropped = frozenset(key for key, verdict in verdicts if verdict is None)
        same = not dropped and all(node is None and key == name for key, name, node in members)
        row = Row(keys, members, dropped, same)
        if sum(len(str(key)) for key in keys) <= LONGEST_ROW:
            if len(self.filters.rows) >= MOST_ROWS:
                self.filters.rows = {}
            self.filters.rows[self, keys] = row
        return row


@dataclass(slots=True)
class _Walk:
    """One walk over one value that counts what is left out."""

    filters: Filters
    texts: StringFilter | None = None

    def kept(self, value: Any, node: PlaceFilter, place: OmissionNode) -> Any:
        """Return what stands for a value in the result."""
        if node.whole:
            return value
        inside = value if type(value) in PLAIN else open_exactly(value, self.filters.opener)
        if type(inside) is dict:
            row = node.row(inside)
            return inside if row.whole else self._members(inside, row, place)
        if type(inside) is list:
            return self._elements(inside, node, place)
        if type(inside) is str and node.partial:
            return self.filters.select_in_text(inside, node.state, place)
        if type(inside) is str and self.texts is not None:
            kept = self.texts.text(inside, node.state, place)
            return value if kept is inside and isinstance(value, str) else kept  # a big integer stays one
        return GONE if node.partial else inside

    def _members(self, inside: dict[Any, Any], row: Row, place: OmissionNode) -> dict[Any, Any]:
        if row.dropped:
            for key in inside:  # in the order of the data
                place.at(str(key)).left_out += key in row.dropped
        texts = self.texts
        out: dict[Any, Any] = {}
        for key, name, below in row.members:
            item = inside[key]
            if below is None or (
                type(item) in SCALARS
                and not below.partial
                and (texts is None or type(item) is not str or not texts.is_worth_a_look(item))
            ):
                out[name] = item
                continue
            where = place.at(str(key))
            if (kept := self.kept(item, below, where)) is not GONE:
                out[name] = kept
            else:
                where.left_out += 1
        return out

    def _elements(self, inside: list[Any], node: PlaceFilter, place: OmissionNode) -> list[Any]:
        where = place.at(None)
        if self.texts is not None and not node.partial:
            inside = self.texts.elements(inside, node.state, where)
        out: list[Any] = []
        for item in inside:
            if type(item) in SCALARS and not node.partial:
                out.append(item)
            elif (kept := self.kept(item, node, where)) is not GONE:
                out.append(kept)
            else:
                where.left_out += 1
        return out
