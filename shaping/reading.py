"""JSON that somebody else wrote, read without rounding."""

from __future__ import annotations

from typing import Any

import orjson
from pydantic_core import from_json


def read_json(text: str | bytes) -> Any:
    """Read JSON, or raise `orjson.JSONDecodeError`; an integer beyond 64 bits stays the integer it is."""
    try:
        # orjson is faster, but makes a float of such an integer; looking for one first takes longer than this.
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        return orjson.loads(text)
