"""Passing rows beside failing ones keep their names and states; what they repeat or merely time goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.noise.batch import MISSING
from shaping.noise.names import meaning

if TYPE_CHECKING:
    from shaping.noise.batch import Batch

_FINE = frozenset({"passed", "pass", "ok", "success", "succeeded", "successful", "green", True})
_MANY, _SHARE = 12, 0.75


def passing(batch: Batch) -> None:
    """Empty the nested members of rows that passed, where nearly all did and some did not."""
    if len(batch.rows) < _MANY or not batch.listed or not batch.inside:
        return
    verdict = next((key for key in batch.plain if meaning(key).verdict and _divides(batch.column(key))), None)
    if verdict is None:
        return
    fine = [row.get(verdict) in _FINE for row in batch.rows]
    for key in batch.inside:
        column = batch.column(key)
        dull = [ok and _is_dull(value, row) for ok, value, row in zip(fine, column, batch.rows, strict=True)]
        if key not in batch.drop and sum(dull) > len(dull) // 2:
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
        return all(_is_dull(item, row) for item in value.values())
    if type(value) is list:
        return all(_is_dull(item, row) for item in value)
    if value is MISSING:
        return False
    if type(value) is str:
        return value in _FINE or any(type(name) is str and value in name for name in row.values()) or len(value) < 12
    return True
