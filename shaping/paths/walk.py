"""The reference: the same filter by a plain loop, which also keeps the exact record of what was left out.

It is the definition that the generated code is tested against, and takes over where data is nested deeper than Python
calls may be.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from shaping.paths.grammar import Deep, Each, Name, Path
from shaping.paths.opening import SCALARS, opened
from shaping.paths.rules import settle
from shaping.types import Omission

if TYPE_CHECKING:
    from shaping.paths.opening import Opener
    from shaping.paths.rules import State, Verdict
    from shaping.types import Reason

# What stands for a value that is not there: a scalar where only members were wanted.
GONE: Final = object()

PLAIN = SCALARS | {dict, list}

# Places nested deeper are named together, by `**`: a path of ten thousand names helps nobody.
NAMED_DEPTH = 64


@dataclass(slots=True, eq=False)
class Place:
    """A place in the data, with all elements of a list as one, and how many things were left out there."""

    steps: tuple[Name | Each | Deep, ...] = ()
    left_out: int = 0
    below: dict[Name | Each, Place] = field(default_factory=dict)

    def at(self, step: Name | Each) -> Place:
        """Go to a member or to the elements."""
        place = self.below.get(step)
        if place is None:
            deep = len(self.steps) > NAMED_DEPTH
            steps = (*self.steps[:NAMED_DEPTH], Deep(), step) if deep else (*self.steps, step)
            place = self.below[step] = Place(steps)
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
class Walk:
    """One walk over one value: containers entered and not yet left, and work to do."""

    opener: Opener
    entered: dict[int, Any] = field(default_factory=dict)
    todo: list[tuple[Any, Any, Any, State | None, Place]] = field(default_factory=list)

    def run(self, value: Any, state: State, place: Place) -> Any:
        """Filter a value; GONE stands for a scalar where only members are wanted."""
        result = self._start(value, state, place)
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

    def _members(self, inside: dict[str, Any], target: dict[str, Any], state: State, place: Place) -> None:
        verdicts = {key: state.member(str(key)) for key in inside}
        names = settle([(key, written(key, verdict)) for key, verdict in verdicts.items() if verdict])
        for key, item in inside.items():
            verdict, where = verdicts[key], place.at(Name(str(key)))
            kept = GONE if verdict is None else self._start(item, verdict.state, where)
            if kept is GONE:
                where.left_out += 1
            else:
                target[names[key]] = kept

    def _elements(self, inside: list[Any], target: list[Any], state: State, place: Place) -> None:
        where = place.at(Each())
        for item in inside:
            kept = self._start(item, state, where)
            if kept is GONE:
                where.left_out += 1
            else:
                target.append(kept)

    def _start(self, value: Any, state: State, place: Place) -> Any:
        """Give what stands for a value in the result, and put off the work inside it."""
        if state.whole:
            return value
        inside = value if type(value) in PLAIN else opened(value, self.opener)
        if type(inside) is not dict and type(inside) is not list:
            return GONE if state.partial else inside
        target: Any = {} if type(inside) is dict else []
        self.todo.append((value, inside, target, state, place))
        return target


def written(key: Any, verdict: Verdict) -> Any:
    """Give the key a kept member is written under; a key that is not text is judged by its text and stays itself."""
    return key if verdict.name == str(key) else verdict.name
