"""JSON that somebody else wrote, read without rounding."""

from __future__ import annotations

from typing import Any

import orjson
from pydantic_core import from_json


def read_json(text: str | bytes) -> Any:
    """Read JSON, or raise `orjson.JSONDecodeError`; an integer beyond 64 bits stays the integer it is."""
    value = orjson.loads(text)
    try:
        # orjson makes a float of such an integer; looking for one first takes longer than reading twice.
        return from_json(text)
    except ValueError:  # nested deeper than it goes
        return value
