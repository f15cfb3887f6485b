"""Data as Python prints it: a list, tuple or dict of plain values."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from shaping.response import Json

_LONG_NUMBER = re.compile(r"[0-9]{19}")
_STRING = re.compile(r"""('[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+")""")
_ESCAPE = re.compile(r'\\(.)|"')
_ESCAPES = {
    "n": "\\n",
    "r": "\\r",
    "t": "\\t",
    "\\": "\\\\",
    "'": "'",
    '"': '\\"',
    "x": "\\u00",
    "u": "\\u",
    None: '\\"',
}
_LARGEST = 2_000_000  # characters; the parser of Python literals is slow and deep


def parse(text: str) -> Json | None:
    """Return the data that the repr of a list, a tuple or a dict shows, where JSON can hold it."""
    if text.lstrip()[:1] not in {"{", "[", "("} or "'" not in text or len(text) > _LARGEST:
        return None
    if (quick := _as_json(text)) is not None:
        return quick
    try:
        value = _plain(ast.literal_eval(text.strip()))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return value if type(value) in {dict, list} else None


def _as_json(text: str) -> Json | None:
    """Return the data of a repr that is JSON but for its quotes, its escapes and its words for null, true and false.

    Most are, and Python's own parser takes ten times as long. In doubt there is no data.
    """
    if _LONG_NUMBER.search(text):  # orjson would make a float of a wide integer
        return None
    between, strings = (parts := _STRING.split(text))[::2], parts[1::2]
    words = [one.replace("None", "null").replace("True", "true").replace("False", "false") for one in between]
    parts[::2], parts[1::2] = words, [_quoted(one) for one in strings]
    try:
        value = orjson.loads("".join(parts))
    except orjson.JSONDecodeError:
        return None
    return value if type(value) in {dict, list} else None


def _quoted(literal: str) -> str:
    """Write a string literal of Python as one of JSON; one with an escape that JSON does not have is no JSON."""
    inner = literal[1:-1]
    if "\\" in inner:
        return '"' + _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], "\\U"), inner) + '"'
    return '"' + inner.replace('"', '\\"') + '"'


def _plain(value: Any) -> Json:
    if type(value) is dict:
        if not all(type(key) is str for key in value):
            raise TypeError("a Python dict with other keys than strings is not JSON")
        return {key: _plain(item) for key, item in value.items()}
    if type(value) in {list, tuple}:
        return [_plain(item) for item in value]
    if value is None or type(value) in {str, int, float, bool}:
        orjson.dumps(value)  # refuses what JSON cannot hold: a lone surrogate, an integer past 64 bits
        return value  # type: ignore[no-any-return]
    raise TypeError(f"{type(value).__name__} is not JSON")
