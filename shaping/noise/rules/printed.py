"""What a program printed, under a name such as `stdout` or `logs`, is shortened as a text of its own would be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaping.encoders import encode
from shaping.noise.rule import NoiseRule
from shaping.noise.text import reduce_text
from shaping.noise.vocabulary import meaning
from shaping.parsers import EXACT, FORMATS, parse_if_cheaper

if TYPE_CHECKING:
    from typing import Any

    from shaping.noise.records import Records

_ROWS = tuple(name for name in FORMATS if name not in EXACT)
_GROUPS = frozenset({"boilerplate", "bulk"})
_LINES = 8  # of a text that may have something to shorten


def printed(records: Records) -> None:
    """Write rows that stand in a long text as a table, and passed tests and the frames of libraries as their number."""
    for key in records.members("long"):
        if key in records.drop or key in records.replace or key in records.arguments or not meaning(key).printed:
            continue
        column = records.column(key)
        out = [_shortened(value) if type(value) is str and value.count("\n") >= _LINES else value for value in column]
        count = sum(1 for old, new in zip(column, out, strict=True) if old is not new)
        if count:
            records.replace_member(key, out, count, "boilerplate")


def _shortened(text: str) -> Any:
    found = parse_if_cheaper(text, _ROWS)
    if found is not None:
        return encode(found.value).text
    reduced, omissions = reduce_text(text, _GROUPS)
    return reduced if omissions else text


RULE = NoiseRule("boilerplate", ("long",), printed)
