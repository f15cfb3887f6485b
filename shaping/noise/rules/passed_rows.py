"""Rows that passed, beside some that failed, keep their names and states; what they repeat or time is dropped."""

from __future__ import annotations

from typing import Any

from shaping.noise.records import MISSING, NoiseRule, Records
from shaping.noise.vocabulary import PASSED, meaning

_MANY, _SHARE = 12, 0.75
_WORD = 12  # characters from which a string says more than a verdict


def passed_rows(records: Records) -> None:
    """Empty the nested members of rows that passed, where nearly all did and some did not."""
    if not records.listed:
        return
    verdicts = (_passed(records.column(key)) for key in records.members("plain") if meaning(key).verdict)
    passed = next((passed for passed in verdicts if _SHARE * len(passed) <= sum(passed) < len(passed)), None)
    if passed is None:
        return
    for key in records.untouched("nested"):
        column = records.column(key)
        dull = [ok and _is_dull(value, row) for ok, value, row in zip(passed, column, records.rows, strict=True)]
        # What all rows have is said once, which costs less than to say it of the others.
        if 2 * sum(dull) > len(column) and any(value != column[0] for value in column):
            left = [MISSING if gone else value for gone, value in zip(dull, column, strict=True)]
            records.replace_column(key, left, "bulk")


def _passed(values: list[Any]) -> list[bool]:
    """Return for each row whether it passed, or nothing where these are no verdicts."""
    if not set(map(type, values)) <= {str, bool}:
        return []
    return [value in PASSED for value in values]


def _is_dull(value: Any, row: dict[str, Any]) -> bool:
    """Whether a subtree holds only times, verdicts and pieces of the row's own names."""
    if type(value) is dict:
        value = value.values()
    elif type(value) is not list:
        # A string that stands there itself is what the row says, and no piece of it.
        return value is not MISSING and (type(value) is not str or len(value) < _WORD)
    for item in value:
        kind = type(item)
        if kind is str:
            if len(item) >= _WORD and not _is_piece(item, row):
                return False
        elif (kind is dict or kind is list) and not _is_dull(item, row):
            return False
    return True


def _is_piece(text: str, row: dict[str, Any]) -> bool:
    """Whether a string is part of what the row says itself."""
    for name in row.values():  # noqa: SIM110 (a generator costs more than the few names it goes through)
        if type(name) is str and text in name:
            return True
    return False


RULE = NoiseRule("bulk", frozenset({"nested"}), passed_rows, least=_MANY)
