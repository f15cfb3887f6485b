"""Writing parameters into a request: how arrays and objects look in a path, a query, a header or a cookie."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import orjson

from shaping.errors import ToolError

RESERVED = ":/?#[]@!$&'()*+,;="
DELIMITERS = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}


def text_of(value: Any) -> str:
    """Give a scalar as it stands in a URL or a header."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def in_path(name: str, value: Any, style: str, *, explode: bool) -> str:
    """Write a path parameter; one that would change the path itself is refused."""
    flat = _flat(value, explode=explode)
    pieces = [_path_piece(name, piece) for piece in flat]
    match style:
        case "label":
            return "." + ("." if explode else ",").join(pieces)
        case "matrix" if isinstance(value, (list, dict)) and explode:
            return "".join(f";{piece}" if isinstance(value, dict) else f";{name}={piece}" for piece in pieces)
        case "matrix":
            return f";{name}={','.join(pieces)}"
        case _:
            return ",".join(pieces)


def in_query(name: str, value: Any, style: str, *, explode: bool, reserved: bool = False) -> list[str]:
    """Write a query parameter as `name=value` pieces, already quoted."""
    safe = RESERVED if reserved else ""
    key = quote(name, safe="")
    if value is None:
        return []
    if isinstance(value, dict) and style == "deepObject":
        return [f"{key}[{quote(str(k), safe='')}]={quote(text_of(v), safe=safe)}" for k, v in value.items()]
    if isinstance(value, dict) and explode:
        return [f"{quote(str(k), safe='')}={quote(text_of(v), safe=safe)}" for k, v in value.items()]
    if isinstance(value, list) and explode:
        return [f"{key}={quote(text_of(item), safe=safe)}" for item in value]
    pieces = [quote(piece, safe=safe) for piece in _flat(value, explode=False)]
    return [f"{key}={DELIMITERS.get(style, ',').join(pieces)}"]


def in_header(name: str, value: Any, *, explode: bool) -> str:
    """Write a header or a cookie; control characters would start another header, so they are refused."""
    text = ",".join(_flat(value, explode=explode))
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise ToolError("BAD_ARGUMENT", f"{name} has control characters", phase="validation")
    return text


def _flat(value: Any, *, explode: bool) -> list[str]:
    if isinstance(value, dict):
        pairs = [(str(key), text_of(item)) for key, item in value.items()]
        return [f"{k}={v}" for k, v in pairs] if explode else [piece for pair in pairs for piece in pair]
    return [text_of(item) for item in value] if isinstance(value, list) else [text_of(value)]


def _path_piece(name: str, piece: str) -> str:
    if piece in {"", ".", ".."}:
        raise ToolError("BAD_ARGUMENT", f"{name} is {piece!r}, which would make another path", phase="validation")
    return quote(piece, safe="=" if "=" in piece else "")
