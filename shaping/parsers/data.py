"""Data that a tool sent as text: JSON, JSON in a JSON string, a Python repr, a JSON value a line."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import orjson

from shaping.parsers.json import read_json

if TYPE_CHECKING:
    from shaping.response import Json

_LARGEST_REPR = 2_000_000  # characters; the parser of Python literals is slow and deep


def read_text(text: str) -> Json | None:
    """Return the list or object a text holds, or None where it is just text."""
    start = text.lstrip()[:1]
    if start in ("{", "["):
        readings = (read(text) for read in (_json, _lines, _repr))
        return next((value for value in readings if value is not None), None)
    if start == '"':
        inner = _loaded(text)
        return read_text(inner) if type(inner) is str else None
    return None


def _json(text: str) -> Json | None:
    value = _loaded(text)
    return value if type(value) in (dict, list) else None


def _loaded(text: str) -> Any:
    try:
        value = orjson.loads(text)
        # A number that would be rounded is better read in the text it stands in.
        return value if read_json(text) == value else None
    except (orjson.JSONDecodeError, RecursionError):
        return None


def _lines(text: str) -> Json | None:
    """Return one JSON value a line as a list."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2 or not lines[0].rstrip().endswith(("}", "]")):
        return None
    values = [_json(line) for line in lines]
    return None if None in values else values


def _repr(text: str) -> Json | None:
    if "'" not in text or len(text) > _LARGEST_REPR:
        return None
    try:
        return _plain(ast.literal_eval(text.strip()))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _plain(value: Any) -> Json:
    if type(value) is dict:
        if not all(type(key) is str for key in value):
            raise TypeError("a Python dict with other keys than strings is not JSON")
        return {key: _plain(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return [_plain(item) for item in value]
    if value is None or type(value) in (str, int, float, bool):
        orjson.dumps(value)  # refuses what JSON cannot hold: a lone surrogate, an integer past 64 bits
        return value  # type: ignore[no-any-return]
    raise TypeError(f"{type(value).__name__} is not JSON")
