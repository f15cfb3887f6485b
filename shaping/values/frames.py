"""Tables and arrays of numpy, pandas and polars, known by what they can do: none of the three is a dependency."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Container

T = TypeVar("T")


def open_table(value: Any) -> Any:
    """Open a frame as its rows, a series as its values, an array as its lists; labels that say something stay."""
    if hasattr(value, "columns"):
        return value.to_dicts() if hasattr(value, "to_dicts") else _rows(value)
    if hasattr(value, "index") and hasattr(value, "reset_index"):
        return _series(value)
    return _array(value)


def is_table(value: Any) -> bool:
    """Whether a value is a frame, a series, an array or a scalar of numpy."""
    if hasattr(value, "columns"):
        return hasattr(value, "to_dict")
    return hasattr(value, "dtype") and hasattr(value, "tolist")


def _rows(frame: Any) -> list[dict[str, Any]]:
    if _labelled(frame):
        frame = frame.reset_index(allow_duplicates=True)
    if frame.columns.is_unique:
        rows: list[dict[str, Any]] = frame.to_dict(orient="records")
        return rows
    names: list[Any] = []
    for column in frame.columns:
        names.append(free_name(column, names))
    return [dict(zip(names, row, strict=True)) for row in frame.itertuples(index=False, name=None)]


def _series(series: Any) -> Any:
    if not _labelled(series):
        return series.tolist()
    return series.to_dict() if series.index.is_unique else _rows(series.reset_index())


def _labelled(table: Any) -> bool:
    """Whether the index is more than row numbers."""
    index = table.index
    return index.name is not None or index.nlevels > 1 or index.dtype.kind not in "iu"


def _array(value: Any) -> Any:
    if value.dtype.names and value.ndim == 1:
        return [dict(zip(value.dtype.names, row, strict=True)) for row in value.tolist()]
    # numpy gives times finer than Python's as bare integers.
    return (value.astype(f"{value.dtype.kind}8[us]") if value.dtype.kind in "mM" else value).tolist()


def free_name(name: T, taken: Container[T | str]) -> T | str:
    """Return a name that is not taken: itself, or the first of `name (2)`, `name (3)` and so on."""
    free: T | str = name
    number = 2
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free
