"""What is nested deeper than Python calls may be, as JSON text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from shaping.paths.walk import PLAIN
from shaping.values.opening import key_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NOTHING: Any = object()

# An object that makes a new object at every look has no end; this many pieces of text are enough to see it.
_LONGEST = 2_000_000


def write_deep(value: Any, *, above: set[int], opened: Callable[[Any], Any], plain: Callable[[Any], Any]) -> str:
    """Write a value of any depth as JSON text without recursion; `above` has the ids of what it stands in."""
    out: list[str] = []
    open_containers: list[tuple[Iterator[Any], str, int]] = []
    inside = set(above)
    pending = value
    while len(out) < _LONGEST:
        if pending is not _NOTHING:
            part = _opened_through(pending, opened)
            if type(part) not in {dict, list}:
                out.append(json.dumps(plain(part)))
            elif id(part) in inside:
                out.append('"[cycle]"')
            else:
                inside.add(id(part))
                is_dict = type(part) is dict
                out.append("{" if is_dict else "[")
                open_containers.append((iter(part.items() if is_dict else part), "}" if is_dict else "]", id(part)))
        if not open_containers:
            return "".join(out)
        pending = _next_member(open_containers, out, inside)
    return "".join(out) + " [endless]"


def _opened_through(value: Any, opened: Callable[[Any], Any]) -> Any:
    """Open until something plain comes out; what opens into ever more of itself is told by its kind."""
    for _ in range(8):
        if type(value) in PLAIN:
            return value
        value = opened(value)
    return value if type(value) in PLAIN else f"<{type(value).__qualname__}>"


def _next_member(open_containers: list[tuple[Iterator[Any], str, int]], out: list[str], inside: set[int]) -> Any:
    items, closing, identity = open_containers[-1]
    item = next(items, _NOTHING)
    if item is _NOTHING:
        open_containers.pop()
        inside.discard(identity)
        out.append(closing)
        return _NOTHING
    if out[-1] not in {"{", "["}:
        out.append(",")
    if closing == "]":
        return item
    out.append(json.dumps(key_text(item[0])) + ":")
    return item[1]
