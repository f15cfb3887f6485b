"""Data in what a program printed: JSON, a JSON value a line, CSV and TSV, aligned tables; anything else is text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.parsers.columns import read_aligned, read_separated
from shaping.parsers.json import read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

_SPACE: Final = re.compile(r"\s*")
_CONTRACT: Final = frozenset({"ok", "data", "error", "warnings", "meta"})


@dataclass(frozen=True, slots=True)
class Found:
    """Data that was recognised, and the form it was printed in."""

    value: Any
    form: str

    @property
    def exact(self) -> bool:
        """Whether the data says all that the text said: JSON does, tables lose how they were laid out."""
        return self.form in ("json", "lines")


def recognise(text: str, forms: Collection[str]) -> Found | None:
    """Find data in a text, in one of the forms asked for."""
    for form, read in _READ.items():
        if form in forms:
            value = read(text)
            if value is not None:
                return Found(value, form)
    return None


def speaks_contract(value: Any) -> bool:
    """Whether a program printed the invariant envelope, so that its exit codes are those of our table."""
    return isinstance(value, dict) and value.keys() == _CONTRACT and isinstance(value["meta"], dict)


def _json(text: str) -> Any:
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return read_json(text)
    except orjson.JSONDecodeError:
        return None


def _lines(text: str) -> Any:
    """Read several JSON values: one a line, or one after the other as `jq` prints them."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return [_structure(read_json(line)) for line in text.splitlines() if line.strip()]
    except ValueError:
        return _documents(text)


def _documents(text: str) -> Any:
    decoder, at, found = json.JSONDecoder(), 0, []
    text = text.strip()
    try:
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            found.append(_structure(value))
            at = _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing too
        # Between them they refuse what plain data cannot hold: infinity, wide integers, lone surrogates.
        json.dumps(found, allow_nan=False)
        orjson.dumps(found)
    except (ValueError, TypeError, RecursionError):
        return None
    return found if len(found) > 1 else None


def _structure(value: Any) -> Any:
    if not isinstance(value, (dict, list)):
        raise ValueError("a bare value may be a word of a text")  # noqa: TRY004 (both callers take any ValueError for text)
    return value


_READ: Mapping[str, Callable[[str], Any]] = {
    "json": _json,
    "lines": _lines,
    "csv": read_separated,
    "table": read_aligned,
}
