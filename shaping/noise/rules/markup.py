"""Wrapping is taken off the strings of records: tags around text, tracking parameters, inline images."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shaping.noise.rule import NoiseRule
from shaping.noise.unwrap import may_be_wrapped, unwrap, unwrap_code
from shaping.noise.vocabulary import MARKUP_FILES, meaning

if TYPE_CHECKING:
    from shaping.noise.records import Records

_FILE = re.compile(rf"\.(?:{MARKUP_FILES})$")
_NAME = 400  # characters of the name of a file


def markup(records: Records) -> None:
    """Take the wrapping off the strings of records."""
    for key in records.members("markup", "long", "base64", "link"):
        if key in records.drop:
            continue
        column = records.column(key)
        if (wrapped := may_be_wrapped(column)) is None:
            continue
        step = unwrap_code if _is_markup(key, records) else unwrap
        out = [step(value) if may else value for value, may in zip(column, wrapped, strict=True)]
        count = sum(1 for old, new in zip(column, out, strict=True) if old is not new)
        if count:
            records.replace[key] = out
            records.changed.setdefault(key, (count, "boilerplate"))


def _is_markup(key: str, records: Records) -> bool:
    """Whether tags are what a member is about: by its name, or because its record is a file of such."""
    if meaning(key).source:
        return True
    return any(type(value) is str and len(value) < _NAME and _FILE.search(value) for value in records.rows[0].values())


RULE = NoiseRule("boilerplate", ("markup", "long", "base64", "link"), markup)
