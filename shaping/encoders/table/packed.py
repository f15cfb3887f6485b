"""JSON that stands in strings: written as the data that it is, and put back into strings when it is read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson

from shaping.parsers.json import read_json

if TYPE_CHECKING:
    from collections.abc import Callable

# How a string writes its JSON, by the words that say so.
FORMS: dict[str, Callable[[Any], str]] = {
    "JSON in a string": lambda value: orjson.dumps(value).decode(),
    "spaced JSON in a string": lambda value: json.dumps(value, ensure_ascii=False),
    "indented JSON in a string": lambda value: json.dumps(value, ensure_ascii=False, indent=2),
}


def opened(column: list[str]) -> tuple[str, list[Any]] | None:
    """Return the objects or lists that strings hold, and how all of them are written, or None."""
    if len({text[:1] for text in column}) > 1:  # objects and lists
        return None
    try:
        values = list(map(read_json, column))
    except orjson.JSONDecodeError:
        return None
    if not all(values):
        return None
    for form, write in FORMS.items():
        if all(write(value) == text for value, text in zip(values, column, strict=True)):
            return form, values
    return None
