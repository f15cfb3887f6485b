"""The original values under a path, for asking back what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from shaping.paths.grammar import Deep, Each, Glob, Index, Name, Path, Slice, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shaping.paths.grammar import Step
    from shaping.response import Json

Rest: TypeAlias = "tuple[Step, ...]"  # what is left to match of one path


def select(value: Json, path: str) -> Json:
    """Give the value at a path, or the list of all matches where the path can name several.

    A path names several by a wildcard, `[]`, a slice, or a member of a list's elements. The empty path is the value
    itself. One place that is not there is a LookupError; no matches are an empty list.
    """
    steps = parse(path).steps if path else ()
    here = value
    for at, step in enumerate(steps):
        if isinstance(step, Name) and isinstance(here, dict) and step.key in here:
            here = here[step.key]
        elif isinstance(step, Index) and isinstance(here, list) and -len(here) <= step.at < len(here):
            here = here[step.at]
        elif isinstance(step, Index) or (isinstance(step, Name) and not isinstance(here, list)):
            raise LookupError(f"nothing at {Path(steps[: at + 1])}")
        else:
            return list(matches(here, steps[at:]))
    return here


def _once(steps: Rest) -> Rest:
    """Write `**` once where it stands twice: it means the same."""
    return tuple(step for at, step in enumerate(steps) if not isinstance(step, Deep) or steps[at - 1 : at] != (step,))


def matches(value: Json, steps: Rest) -> Iterator[Json]:
    """Give every match in the order of the data, each place once, however many ways lead to it."""
    todo: list[tuple[Json, frozenset[Rest]]] = [(value, frozenset((_once(steps),)))]
    while todo:
        here, rests = todo.pop()
        # A `**` at the end is the thing itself and needs no look inside.
        if () in rests or (Deep(),) in rests:
            yield here
        if isinstance(here, dict):
            below = [(item, frozenset(after_key(rests, key))) for key, item in here.items()]
        elif isinstance(here, list):
            below = [(item, frozenset(after_index(rests, at, len(here)))) for at, item in enumerate(here)]
        else:
            continue
        todo.extend((item, left) for item, left in reversed(below) if left)


def after_key(rests: Iterable[Rest], key: str) -> Iterator[Rest]:
    """Give what is left of each path below a member of an object."""
    for rest in rests:
        head, tail = (rest[0], rest[1:]) if rest else (None, ())
        if isinstance(head, Deep) and tail:
            yield rest
            yield from after_key((tail,), key)
        elif isinstance(head, Name | Glob) and head.fits(key):
            yield tail


def after_index(rests: Iterable[Rest], at: int, size: int) -> Iterator[Rest]:
    """Give what is left of each path below an element of a list; a name means a member of every element."""
    for rest in rests:
        head, tail = (rest[0], rest[1:]) if rest else (None, ())
        if isinstance(head, Deep) and tail:
            yield rest
            yield from after_index((tail,), at, size)
        elif isinstance(head, Name | Glob):
            yield rest
        elif isinstance(head, Each | Index | Slice) and _covers(head, at, size):
            yield tail


def _covers(step: Each | Index | Slice, at: int, size: int) -> bool:
    if isinstance(step, Index):
        return at in {step.at, step.at + size}
    return isinstance(step, Each) or at in range(size)[step.start : step.stop]
