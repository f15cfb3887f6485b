"""The calls: secrets out of a value, out of one written as JSON, out of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from shaping.redaction.grouping import grouped
from shaping.redaction.hide import suspect, suspect_json
from shaping.redaction.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.redaction.rules import Hit


def redact(value: Any, *, values: bool = True, names: bool = False, paths: Sequence[str] = ()) -> tuple[Any, list[Hit]]:
    """Give the value with every secret replaced by a mark, and the hits; the same object where there was none."""
    if not (names or paths or (values and suspect(value))):
        return value, []
    walk = Walk(paths, values=values, names=names)
    return walk.value(value), grouped(walk.hits)


def redact_json(written: bytes, *, values: bool = True, names: bool = False, paths: Sequence[str] = ()) -> bytes:
    """Give JSON with every secret replaced by a mark; what holds none is neither read nor written anew."""
    if not (names or paths or (values and suspect_json(written))):
        return written
    walk = Walk(paths, values=values, names=names)
    return orjson.dumps(walk.value(orjson.loads(written)))


def redact_text(text: str, *, values: bool = True, names: bool = False) -> tuple[str, list[Hit]]:
    """Give the text with every secret replaced by a mark, and the hits."""
    walk = Walk(values=values, names=names)
    return walk.value(text), walk.hits
