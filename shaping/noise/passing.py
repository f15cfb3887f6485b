"""Passing rows beside failing ones keep their names and states; what they repeat or merely time goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.noise.batch import MISSING
from shaping.noise.names import meaning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.noise.batch import Batch

_FINE = frozenset({"passed", "pass", "ok", "success", "succeeded", "successful", "green", True})
_MANY, _SHARE = 12, 0.75
_WORD = 12  # characters from which a string says more than a verdict


def passing(batch: Batch) -> None:
    """Empty the nested members of rows that passed, where nearly all did and some did not."""
    if len(batch.rows) < _MANY or not batch.listed or not batch.inside:
        return
    verdicts = (_fine(batch.column(key)) for key in batch.plain if meaning(key).verdict)
    fine = next((fine for fine in verdicts if _SHARE * len(fine) <= sum(fine) < len(fine)), None)
    if fine is None:
        return
    for key in batch.inside:
        if key in batch.drop:
            continue
        column, count = _emptied(batch.rows, batch.column(key), fine)
        if count > len(column) // 2:
            batch.replace[key] = column
            batch.cut[key] = count, "bulk"


def _fine(values: list[Any]) -> list[bool]:
    """Tell of each row whether it passed, or of none where these are no verdicts."""
    if not set(map(type, values)) <= {str, bool}:
        return []
    return [value in _FINE for value in values]


def _emptied(rows: Sequence[dict[str, Any]], column: list[Any], fine: list[bool]) -> tuple[list[Any], int]:
    """Return a column without what is dull in rows that passed, and how many those are."""
    dull = [ok and _is_dull(value, row) for ok, value, row in zip(fine, column, rows, strict=True)]
    return [MISSING if gone else value for gone, value in zip(dull, column, strict=True)], sum(dull)


def _is_dull(value: Any, row: dict[str, Any]) -> bool:
    """Tell whether a subtree holds only times, verdicts and pieces of the row's own names."""
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
    """Tell whether a string is part of what the row says itself."""
    for name in row.values():  # noqa: SIM110 (a generator costs more than the few names it goes through)
        if type(name) is str and text in name:
            return True
    return False
