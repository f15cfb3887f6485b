"""The part of a stored value that a path names; a tail that a budget cut is found without looking at each element."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Any, Final

from shaping.paths import Path, compile_fields, parse, select
from shaping.paths.grammar import Index, Name, Slice
from shaping.paths.selection import miss

# A quote that nothing closes holds all the rest: looked for once, not from every quote on.
_ONE: Final = re.compile(r'(?:"(?:[^"\\]|\\.?)*(?:"|$)|[^,"])+', re.DOTALL)


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


def listed(value: Any, path: str) -> list[str]:
    """Read a path as several where it has commas and, as one, names nothing: a key may have commas too."""
    parts = [part.strip() for part in _ONE.findall(path)] if "," in path else []
    return [path] if len(parts) < 2 or _names_something(value, path) else parts


def _names_something(value: Any, path: str) -> bool:
    try:
        # What a path names may be an empty list.
        return bool(choose(value, path) != []) or miss(value, path) is None
    except (ValueError, LookupError):
        return False


def choose_members(value: Any, paths: list[str]) -> tuple[Any, str]:
    """Give the records that several paths lead into, each with only what the paths name, and where they stand."""
    trails = [parse(path).steps for path in paths]
    alike = [steps[0] for steps in takewhile(lambda steps: len(set(steps)) == 1, zip(*trails, strict=False))]
    # One element or a range of them is chosen first: what a path names below holds for every element.
    chosen = max((at for at, step in enumerate(alike, 1) if isinstance(step, Index | Slice)), default=0)
    where = str(Path(tuple(alike[:chosen])))
    members = [str(Path(steps[chosen:])) for steps in trails]
    return compile_fields(members).apply(choose(value, where)), where
