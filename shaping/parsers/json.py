"""JSON, read so that what is written back is the same JSON again."""

from __future__ import annotations

from typing import Any

import orjson
from pydantic_core import from_json


def parse(text: str) -> Any:
    """Return the object or list that a text of JSON holds, also where the JSON stands in a JSON string."""
    start = text.lstrip()[:1]
    if start not in {"{", "[", '"'}:
        return None
    try:
        value = read_json(text)
    except (orjson.JSONDecodeError, RecursionError):
        return None
    if type(value) is str:
        return parse(value) if len(value) < len(text) else None
    return value if type(value) in {dict, list} else None


def read_json(text: str | bytes) -> Any:
    """Read JSON, or raise `orjson.JSONDecodeError`; an integer beyond 64 bits stays the integer it is."""
    value = orjson.loads(text)
    try:
        # orjson makes a float of such an integer; looking for one first takes longer than reading twice.
        return from_json(text)
    except ValueError:  # nested deeper than it goes
        return value
