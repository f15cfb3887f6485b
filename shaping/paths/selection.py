"""The values at a path, and for a path that matches nothing what may have been meant."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, TypeAlias, TypeVar

from shaping.nearest import nearest
from shaping.paths.grammar import Deep, Each, Glob, Index, Name, Path, Slice, Step, join, parse
from shaping.response import Json, counted

Rest: TypeAlias = "tuple[Step, ...]"  # what is left to match of one path
Left = TypeVar("Left", tuple[Step, ...], tuple[Name | Glob | Deep, ...])  # the same, and of a rule


def select(value: Json, path: str) -> Json:
    """Return the value at a path, or the list of all matches where the path can name several.

    A path names several by a wildcard, `[]`, a slice, or a member of a list's elements. The empty path is the value
    itself, and a slice of a text is those characters. One place that is not there is a LookupError; no matches are an
    empty list.
    """
    steps = parse(path).steps if path else ()
    here = value
    for at, step in enumerate(steps):
        if isinstance(step, Name) and isinstance(here, dict) and step.key in here:
            here = here[step.key]
        elif isinstance(step, Index) and isinstance(here, list) and -len(here) <= step.at < len(here):
            here = here[step.at]
        elif isinstance(step, Slice) and isinstance(here, str) and at == len(steps) - 1:
            return here[step.start : step.stop]
        elif isinstance(step, Index) or (isinstance(step, Name) and not isinstance(here, list)):
            raise LookupError(f"nothing at {Path(steps[: at + 1])}")
        else:
            return list(matches(here, steps[at:]))
    return here


def _once(steps: Rest) -> Rest:
    """Write `**` once where it stands twice: it means the same."""
    return tuple(step for at, step in enumerate(steps) if not isinstance(step, Deep) or steps[at - 1 : at] != (step,))


def matches(value: Json, steps: Rest) -> Iterator[Json]:
    """Yield every match in the order of the data, each place once, however many ways lead to it."""
    if not any(isinstance(step, Deep) for step in steps):  # one way leads to each place
        nodes: Iterable[Json] = [value]
        for step in steps:
            nodes = _below(nodes, step)
        yield from nodes
        return
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


def after(rests: Iterable[Left], fits: Callable[[Any], bool]) -> Iterator[Left]:
    """Yield what is left of each path below a place that some steps fit; the empty rest is a match."""
    for rest in rests:
        head, tail = (rest[0], rest[1:]) if rest else (None, ())
        if isinstance(head, Deep) and tail:
            yield rest
            yield from after((tail,), fits)
        elif head is not None and fits(head):
            yield tail


def after_key(rests: Iterable[Left], key: str) -> Iterator[Left]:
    """Yield what is left of each path below a member of an object."""
    return after(rests, lambda step: isinstance(step, Name | Glob) and step.fits(key))


def after_index(rests: Iterable[Rest], at: int, size: int) -> Iterator[Rest]:
    """Yield what is left of each path below an element of a list; a name means a member of every element."""
    yield from (rest for rest in rests if rest and isinstance(rest[0], Name | Glob))
    yield from after(rests, lambda step: isinstance(step, Each | Index | Slice) and at in step.of(range(size)))


_LOOK: Final = 5_000  # values that are looked at for names: enough to find them, whatever the size of the whole
_NEAR: Final = 3
_LISTED: Final = 8
_BEGIN: Final = "the data is a list of {:,}: begin with [0] or []"
_ALIKE: Final = 0.7  # what a name must share with one that is meant, where more likely none of them is


@dataclass(frozen=True, slots=True)
class Miss:
    """Nothing at a path: the part that leads nowhere, what may be meant, the nearest first, and what is there."""

    path: str
    near: tuple[str, ...] = ()
    there: str = ""
    begin: str = ""  # how a path into data that is a list begins

    def __str__(self) -> str:
        if self.near:
            return f"nothing at {self.path}; did you mean {self.near[0]}?"
        return "; ".join(filter(None, (f"nothing at {self.path}", self.begin, self.there)))


def miss(value: Any, path: str) -> Miss | None:
    """Return where a path that has no match leads nowhere; None where it leads to something empty."""
    steps = parse(path).steps
    nodes = [value]
    for at, step in enumerate(steps):
        below = list(islice(_below(nodes, step), _LOOK))
        if not below:
            return None if _is_vacant(nodes, step) else _described(value, nodes, steps[: at + 1])
        nodes = below
    return None


def _described(value: Any, nodes: list[Any], steps: tuple[Step, ...]) -> Miss:
    path, last = str(Path(steps)), steps[-1]
    if isinstance(last, Index | Slice):
        longest = max((len(node) for node in nodes if isinstance(node, list)), default=None)
        there = "there is no list" if longest is None else f"the list has {counted(longest, 'element')}"
        return Miss(path, there=there)
    word = last.key if isinstance(last, Name) else str(last).strip("*")
    names = _names(nodes)
    # A name before the list itself (`items[0]`) is no misspelt member of its elements, but for one that is very near.
    begins = isinstance(value, list) and len(steps) == 1 and not isinstance(last, Deep)
    alike = nearest(word, names, n=_NEAR, least=_ALIKE if begins else 0.6)
    near = tuple(str(Path((*steps[:-1], Name(name)))) for name in alike)
    if not near and word:
        near = tuple(islice(_elsewhere(value, word), _NEAR))
    listed = ", ".join(str(Name(name)) for name in names[:_LISTED])
    more = ", …" if len(names) > _LISTED else ""
    there = f"there is: {listed}{more}" if names else ""
    return Miss(path, near, there, _BEGIN.format(len(value)) if begins else "")


def _below(nodes: Iterable[Any], step: Step) -> Iterator[Any]:
    if isinstance(step, Deep):
        yield from _all(nodes)
    elif isinstance(step, Name | Glob):
        for node in through(nodes):
            if isinstance(node, dict):
                yield from (item for key, item in node.items() if step.fits(key))
    else:
        for node in nodes:
            if isinstance(node, list):
                yield from step.of(node)


def through(nodes: Iterable[Any]) -> Iterator[Any]:
    """Yield what is not a list: a name means a member of each element."""
    # Not by recursion: lists may lie deeper in each other than calls may.
    levels = [iter(nodes)]
    while levels:
        for node in levels[-1]:
            if isinstance(node, list):
                levels.append(iter(node))
                break
            yield node
        else:
            levels.pop()


def _all(nodes: Iterable[Any]) -> Iterator[Any]:
    todo = deque(nodes)
    while todo:
        node = todo.popleft()
        yield node
        todo.extend(node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())


def _is_vacant(nodes: list[Any], step: Step) -> bool:
    """Whether there was something to look into, and it was empty."""
    if isinstance(step, Name | Glob | Deep):
        return not any(True for _ in through(nodes)) or all(node == {} for node in through(nodes))
    lists = [node for node in nodes if isinstance(node, list)]
    return bool(lists) and not any(lists)


def _names(nodes: list[Any]) -> list[str]:
    found = (key for node in islice(through(nodes), _LOOK) if isinstance(node, dict) for key in node)
    return list(dict.fromkeys(islice(found, _LOOK)))


def _elsewhere(value: Any, word: str) -> Iterator[str]:
    """Find the name at other places, the nearest to the top first."""
    todo: deque[tuple[str, Any]] = deque([("", value)])
    seen: set[str] = set()
    for _ in range(_LOOK):
        if not todo:
            return
        path, node = todo.popleft()
        if isinstance(node, list):
            todo.extend((join(path, slice(None)), item) for item in node[:_LISTED])
        elif isinstance(node, dict):
            if word in node and (found := join(path, word)) not in seen:
                seen.add(found)
                yield found
            todo.extend((join(path, key), item) for key, item in node.items())


def misses(value: Any, paths: Iterable[str]) -> Iterator[Miss]:
    """Describe, for each path that has no match, what may be meant by it."""
    for path in paths:
        try:
            missed = miss(value, path) if select(value, path) == [] else None
        except LookupError:
            missed = miss(value, path) or Miss(path)
        if missed is not None:
            # A field applies to every element anyway, so how a path into a list begins is no help.
            yield replace(missed, begin="")
