"""Objects and lists that hold nothing but links go as a whole: `_links`, avatar sizes, rel and href."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.noise.links import is_link
from shaping.noise.names import meaning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.noise.batch import Batch

_FEW = 400  # characters
_NAMES = frozenset({"links", "link", "urls", "url", "avatar", "avatars", "icons", "actions", "hrefs"})
_ABOUT_A_LINK = frozenset({"rel", "href", "method", "type", "templated", "title", "name", "url", "uri", "curies"})


def hypermedia(batch: Batch) -> None:
    """Drop members that are collections of links, where the record says something without them."""
    for key in batch.inside:
        if _NAMES.isdisjoint(meaning(key).words) or batch.company(key) < 2:
            continue
        values = [value for value in batch.column(key) if type(value) in (dict, list) and value]
        if values and all(map(_is_links, values)) and _goes_unmissed(key, values, batch):
            batch.drop[key] = "links"


def _goes_unmissed(key: str, values: Sequence[Any], batch: Batch) -> bool:
    """Tell whether records stay identified without their links, and no link is the way to the next page."""
    pages = len(batch.rows) == 1 and any(type(value) is dict and value.get("next") for value in values)
    return not pages and batch.identified_without(key)


def _is_paging(values: Sequence[Any], batch: Batch) -> bool:
    """Tell whether these are the few links of the answer itself, which lead to its next page."""
    return len(batch.rows) == 1 and not batch.listed and len(str(values[0])) < _FEW


def _is_links(value: Any) -> bool:
    if type(value) is dict:
        return all(_is_entry(key, item) for key, item in value.items())
    return _is_rel_list(value)


def _is_entry(key: str, item: Any) -> bool:
    if type(item) is str:
        return is_link(item) or key in _ABOUT_A_LINK
    if type(item) is dict:
        return _is_link_object(item)
    if type(item) is list:
        return _is_rel_list(item)
    return item is None or type(item) is bool


def _is_rel_list(items: Sequence[Any]) -> bool:
    return all(type(item) is dict and _is_link_object(item) for item in items)


def _is_link_object(item: dict[str, Any]) -> bool:
    """Tell an object that describes one link: where it goes and what it is called."""
    return _ABOUT_A_LINK.issuperset(item) and not {"href", "url", "uri"}.isdisjoint(item)
