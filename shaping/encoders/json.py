"""JSON without a space: what every other form is measured against."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from shaping.parsers.json import read_json

if TYPE_CHECKING:
    from shaping.response import Json


def encode(value: Json) -> str:
    """Write any value."""
    return orjson.dumps(value).decode()


def decode(text: str) -> Json:
    """Read it back."""
    value: Json = read_json(text)
    return value
