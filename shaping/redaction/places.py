"""Rules by path: which places of a value are secret because the config says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from shaping.paths.grammar import Deep, Each, parse
from shaping.paths.selection import after_index, after_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shaping.paths.selection import Rest

State: TypeAlias = "frozenset[Rest]"  # what is left to match of each path; one that is empty ends here


def start(paths: Iterable[str]) -> State:
    """Read the paths of a plan, to be followed step by step while a value is walked."""
    return frozenset(_read(path) for path in paths)


def member(state: State, key: str) -> State:
    """Go down to a member of an object."""
    return frozenset(after_key(state, key)) if state else state


def element(state: State, index: int, size: int) -> State:
    """Go down to an element of a list; a path that does not speak of elements means all of them."""
    return frozenset(after_index(state, index, size)) if state else state


def _read(path: str) -> Rest:
    # `[]` asks nothing, because a path maps through lists without it; a last `**` is the thing itself and all below.
    steps = [step for step in parse(path).steps if not isinstance(step, Each)]
    while steps and isinstance(steps[-1], Deep):
        steps.pop()
    return tuple(steps)
