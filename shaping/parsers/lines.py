"""Several JSON values: one a line, or one after the other as `jq` prints them."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import orjson

from shaping.parsers.json import read_json

_SPACE: Final = re.compile(r"\s*")


def parse(text: str) -> list[Any] | None:
    """Return the objects and lists that stand in a text, each on its own line or right after the one before it."""
    if text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        return [_object_or_list(read_json(line)) for line in text.splitlines() if line.strip()]
    except ValueError:
        return _documents(text.strip())


def _documents(text: str) -> list[Any] | None:
    decoder, at, found = json.JSONDecoder(), 0, []
    try:
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            found.append(_object_or_list(value))
            at = _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing too
        # Between them they refuse what plain data cannot hold: infinity, wide integers, lone surrogates.
        json.dumps(found, allow_nan=False)
        orjson.dumps(found)
    except (ValueError, TypeError, RecursionError):
        return None
    return found if len(found) > 1 else None


def _object_or_list(value: Any) -> Any:
    if not isinstance(value, (dict, list)):
        raise ValueError("a bare value may be a word of a text")  # noqa: TRY004 (both callers take any ValueError for text)
    return value
