"""Any Python value becomes plain JSON data: dicts with string keys, lists, strings, numbers, booleans and None."""

from __future__ import annotations

import math
from typing import Any

from shaping.values.careful import DEEPEST, INT_MAX, INT_MIN, open_carefully
from shaping.values.opening import OneShotError, UnknownTypeError, key_text, open_known


class OddError(Exception):
    """The fast walk met something that must be warned about; the careful walk takes over."""


def to_plain(value: Any, *, closed: bool = False) -> Any:
    """Return the plain form of a value, without a word about what had to change."""
    try:
        return plain(value, 0)
    except OddError:
        return open_carefully(value, closed=closed).whole


def plain(value: Any, depth: int) -> Any:
    """Return the value itself where it is plain, else a plain copy; raise OddError at what needs a warning."""
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
    return plain(opened, depth + 1)


def shallow(value: Any, written: bytes) -> bool:
    """Whether data read from JSON, which is plain otherwise, is nested no deeper than the other steps can follow."""
    if written.count(b"[") + written.count(b"{") <= DEEPEST:
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
    out: dict[str, Any] | None = None
    for key, item in value.items():
        if type(key) is not str or not (key.isascii() or _encodable(key)):
            return _rekeyed(value, depth)
        kind = type(item)
        if kind is bool or item is None or (kind is str and item.isascii()):
            continue
        new = plain(item, depth + 1)
        if new is not item:
            if out is None:
                out = dict(value)
            out[key] = new
    return value if out is None else out


def _plain_list(value: list[Any], depth: int) -> list[Any]:
    if depth > DEEPEST:
        raise OddError
    out: list[Any] | None = None
    for index, item in enumerate(value):
        kind = type(item)
        if kind is bool or item is None or (kind is str and item.isascii()):
            continue
        new = plain(item, depth + 1)
        if new is not item:
            if out is None:
                out = list(value)
            out[index] = new
    return value if out is None else out


def _rekeyed(value: dict[Any, Any], depth: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, item in value.items():
        text = key_text(key)
        if text in out or not (text.isascii() or _encodable(text)):
            raise OddError
        out[text] = plain(item, depth + 1)
    return out


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def reads_once(value: Any) -> bool:
    """Whether looking at a value would use it up, as a generator in it does."""
    try:
        plain(value, 0)
    except OddError:
        try:
            open_carefully(value, reads=False)
        except OneShotError:
            return True
    return False
