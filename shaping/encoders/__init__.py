"""What a model reads: data as text, in the cheapest form that is plain to read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from shaping.tokens import cheap, count

if TYPE_CHECKING:
    from types import ModuleType

    from shaping.encoders.formats import FORMATS
    from shaping.response import Json

__all__ = ["FORMATS", "Encoded", "UnknownEncodingError", "decode", "encode"]

# Measured on 1,660 values of 90 tools: a text this much shorter than compact JSON, or this much where both are longer
# than a screen, never has more tokens. In between, it is counted where a guess is under this share of that for JSON.
_SHORTER, _SHORTER_AT_LENGTH, _SCREEN, _CHEAPER = 0.9, 0.93, 1500, 0.85
# Where lines stand as lines and not in quotes, which is cheaper than it is shorter, unless most begin with a digit:
# those cannot share a token with the space before them. A few lines in much else say nothing about its price.
_SHORTER_BY_LINES, _LONG_LINES, _DIGIT_LINES = 1.02, 200, 0.25
_LINE_BREAK, _BEFORE_DIGIT = b"\\n", re.compile(rb"\\n\d")
_SMALL = 200  # characters of JSON below which a header costs more than the keys it saves


class UnknownEncodingError(ValueError):
    """No encoding has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"encoding is {name!r}; expected auto, {', '.join(sorted(_formats().FORMATS))}")


class Encoded(NamedTuple):
    """A text, and the encoding it is in: JSON where a format for lists of records was asked to write something else."""

    text: str
    encoding: str


def encode(
    value: Json,
    encoding: str = "auto",
    *,
    repeats: bool = True,
    constants: bool = True,
    lossless: bool = True,
    compact_json: bytes | None = None,
) -> Encoded:
    """Write a value; `auto` takes the cheapest form by tokens and never one larger than compact JSON.

    Every format reads back exactly; one that need not be `lossless` may give lists and JSON in strings another order.
    `compact_json` is the value's, where it is known.
    """
    compact_json = orjson.dumps(value) if compact_json is None else compact_json
    text: str | None = None
    if encoding == "table" or (encoding == "auto" and len(compact_json) >= _SMALL):
        table = _formats().table.encode(value, repeats=repeats, constants=constants, lossless=lossless)
        text = table if encoding == "table" or _is_cheaper(table, compact_json) else None
    elif encoding not in {"auto", "json"}:
        text = _format(encoding).encode(value)
    if text is None:
        return Encoded(compact_json.decode(), "json")
    return Encoded(text, "table" if encoding == "auto" else encoding)


def encode_lines(text: str) -> str:
    """Write a text with lines that are much alike written short, where that saves at least 10% of its tokens."""
    from shaping.encoders import lines  # noqa: PLC0415 (most answers are no text: costs 5 ms)

    return lines.encode(text)


def decode(text: str, encoding: str) -> Json:
    """Read back what `encode` wrote."""
    value: Json = _format(encoding).decode(text)
    return value


def holds_records(value: dict[str, Json]) -> bool:
    """Return whether a table shows the members of an object as its rows."""
    return set(map(type, value.values())) == {dict} and bool(_formats().table.holds_records(value))


def _is_cheaper(text: str, compact_json: bytes) -> bool:
    """Return whether a text has fewer tokens than the JSON of the same data."""
    # Mostly only the length is asked for, and what is ASCII has it already.
    plain = compact_json if compact_json.isascii() else compact_json.decode()
    if len(plain) < _SMALL:
        return False
    if _is_shorter(text, len(plain), compact_json):
        return True
    may_be = len(text) < len(plain) and cheap(text) < _CHEAPER * cheap(plain)
    return may_be and count(text) < count(compact_json.decode())


def _is_shorter(text: str, size: int, compact_json: bytes) -> bool:
    """Return whether a text is so much shorter than JSON of this size that it cannot have more tokens."""
    if size < _SCREEN:
        return len(text) < _SHORTER * size
    if len(text) < _SHORTER_AT_LENGTH * size:
        return True
    lines = compact_json.count(_LINE_BREAK) if len(text) < _SHORTER_BY_LINES * size else 0
    return lines * _LONG_LINES > size and len(_BEFORE_DIGIT.findall(compact_json)) < _DIGIT_LINES * lines


def _format(name: str) -> Any:
    if name not in _formats().FORMATS:
        raise UnknownEncodingError(name)
    return _formats().FORMATS[name]


def _formats() -> ModuleType:
    from shaping.encoders import formats  # noqa: PLC0415 (small answers and texts do without it: costs 15 ms)

    return formats


def __getattr__(name: str) -> Any:
    if name != "FORMATS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _formats().FORMATS
