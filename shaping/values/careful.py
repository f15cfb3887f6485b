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
from shaping.response import Omission, Warned, counted
from shaping.values.opening import (
    OneShotError,
    UnknownTypeError,
    declared_fields,
    free_name,
    key_text,
    number_name,
    open_known,
    open_value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# orjson writes 254 levels and Python's stack holds 1,000 frames, of which the careful walk needs three a level.
DEEPEST = 150

# What orjson can write as an integer.
INT_MIN, INT_MAX = -(2**63), 2**64 - 1

_INDEX = re.compile(r'"(?:[^"\\]|\\.)*"|\[\d+\]')  # or a quoted name, in which brackets mean nothing
_TOO_DEEP = "[nested too deep to be written]"
_WITHHELD = "[withheld: no path reaches here, and something here may be private]"


class BigInteger(str):
    """The digits of an integer beyond 64 bits, which orjson cannot write; in a text it is the number that it was."""

    __slots__ = ()


def with_numbers(value: Any) -> Any:
    """Return plain data with its big integers as integers, for whoever can write them."""
    return _scalars(value, lambda item: int(item) if isinstance(item, BigInteger) else item)


# Around the digits of a big integer while it is written or stored: a sign that stands for nothing in any text.
MARK = "\ue0f1"
_MARKED = re.compile(f"{MARK}(-?\\d+){MARK}")


def mark_numbers(value: Any) -> Any:
    """Return plain data with marks around its big integers."""
    return _scalars(value, lambda item: f"{MARK}{item}{MARK}" if isinstance(item, BigInteger) else item)


def read_marked(value: Any) -> Any:
    """Return plain data in which integers stand in the place of marked digits."""

    def number(item: Any) -> Any:
        found = _MARKED.fullmatch(item) if isinstance(item, str) else None
        return int(found[1]) if found else item

    return _scalars(value, number)


def _scalars(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return plain data with every value that is no container changed."""
    if isinstance(value, dict):
        return {key: _scalars(item, change) for key, item in value.items()}
    return [_scalars(item, change) for item in value] if isinstance(value, list) else change(value)


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
            whole = {name: item for name, item, _ in declared}
            kept = {name: item for name, item, default in declared if not _same(item, default)}
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
        try:
            return json.dumps(value, default=open_value)
        except (TypeError, ValueError, RecursionError, OneShotError):  # odd keys, a cycle, hundreds of levels more
            return _TOO_DEEP

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
