"""The careful walk over a value: it knows where it is, so it can warn about what plain JSON cannot hold."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from shaping.paths.grammar import join
from shaping.paths.walk import PLAIN
from shaping.response import Omission, Warned, counted
from shaping.values.frames import free_name
from shaping.values.opening import OneShotError, UnknownTypeError, declared_fields, key_text, number_name, open_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# orjson writes 254 levels and Python's stack holds 1,000 frames, of which the careful walk needs three a level.
DEEPEST = 150

# What orjson can write as an integer.
INT_MIN, INT_MAX = -(2**63), 2**64 - 1

_INDEX = re.compile(r'"(?:[^"\\]|\\.)*"|\[\d+\]')  # or a quoted name, in which brackets mean nothing
_WITHHELD = "[withheld: no path reaches here, and something here may be private]"


class BigInteger(str):
    """The digits of an integer beyond 64 bits, which orjson cannot write; in a text it is the number that it was."""

    __slots__ = ()


def with_numbers(value: Any) -> Any:
    """Return plain data with its big integers as integers, for whoever can write them."""
    if isinstance(value, dict):
        return {key: with_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return list(map(with_numbers, value))
    return int(value) if isinstance(value, BigInteger) else value


# Around the digits of a big integer while it is written or stored: a sign that stands for nothing in any text.
MARK = "\ue0f1"
_MARKED = re.compile(f"{MARK}(-?\\d+){MARK}")


def mark_numbers(value: Any) -> Any:
    """Return plain data with marks around its big integers."""
    if isinstance(value, dict):
        return {key: mark_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return list(map(mark_numbers, value))
    return f"{MARK}{value}{MARK}" if isinstance(value, BigInteger) else value


def read_marked(value: Any) -> Any:
    """Return plain data in which integers stand in the place of marked digits."""
    if isinstance(value, dict):
        return {key: read_marked(item) for key, item in value.items()}
    if isinstance(value, list):
        return list(map(read_marked, value))
    found = _MARKED.fullmatch(value) if isinstance(value, str) else None
    return int(found[1]) if found else value


@dataclass(slots=True)
class Opened:
    """The plain form of a value, and what had to change for it."""

    value: Any = None
    whole: Any = None  # the plain value with its default fields still in it
    warnings: list[Warned] = field(default_factory=list)
    omissions: list[Omission] = field(default_factory=list)
    consumed: bool = False  # a generator was read, so the raw value cannot be read again
    cut_short: bool = False  # and it broke off before its end


def open_carefully(value: Any, *, drop_defaults: bool = False, closed: bool = False, reads: bool = True) -> Opened:
    """Open a value, warn about what had to change, and leave out default fields where asked.

    `closed` holds back what no path could reach: text made of an object, what is nested too deep, a key said twice.
    Without `reads`, a generator raises OneShotError and is not read.
    """
    walk = _CarefulWalk(closed=closed, reads=reads)
    walk.found.whole = walk.plain(value, "", 0, False)
    walk.found.value = walk.found.whole
    if drop_defaults and not walk.found.consumed:
        again = _CarefulWalk(closed=closed)
        walk.found.value = again.plain(value, "", 0, True)
        walk.found.omissions = _grouped(again.found.omissions)
    return walk.found


class _CarefulWalk:
    """One careful walk: the containers on the way down, to see cycles, and what was noted."""

    def __init__(self, *, closed: bool, reads: bool = True) -> None:
        self.closed = closed
        self.reads = reads
        self.found = Opened()
        self.above: dict[int, str] = {}

    def plain(self, value: Any, path: str, depth: int, drop: bool) -> Any:
        kind = type(value)
        if kind is str:
            return self.text(value, path)
        if kind is bool or value is None:
            return value
        if kind is int:
            return self.integer(value, path)
        if kind is float:
            return self.number(value, path)
        if id(value) in self.above:
            return self.cycle(value, path)
        self.above[id(value)] = path
        try:
            return self.container(value, path, depth, drop)
        finally:
            del self.above[id(value)]

    def container(self, value: Any, path: str, depth: int, drop: bool) -> Any:
        if depth > DEEPEST:
            return self.too_deep(value, path)
        if type(value) is dict:
            return self.members(value, path, depth, drop)
        if type(value) is list:
            return [self.plain(item, f"{path}[{i}]", depth + 1, drop) for i, item in enumerate(value)]
        if drop and (kept := self.without_defaults(value, path)) is not None:
            return self.members(kept, path, depth, drop)
        return self.plain(self.opened(value, path), path, depth + 1, drop)

    def opened(self, value: Any, path: str) -> Any:
        try:
            return open_known(value)
        except UnknownTypeError as unknown:
            self.warn("UNKNOWN_TYPE", f"a value of type {unknown} has no JSON form; its text stands for it", path)
            return unknown.kind if self.closed else unknown.text
        except OneShotError:
            if not self.reads:
                raise
            self.found.consumed = True
            return self.read(value, path)

    def read(self, items: Iterator[Any], path: str) -> list[Any]:
        """Read what can be read only once; what it raises on the way must not cost what it gave before."""
        given: list[Any] = []
        try:
            given.extend(items)
        except Exception as error:  # noqa: BLE001 (a tool's generator may raise anything)
            self.found.cut_short = True
            self.warn("CUT_SHORT", f"reading stopped after {counted(len(given), 'item')}: {type(error).__name__}", path)
        return given

    def members(self, value: dict[Any, Any], path: str, depth: int, drop: bool) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, item in value.items():
            name = self.text(key_text(key), path)
            if name in out:
                name = self.second_name(name, out, path)
                item = _WITHHELD if self.closed else item  # noqa: PLW2901 (the new name is on no list of private ones)
            out[name] = self.plain(item, join(path, name), depth + 1, drop)
        return out

    def second_name(self, name: str, out: dict[str, Any], path: str) -> str:
        second = free_name(name, out)
        self.warn("KEY_COLLISION", f"two keys are both written {name!r}; the later one is {second}", path)
        return second

    def without_defaults(self, value: Any, path: str) -> dict[str, Any] | None:
        if isinstance(value, BaseModel):
            whole = value.model_dump(mode="json", by_alias=True, warnings=False)
            kept = value.model_dump(mode="json", by_alias=True, warnings=False, exclude_defaults=True)
        else:
            declared = declared_fields(value)
            if declared is None:
                return None
            whole = {name: item for name, item, _, _ in declared}
            kept = {name: item for name, item, has, default in declared if not (has and _same(item, default))}
        self.found.omissions.extend(Omission(join(path, name), 1, "default") for name in whole if name not in kept)
        return kept

    def text(self, value: str, path: str) -> str:
        try:
            value.encode()
        except UnicodeEncodeError:
            self.warn("LONE_SURROGATE", "a lone surrogate is no text; it is written as its escape", path)
            return value.encode(errors="backslashreplace").decode()
        return value

    def integer(self, value: int, path: str) -> int | str:
        if INT_MIN <= value <= INT_MAX:
            return value
        self.warn("BIG_INTEGER", "an integer beyond 64 bits is a string in structured data", path)
        return _digits(value)

    def number(self, value: float, path: str) -> float | str:
        if math.isfinite(value):
            return value
        name = number_name(value)
        self.warn("NOT_A_NUMBER", f"JSON has no {name}; it is written as a string", path)
        return name

    def cycle(self, value: Any, path: str) -> str:
        above = self.above[id(value)] or "the top"
        self.warn("CYCLE", f"the value contains itself: here stands {above} again", path)
        return f"[cycle: {above}]"

    def too_deep(self, value: Any, path: str) -> str:
        stands = "is withheld" if self.closed else "stands as JSON text"
        self.warn("TOO_DEEP", f"nested deeper than {DEEPEST} levels: what is below {stands}", path[:200])
        if self.closed:
            return _WITHHELD
        return write_deep(
            value,
            above=set(self.above) - {id(value)},
            opened=lambda one: self.opened(one, ""),
            plain=lambda one: self.plain(one, "", 0, False),
        )

    def warn(self, code: str, message: str, path: str) -> None:
        self.found.warnings.append(Warned(code, message, path or None))


def _same(value: Any, default: Any) -> bool:
    """Compare as data: 0 is not False, and a comparison that fails or is not a boolean means different."""
    if type(value) is not type(default):
        return False
    try:
        return bool(value == default)
    except Exception:  # noqa: BLE001 (a user's __eq__ may raise anything, e.g. on arrays)
        return False


def _digits(value: int) -> str:
    try:
        return BigInteger(value)
    except ValueError:  # beyond sys.set_int_max_str_digits
        return hex(value)


def _grouped(omissions: list[Omission]) -> list[Omission]:
    """Merge the omissions of one field in every element of a list."""
    counts = Counter(_INDEX.sub(lambda found: found[0] if found[0][0] == '"' else "[]", o.path) for o in omissions)
    return [Omission(path, count, "default") for path, count in counts.items()]


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
