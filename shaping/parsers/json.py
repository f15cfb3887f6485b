"""JSON, read so that what is written back is the same JSON again."""

from __future__ import annotations

import json
from typing import Any

import orjson
from pydantic_core import SchemaValidator, core_schema, from_json

# Whether a text has a number of 19 digits, looked for by Rust's regex engine, which is faster than to parse twice.
_has_long_number = SchemaValidator(
    core_schema.str_schema(pattern="[0-9]{19}", regex_engine="rust-regex")
).isinstance_python


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
    """Read JSON, or raise `orjson.JSONDecodeError`; an integer beyond 64 bits, of which orjson makes a float, stays."""
    value = orjson.loads(text)
    if not _has_long_number(text):
        return value
    try:
        return from_json(text)
    except ValueError:  # nested deeper than it goes
        return value


def write_json(value: Any, option: int = 0) -> bytes:
    """Write JSON, with integers beyond 64 bits too; the option is orjson's."""
    try:
        return orjson.dumps(value, option=option)
    except TypeError:
        return json.dumps(
            value, ensure_ascii=False, separators=(",", ":"), sort_keys=bool(option & orjson.OPT_SORT_KEYS)
        ).encode()
