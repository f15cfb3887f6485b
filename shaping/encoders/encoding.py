"""The formats, and the choice of the cheapest of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from shaping.encoders import formats, table
from shaping.tokens.sampling import cheap

if TYPE_CHECKING:
    from collections.abc import Callable

    from shaping.response import Json

# Measured on 1,660 values of 90 tools: a text this much shorter than compact JSON, or this much where both are longer
# than a screen, never has more tokens. In between, the guess of its tokens must be under this share of that for JSON.
_SHORTER, _SHORTER_AT_LENGTH, _SCREEN, _CHEAPER = 0.9, 0.93, 1500, 0.85
# Where lines stand as lines and not in quotes, which is cheaper than it is shorter, unless most begin with a digit:
# those cannot share a token with the space before them.
_SHORTER_BY_LINES, _DIGIT_LINES, _LINE_BREAK, _BEFORE_DIGIT = 1.02, 0.25, b"\\n", re.compile(rb"\\n\d")
_SMALL = 200  # characters of JSON below which a header costs more than the keys it saves


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write data as text, or None where a value has no such form, and to read it back exactly."""

    encode: Callable[[Json], str | None]
    decode: Callable[[str], Json]


FORMATS: dict[str, Format] = {
    "json": Format(formats.encode_json, formats.decode_json),
    "table": Format(table.encode, table.decode),
    "markdown": Format(formats.encode_markdown, formats.decode_markdown),
    "csv": Format(formats.encode_csv, formats.decode_csv),
    "toon": Format(formats.encode_toon, formats.decode_toon),
}


class UnknownEncodingError(ValueError):
    """No encoding has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"encoding is {name!r}; expected auto, {', '.join(sorted(FORMATS))}")


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text, the encoding it is in, and what a caller should know about the choice."""

    text: str
    encoding: str
    notes: tuple[str, ...] = ()


def encode(
    value: Json,
    encoding: str = "auto",
    *,
    repeats: bool = True,
    constants: bool = True,
    lossless: bool = True,
    compact: bytes | None = None,
) -> Encoded:
    """Write a value; `auto` takes the cheapest form by tokens and never one larger than compact JSON.

    Every format reads back exactly; one that need not be `lossless` may also put what comes back further from its row.
    `compact` is the value's compact JSON, where it is known.
    """
    if encoding == "auto":
        dumped = orjson.dumps(value) if compact is None else compact
        return _cheapest(value, dumped, repeats=repeats, constants=constants, lossless=lossless)
    if encoding == "table":
        return Encoded(table.encode(value, repeats=repeats, constants=constants, lossless=lossless), "table")
    if (text := _format(encoding).encode(value)) is not None:
        return Encoded(text, encoding)
    return Encoded(formats.encode_json(value), "json", (f"{encoding} is for lists of records; this is compact JSON",))


def decode(text: str, encoding: str) -> Json:
    """Read back what `encode` wrote."""
    return _format(encoding).decode(text)


def _cheapest(value: Json, dumped: bytes, *, repeats: bool, constants: bool, lossless: bool) -> Encoded:
    # Mostly only the length is asked for, and what is ASCII has it already.
    plain = dumped if dumped.isascii() else dumped.decode()
    if len(plain) < _SMALL:
        return Encoded(dumped.decode(), "json")
    text = table.encode(value, repeats=repeats, constants=constants, lossless=lossless)
    if _is_shorter(text, len(plain), dumped) or (len(text) < len(plain) and cheap(text) < _CHEAPER * cheap(plain)):
        return Encoded(text, "table")
    return Encoded(dumped.decode(), "json")


def _is_shorter(text: str, size: int, dumped: bytes) -> bool:
    """Return whether a text is so much shorter than JSON of this size that it cannot have more tokens."""
    if size < _SCREEN:
        return len(text) < _SHORTER * size
    if len(text) < _SHORTER_AT_LENGTH * size:
        return True
    lines = dumped.count(_LINE_BREAK) if len(text) < _SHORTER_BY_LINES * size else 0
    return lines > 0 and len(_BEFORE_DIGIT.findall(dumped)) < _DIGIT_LINES * lines


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise UnknownEncodingError(name)
    return FORMATS[name]
