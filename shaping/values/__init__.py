"""Any Python value becomes plain JSON data: dicts with string keys, lists, strings, numbers, booleans and None."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from shaping.paths.grammar import Trail, write_trail
from shaping.response import Omission, Warned, counted
from shaping.values.opening import (
    OneShotError,
    UnknownTypeError,
    declared_fields,
    free_name,
    is_model,
    key_text,
    number_name,
    open_known,
    open_value,
)

# orjson writes 254 levels and Python's stack holds 1,000 frames, of which the careful walk needs three a level.
DEEPEST = 150
_AROUND = 254 - 1 - DEEPEST

# What orjson can write as an integer.
INT_MIN, INT_MAX = -(2**63), 2**64 - 1


class BigInteger(str):
    """The digits of an integer beyond 64 bits, which orjson cannot write; in a text it is the number that it was."""

    __slots__ = ()


_SAFE = frozenset({str, int, bool, type(None), BigInteger})  # what orjson writes, or refuses where it is odd
_MANY = 32  # members or elements from which it is faster to look at all of their types first
_ONLY_PLAIN = orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
_LONGEST = 200  # characters of a path in a warning
_TOO_DEEP = "[nested too deep to be written]"
_WITHHELD = "[withheld: no path reaches here, and something here may be private]"


def to_plain(value: Any, *, closed: bool = False) -> Any:
    """Return the value itself where it is plain, else a plain copy, without a word about what had to change."""
    return value if json_if_plain(value) is not None else open_carefully(value, closed=closed).whole


def json_if_plain(value: Any, depth: int = 0, default: Callable[[Any], str] | None = None) -> bytes | None:
    """Return a plain object's or list's compact JSON, and None for any other value."""
    # Looked at first: orjson 3.13 follows tuples of any depth, and then overwrites memory.
    if (type(value) is not dict and type(value) is not list) or not _may_be_plain(value, depth):
        return None
    try:
        return orjson.dumps(value, default, _ONLY_PLAIN)
    except TypeError:
        return None


def json_digest(value: dict[str, Any] | list[Any]) -> int | None:
    """Return a number that changes with the value's JSON, within this process; None where it is not plain data."""
    compact_json = json_if_plain(dict(value) if isinstance(value, dict) else list(value), default=_digits)
    return None if compact_json is None else hash(compact_json)


def _digits(value: Any) -> str:
    """Return what stands for a value that orjson refuses: a big integer is written as its digits."""
    if type(value) is BigInteger:
        return str(value)
    raise TypeError(type(value).__name__)


def _may_be_plain(value: dict[str, Any] | list[Any], depth: int) -> bool:
    """Whether data holds nothing but plain data, as far as orjson would not refuse it."""
    if depth > DEEPEST:
        return False
    items: Collection[Any] = value.values() if type(value) is dict else value
    if len(value) > _MANY and _SAFE.issuperset(map(type, items)):
        return True
    for item in items:
        kind = type(item)
        if kind in _SAFE:
            continue
        if kind is dict or kind is list:
            if not _may_be_plain(item, depth + 1):
                return False
        elif kind is not float or not math.isfinite(item):
            return False
    return True


def json_if_shallow(value: Any) -> bytes | None:
    """Return the compact JSON of data read from JSON; None where it is nested deeper than other steps can follow."""
    # In so many lists, orjson refuses what is too deep, and no walk has to look for it.
    for _ in range(_AROUND):
        value = [value]
    try:
        return orjson.dumps(value)[_AROUND:-_AROUND]
    except TypeError:  # or an integer is too large, or there is half of a surrogate pair
        return None


def reads_once(value: Any) -> bool:
    """Whether looking at a value would use it up, as a generator in it does."""
    try:
        open_carefully(value, reads=False)
    except OneShotError:
        return True
    return False


@dataclass(slots=True)
class Opened:
    """The plain form of a value, and what had to change for it."""

    value: Any = None
    whole: Any = None  # the plain value with its default fields still in it
    warnings: list[Warned] = field(default_factory=list)
    defaults: Counter[str] = field(default_factory=Counter)  # fields that were left out, by path
    consumed: bool = False  # a generator was read, so the raw value cannot be read again
    cut_short: bool = False  # and it broke off before its end

    @property
    def omissions(self) -> list[Omission]:
        """The default fields that were left out, those of all elements of a list together."""
        return [Omission(path, count, "default") for path, count in self.defaults.items()]


def open_carefully(value: Any, *, drop_defaults: bool = False, closed: bool = False, reads: bool = True) -> Opened:
    """Open a value, warn about what had to change, and leave out default fields where asked.

    `closed` holds back what no path could reach: text made of an object, what is nested too deep, a key said twice.
    Without `reads`, a generator raises OneShotError and is not read.
    """
    walk = _CarefulWalk(closed=closed, reads=reads)
    found = walk.found
    found.value = found.whole = walk.plain(value, None, 0)
    if drop_defaults and not found.consumed:
        again = _CarefulWalk(closed=closed, drop=True)
        found.value, found.defaults = again.plain(value, None, 0), again.found.defaults
    return found


class _CarefulWalk:
    """One walk over a value: the containers on the way down, to see cycles, and what was noted."""

    def __init__(self, *, closed: bool, reads: bool = True, drop: bool = False) -> None:
        self.closed = closed
        self.reads = reads
        self.drop = drop
        self.found = Opened()
        self.above: dict[int, Trail] = {}
        self.warned: dict[tuple[str, str], int] = {}  # which warning is of one kind of place

    def plain(self, value: Any, trail: Trail, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            return value if value.isascii() else self.text(value, trail)
        if kind is bool or value is None:
            return value
        if kind is int:
            return value if INT_MIN <= value <= INT_MAX else self.integer(value, trail)
        if kind is float:
            return value if math.isfinite(value) else self.number(value, trail)
        if id(value) in self.above:
            return self.cycle(value, trail)
        if depth > DEEPEST:
            return self.too_deep(value, trail)
        self.above[id(value)] = trail
        try:
            return self.container(value, trail, depth)
        finally:
            del self.above[id(value)]

    def container(self, value: Any, trail: Trail, depth: int) -> Any:
        if type(value) is dict:
            return self.members(value, trail, depth)
        if type(value) is list:
            return [self.plain(item, (trail, i), depth + 1) for i, item in enumerate(value)]
        if self.drop and (kept := self.without_defaults(value, trail)) is not None:
            return self.members(kept, trail, depth)
        opened = self.opened(value, trail)
        return opened if json_if_plain(opened, depth) is not None else self.plain(opened, trail, depth + 1)

    def opened(self, value: Any, trail: Trail) -> Any:
        try:
            return open_known(value)
        except UnknownTypeError as unknown:
            self.warn("UNKNOWN_TYPE", f"a value of type {unknown} has no JSON form; its text stands for it", trail)
            return unknown.kind if self.closed else unknown.text
        except OneShotError:
            if not self.reads:
                raise
            self.found.consumed = True
            return self.read(value, trail)

    def read(self, items: Iterator[Any], trail: Trail) -> list[Any]:
        """Read what can be read only once; what it raises on the way must not cost what it gave before."""
        given: list[Any] = []
        try:
            given.extend(items)
        except Exception as error:  # noqa: BLE001 (a tool's generator may raise anything)
            self.found.cut_short = True
            self.warn(
                "CUT_SHORT", f"reading stopped after {counted(len(given), 'item')}: {type(error).__name__}", trail
            )
        return given

    def members(self, value: dict[Any, Any], trail: Trail, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, item in value.items():
            name = key if type(key) is str and key.isascii() else self.text(key_text(key), trail)
            if name in out:
                second = free_name(name, out)
                self.warn("KEY_COLLISION", f"two keys are both written {name!r}; the later one is {second}", trail)
                name = second
                item = _WITHHELD if self.closed else item  # noqa: PLW2901 (the new name is on no list of private ones)
            out[name] = self.plain(item, (trail, name), depth + 1)
        return out

    def without_defaults(self, value: Any, trail: Trail) -> dict[str, Any] | None:
        if is_model(value):
            whole = value.model_dump(mode="json", by_alias=True, warnings=False)
            kept = value.model_dump(mode="json", by_alias=True, warnings=False, exclude_defaults=True)
        else:
            declared = declared_fields(value)
            if declared is None:
                return None
            whole = {name: item for name, item, _ in declared}
            kept = {name: item for name, item, default in declared if not _same(item, default)}
        self.found.defaults.update(write_trail((trail, name), general=True) for name in whole if name not in kept)
        return kept

    def text(self, value: str, trail: Trail) -> str:
        try:
            value.encode()
        except UnicodeEncodeError:
            self.warn("LONE_SURROGATE", "a lone surrogate is no text; it is written as its escape", trail)
            return value.encode(errors="backslashreplace").decode()
        return value

    def integer(self, value: int, trail: Trail) -> str:
        self.warn("BIG_INTEGER", "an integer beyond 64 bits is a string in structured data", trail)
        try:
            return BigInteger(value)
        except ValueError:  # beyond sys.set_int_max_str_digits
            return hex(value)

    def number(self, value: float, trail: Trail) -> str:
        name = number_name(value)
        self.warn("NOT_A_NUMBER", f"JSON has no {name}; it is written as a string", trail)
        return name

    def cycle(self, value: Any, trail: Trail) -> str:
        above = write_trail(self.above[id(value)]) or "the top"
        self.warn("CYCLE", f"the value contains itself: here stands {above} again", trail)
        return f"[cycle: {above}]"

    def too_deep(self, value: Any, trail: Trail) -> str:
        stands = "is withheld" if self.closed else "stands as JSON text"
        self.warn("TOO_DEEP", f"nested deeper than {DEEPEST} levels: what is below {stands}", trail)
        if self.closed:
            return _WITHHELD
        try:
            return json.dumps(value, default=open_value)
        except (TypeError, ValueError, RecursionError, OneShotError):  # odd keys, a cycle, hundreds of levels more
            return _TOO_DEEP

    def warn(self, code: str, message: str, trail: Trail) -> None:
        """Warn of a place, once for all elements of a list."""
        warnings, general = self.found.warnings, write_trail(trail, general=True)[:_LONGEST]
        at = self.warned.setdefault((code, general), len(warnings))
        path = write_trail(trail)[:_LONGEST] if at == len(warnings) else general
        warnings[at : at + 1] = [Warned(code, message, path or None)]


def _same(value: Any, default: Any) -> bool:
    """Compare as data: 0 is not False, and a comparison that fails or is not a boolean means different."""
    if type(value) is not type(default):
        return False
    try:
        return bool(value == default)
    except Exception:  # noqa: BLE001 (a user's __eq__ may raise anything, e.g. on arrays)
        return False


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
