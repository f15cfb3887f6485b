"""Data as JSON, as several values of JSON, or as Python prints it; what is read is written back the same."""

from __future__ import annotations

import ast
import json
import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING, Any, Final

import orjson
from pydantic_core import from_json

from shaping.parsers.terminal import matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shaping.response import Json


# Faster than to parse twice.
_has_long_number = matcher("[1-9][0-9]{18}")


_TINY: Final = 100  # characters of JSON in which the quotes around `NaN` may cost more than anything saves


def parse_json(text: str) -> Any:
    """Return the object or list that a text of JSON holds, also where the JSON stands in a JSON string."""
    start = text.lstrip()[:1]
    if start not in {"{", "[", '"'}:
        return None
    try:
        value = read_json(text)
    except (orjson.JSONDecodeError, RecursionError):
        named = len(text) > _TINY and ("NaN" in text or "Infinity" in text)
        found = _documents(text.strip()) if named else []
        return found[0] if len(found) == 1 else None
    if type(value) is str:
        return parse_json(value) if len(value) < len(text) else None
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


def read_json_or_text(text: str) -> Any:
    """Return the JSON that a text is, or the text."""
    try:
        return read_json(text)
    except ValueError:
        return text


def write_json(value: Any, option: int = 0) -> bytes:
    """Write JSON, with integers beyond 64 bits too; the option is orjson's."""
    try:
        return orjson.dumps(value, option=option)
    except TypeError:
        return json.dumps(
            value, ensure_ascii=False, separators=(",", ":"), sort_keys=bool(option & orjson.OPT_SORT_KEYS)
        ).encode()


_SPACE: Final = re.compile(r"\s*")


def parse_lines(text: str) -> list[Any] | None:
    """Return the objects and lists that stand in a text, each on its own line or right after the one before it."""
    if text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        return [_object_or_list(read_json(line)) for line in text.splitlines() if line.strip()]
    except ValueError:
        found = _documents(text.strip())
        return found if len(found) > 1 else None


def _documents(text: str) -> list[Any]:
    """Return the objects and lists that follow each other; what Python writes of numbers that JSON lacks is words."""
    decoder, at, found = json.JSONDecoder(parse_constant=str), 0, list[Any]()
    try:
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            found.append(_object_or_list(value))
            at = _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing too
        # Between them they refuse what plain data cannot hold: infinity, wide integers, lone surrogates.
        json.dumps(found, allow_nan=False)
        orjson.dumps(found)
    except (ValueError, TypeError, RecursionError):
        return []
    return found


def _object_or_list(value: Any) -> Any:
    if not isinstance(value, (dict, list)):
        raise ValueError("a bare value may be a word of a text")  # noqa: TRY004 (both callers take any ValueError for text)
    return value


# Values that rows of a database have, as Python prints them.
_CONSTRUCTED: Final = re.compile(
    r"\b(?:UUID|ObjectId|Decimal|PosixPath|datetime|date|time|timedelta|Timestamp|(?:float|int)(?:32|64))\("
)


class _Constructed(ast.NodeTransformer):
    """Replaces `UUID('…')`, `datetime.datetime(2026, 4, 16, …)` and the like by texts that say the same."""

    def visit_Call(self, node: ast.Call) -> ast.Constant:
        value = _constructed(node)
        if isinstance(value, date | time):
            value = value.isoformat()
        return ast.Constant(value if type(value) in {int, float} else str(value))


def _constructed(node: ast.expr) -> Any:
    """Return the value of a constructor that is known, or raise a KeyError; anything else is a literal."""
    if isinstance(node, ast.Attribute) and node.attr == "utc":
        return UTC
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    make = _CONSTRUCTORS[ast.unparse(node.func).rpartition(".")[2]]
    return make(*map(_constructed, node.args), **{one.arg or "": _constructed(one.value) for one in node.keywords})


def _zone(key: str) -> tzinfo:
    from zoneinfo import ZoneInfo  # noqa: PLC0415 (loaded only for times with a named zone: costs 2 ms)

    return ZoneInfo(key)


def _timestamp(said: str, **_: Any) -> str:
    return said  # with its offset; the name of a zone only says it again


_CONSTRUCTORS: Final[Mapping[str, Callable[..., Any]]] = {
    "UUID": str, "ObjectId": str, "Decimal": str, "PosixPath": str, "datetime": datetime, "date": date, "time": time,
    "timedelta": timedelta, "timezone": timezone, "ZoneInfo": _zone, "Timestamp": _timestamp,
    # A time without an offset is local time.
    "tzlocal": lambda: None, "tzutc": lambda: UTC,
    "float64": float, "float32": float, "int64": int, "int32": int,
}  # fmt: skip
_LARGEST_LITERAL = 500_000  # characters; the parser of Python literals is slow and deep


def parse_python(text: str) -> Json | None:
    """Return the data that the repr of a list, a tuple or a dict shows, where JSON can hold it."""
    if text.lstrip()[:1] not in {"{", "[", "("} or "'" not in text or len(text) > _LARGEST_LITERAL:
        return None
    try:
        if "\\" not in text and not _has_long_number(text):
            return _with_json_quotes(text)
    except orjson.JSONDecodeError:
        pass  # it has more than JSON's own kinds of values
    try:
        tree = _Constructed().visit(ast.parse(text.strip(), mode="eval")) if _CONSTRUCTED.search(text) else text.strip()
        value = _plain(ast.literal_eval(tree))
    except (ValueError, KeyError, OverflowError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return value if type(value) in {dict, list} else None


_STRING: Final = re.compile(r"""('[^']*'|"[^"]*")""")


def _with_json_quotes(text: str) -> Json:
    """Read the repr of a list or a dict without escapes as the JSON that it nearly is: ten times faster."""
    parts = _STRING.split(text)
    parts[1::2] = [said if said[0] == '"' else '"' + said[1:-1].replace('"', '\\"') + '"' for said in parts[1::2]]
    # What stands between strings is mostly the same few signs.
    written = {
        part: part.replace("None", "null").replace("True", "true").replace("False", "false") for part in set(parts[::2])
    }
    parts[::2] = map(written.__getitem__, parts[::2])
    value: Json = orjson.loads("".join(parts))
    return value


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
