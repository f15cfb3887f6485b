"""The part of a stored value that a path names; a tail that a budget cut is found without looking at each element."""

from __future__ import annotations

from typing import Any

from shaping.paths import Path, parse, select
from shaping.paths.grammar import Index, Name, Slice


def choose(value: Any, path: str) -> Any:
    """Give what `select` gives."""
    steps = parse(path).steps if path else ()
    if steps and isinstance(steps[-1], Slice) and all(isinstance(step, (Name, Index)) for step in steps[:-1]):
        holder = select(value, str(Path(steps[:-1]))) if steps[:-1] else value
        # A name below a list means that name in each of its elements, and the slice one of each.
        if isinstance(holder, list) and _one(value, steps[:-1]):
            return holder[steps[-1].start or 0 : steps[-1].stop]
    return select(value, path)


def _one(value: Any, steps: tuple[Any, ...]) -> bool:
    for step in steps:
        if isinstance(step, Name):
            if not isinstance(value, dict):
                return False
            value = value.get(step.key)
        else:
            value = value[step.at]
    return True
