"""Any Python value becomes plain JSON data: dicts with string keys, lists, strings, numbers, booleans and None."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import orjson

from shaping.values.careful import DEEPEST, INT_MAX, INT_MIN, open_carefully
from shaping.values.opening import OneShotError, UnknownTypeError, key_text, open_known

if TYPE_CHECKING:
    from collections.abc import Collection

_SAFE = frozenset({str, int, bool, type(None)})  # what orjson writes, or refuses where it is odd
_MANY = 32  # members or elements from which it is faster to look at all of their types first
_ONLY_PLAIN = orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


class OddError(Exception):
    """The fast walk met something that must be warned about; the careful walk takes over."""


def to_plain(value: Any, *, closed: bool = False) -> Any:
    """Return the plain form of a value, without a word about what had to change."""
    try:
        return plain(value)
    except OddError:
        return open_carefully(value, closed=closed).whole


def plain(value: Any) -> Any:
    """Return the value itself where it is plain, else a plain copy; raise OddError at what needs a warning."""
    return _plain(value, 0) if plain_json(value) is None else value


def plain_json(value: Any) -> bytes | None:
    """Return a plain object's or list's compact JSON, and None for any other value."""
    if type(value) is not dict and type(value) is not list:
        return None
    try:
        written = orjson.dumps(value, option=_ONLY_PLAIN)
    except (TypeError, RecursionError):
        return None
    return written if _is_plain(value, 0) else None


def _is_plain(value: dict[str, Any] | list[Any], depth: int) -> bool:
    """Whether data that orjson could write holds nothing but plain data."""
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
            if not _is_plain(item, depth + 1):
                return False
        elif kind is not float or not math.isfinite(item):
            return False
    return True


def _plain(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is dict:
        return _plain_dict(value, depth)
    if kind is list:
        return _plain_list(value, depth)
    if kind is str:
        if value.isascii() or _encodable(value):
            return value
        raise OddError
    if kind is bool or value is None:
        return value
    if kind is int:
        if INT_MIN <= value <= INT_MAX:
            return value
        raise OddError
    if kind is float:
        if math.isfinite(value):
            return value
        raise OddError
    if depth > DEEPEST:
        raise OddError
    try:
        opened = open_known(value)
    except (OneShotError, UnknownTypeError):
        raise OddError from None
    return _plain(opened, depth + 1)


def shallow(value: Any, compact_json: bytes) -> bool:
    """Whether data read from JSON, which is plain otherwise, is nested no deeper than the other steps can follow."""
    if compact_json.count(b"[") + compact_json.count(b"{") <= DEEPEST:
        return True
    level = [value]
    for _ in range(DEEPEST + 1):
        inside = (one.values() if type(one) is dict else one for one in level)
        level = [item for items in inside for item in items if type(item) is dict or type(item) is list]
        if not level:
            return True
    return False


def _plain_dict(value: dict[Any, Any], depth: int) -> dict[str, Any]:
    if depth > DEEPEST:
        raise OddError
    out: dict[str, Any] = {}
    for key, item in value.items():
        text = key if type(key) is str else key_text(key)
        if text in out or not (text.isascii() or _encodable(text)):
            raise OddError
        out[text] = _plain(item, depth + 1)
    return out


def _plain_list(value: list[Any], depth: int) -> list[Any]:
    if depth > DEEPEST:
        raise OddError
    return [_plain(item, depth + 1) for item in value]


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def reads_once(value: Any) -> bool:
    """Whether looking at a value would use it up, as a generator in it does."""
    try:
        plain(value)
    except OddError:
        try:
            open_carefully(value, reads=False)
        except OneShotError:
            return True
    return False
