"""Rules by path: which places of a value are secret because the config says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from shaping.paths.grammar import Deep, Each, Glob, Index, Name, Slice, Step, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Rest: TypeAlias = "tuple[Step, ...]"  # what is left to match of one path
State: TypeAlias = "frozenset[Rest]"


class Places:
    """The paths of a plan, followed step by step while the value is walked."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.start: State = frozenset(_read(path) for path in paths)

    def member(self, state: State, key: str) -> State:
        """Go down to a member of an object."""
        return frozenset(rest for path in state for rest in _after_member(path, key)) if state else state

    def element(self, state: State, index: int) -> State:
        """Go down to an element of a list; a path that does not speak of elements means all of them."""
        return frozenset(rest for path in state for rest in _after_element(path, index)) if state else state

    def reached(self, state: State) -> bool:
        """Tell whether a path ends here."""
        return () in state


def _read(path: str) -> Rest:
    # `[]` asks nothing, because a path maps through lists without it; a last `**` is the thing itself and all below.
    steps = [step for step in parse(path).steps if not isinstance(step, Each)]
    while steps and isinstance(steps[-1], Deep):
        steps.pop()
    return tuple(steps)


def _after_member(path: Rest, key: str) -> Iterator[Rest]:
    if not path:
        return
    head = path[0]
    if isinstance(head, Deep):
        yield path
        yield from _after_member(path[1:], key)
    elif (isinstance(head, Name) and head.key == key) or (isinstance(head, Glob) and head.fits(key)):
        yield path[1:]


def _after_element(path: Rest, index: int) -> Iterator[Rest]:
    head = path[0] if path else None
    if isinstance(head, Deep):
        yield path
        yield from (rest for rest in _after_element(path[1:], index) if rest != path[1:])
    elif isinstance(head, Index):
        yield from [path[1:]] * (head.at == index)
    elif isinstance(head, Slice):
        yield from [path[1:]] * ((head.start or 0) <= index and (head.stop is None or index < head.stop))
    elif head is not None:
        yield path
