"""Passing rows beside failing ones keep their names and states; what they repeat or merely time goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.noise.batch import MISSING
from shaping.noise.names import meaning

if TYPE_CHECKING:
    from shaping.noise.batch import Batch

_FINE = frozenset({"passed", "pass", "ok", "success", "succeeded", "successful", "green", True})
_MANY, _SHARE = 12, 0.75
_WORD = 12  # characters from which a string says more than a verdict


def passing(batch: Batch) -> None:
    """Empty the nested members of rows that passed, where nearly all did and some did not."""
    if len(batch.rows) < _MANY or not batch.listed or not batch.inside:
        return
    verdict = next((key for key in batch.plain if meaning(key).verdict and _divides(batch.column(key))), None)
    if verdict is None:
        return
    fine = [row.get(verdict) in _FINE for row in batch.rows]
    for key in batch.inside:
        if key in batch.drop:
            continue
        column = batch.column(key)
        dull = [ok and _is_dull(value, row) for ok, value, row in zip(fine, column, batch.rows, strict=True)]
        if sum(dull) > len(dull) // 2:
            batch.replace[key] = [MISSING if gone else value for gone, value in zip(dull, column, strict=True)]
            batch.cut[key] = sum(dull), "bulk"


def _divides(values: list[Any]) -> bool:
    """Tell whether most rows passed and a few did not."""
    if not set(map(type, values)) <= {str, bool}:
        return False
    return _SHARE * len(values) <= sum(1 for value in values if value in _FINE) < len(values)


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
