"""Long strings that ride along with records are cut to a head: source files, licence texts, fixes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaping.noise.names import meaning

if TYPE_CHECKING:
    from shaping.noise.batch import Batch
    from shaping.types import Json

_LICENCE = (
    "permission is hereby granted",
    "apache license",
    "general public license",
    "redistribution and use in source",
    "mozilla public license",
    "warranty of merchantability",
)
_CODE = (";\n", "{\n", "}\n", "=> ", ");", "</", "def ", "import ", "function ", "var ", "const ", "#include")
_WORDS = bytes(range(65, 91)) + bytes(range(97, 123)) + bytes(range(128, 256)) + b" "
_LONG_CODE, _HEAD_CODE = 320, 96
_HEAD, _SHORTEST_HEAD, _HEADS = 1000, 200, 60_000  # of prose: the most, the least, and what all heads together may take
_LOOK, _SOME = 1500, 12  # characters of a string, and strings of a column, that tell what it is
_COMPANY = 3  # other members from which a string rides along with its record


def bulk(batch: Batch) -> None:
    """Cut long strings of records that have more to say than the string."""
    for key in batch.long:
        if key in batch.drop or key in batch.arguments or meaning(key).diagnostic:
            continue
        values = batch.texts(key)
        if values is not None and (_rides_along(key, batch) or _is_licence(values, batch)):
            limit, head = _limits([value for value in values if len(value) > _LONG_CODE])
            _cut(key, batch, limit, head)


def shorten(text: str, head: int) -> str:
    """Return the head of a text, ended at a word where one ends near, and how long the whole is."""
    cut = text[:head]
    edge = max(cut.rfind(" "), cut.rfind("\n"))
    kept = cut[:edge] if edge > head * 0.6 else cut
    return f"{kept.rstrip()} …[{len(text)} characters]"


def is_prose(text: str) -> bool:
    """Tell sentences from code by how much of the text is letters and single spaces."""
    sample = text[:_LOOK].encode()
    other = len(sample.translate(None, _WORDS)) + 2 * sample.count(b"  ")
    return other < 0.2 * len(sample)


def _rides_along(key: str, batch: Batch) -> bool:
    if batch.company(key) < _COMPANY:
        return False
    if batch.listed and len(batch.rows) > 1:
        return True
    return not meaning(key).spoken and any(map(_is_table, batch.rows))


def _is_licence(values: list[str], batch: Batch) -> bool:
    return batch.listed and len(values) > 1 and all(map(_has_licence, values))


def _has_licence(text: str) -> bool:
    head = text[:_LOOK].lower()
    return any(phrase in head for phrase in _LICENCE)


def _is_code(text: str) -> bool:
    return not is_prose(text) and any(mark in text for mark in _CODE)


def _is_table(row: dict[str, Json]) -> bool:
    """Tell whether a record's point is a list of records in it."""
    return any(type(value) is list and len(value) > 4 and type(value[0]) is dict for value in row.values())


def _limits(values: list[str]) -> tuple[int, int]:
    """Return from which length on to cut and what to leave: little of code and licences, much of prose."""
    some = values[:: len(values) // _SOME + 1]
    machine = sum(1 for text in some if _is_code(text) or _has_licence(text))
    if machine > 0.7 * len(some):
        return _LONG_CODE, _HEAD_CODE
    head = max(_SHORTEST_HEAD, min(_HEAD, _HEADS // len(values)))
    return head * 12 // 5, head


def _cut(key: str, batch: Batch, limit: int, head: int) -> None:
    column = batch.column(key)
    out = [shorten(value, head) if type(value) is str and len(value) > limit else value for value in column]
    count = sum(1 for old, new in zip(column, out, strict=True) if old is not new)
    if count:
        batch.replace[key] = out
        batch.cut[key] = count, "bulk"
