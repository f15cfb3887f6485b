"""Paths that were asked for and name nothing in the data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shaping.errors import scrub
from shaping.paths.nearby import Miss, miss
from shaping.paths.pick import select

if TYPE_CHECKING:
    from collections.abc import Collection

    from shaping.paths.plan import FieldPlan


def unmatched(value: Any, paths: Collection[str], private: FieldPlan | None = None) -> list[str]:
    """Say of each path that has no match what may be meant by it, but for what is private."""
    open_value = private.apply(value) if private is not None and paths else value
    missed = (_unmatched(open_value, path) for path in paths)
    # What there is instead are keys of raw data, which may be secrets too.
    # A field applies to every element anyway, so how a path into a list begins is no help.
    return [scrub(str(replace(one, begin=""))) for one in missed if one is not None]


def _unmatched(value: Any, path: str) -> Miss | None:
    try:
        found = select(value, path)
    except LookupError:
        return miss(value, path) or Miss(path)
    return miss(value, path) if found == [] else None
