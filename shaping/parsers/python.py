"""Data as Python prints it: a list, tuple or dict of plain values."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from shaping.response import Json

_LARGEST = 2_000_000  # characters; the parser of Python literals is slow and deep


def parse(text: str) -> Json | None:
    """Return the data that the repr of a list, a tuple or a dict shows, where JSON can hold it."""
    if text.lstrip()[:1] not in {"{", "[", "("} or "'" not in text or len(text) > _LARGEST:
        return None
    try:
        value = _plain(ast.literal_eval(text.strip()))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return value if type(value) in {dict, list} else None


def _plain(value: Any) -> Json:
    if type(value) is dict:
        if not all(type(key) is str for key in value):
            raise TypeError("a Python dict with other keys than strings is not JSON")
        return {key: _plain(item) for key, item in value.items()}
    if type(value) in {list, tuple}:
        return [_plain(item) for item in value]
    if value is None or type(value) in {str, int, float, bool}:
        orjson.dumps(value)  # refuses what JSON cannot hold: a lone surrogate, an integer past 64 bits
        return value  # type: ignore[no-any-return]
    raise TypeError(f"{type(value).__name__} is not JSON")
