"""Putting the pages of one answer together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def merge(pages: Sequence[Any]) -> Any:
    """Give one value for several pages: lists in a row, objects by their lists, anything else as the list of pages."""
    if len(pages) == 1:
        return pages[0]
    if all(isinstance(page, list) for page in pages):
        return [item for page in pages for item in page]
    if all(isinstance(page, dict) and _lists(page) for page in pages):
        return _merge_objects(pages)
    return list(pages)


def _merge_objects(pages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Join the lists that pages have in common; of everything else the last page knows best."""
    whole = {key: value for page in pages for key, value in page.items()}
    for name in {name for page in pages for name in _lists(page)}:
        whole[name] = [item for page in pages for item in page.get(name) or []]
    return whole


def _lists(page: dict[str, Any]) -> list[str]:
    return [name for name, value in page.items() if isinstance(value, list)]
