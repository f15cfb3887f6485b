"""Objects and lists that hold nothing but links go as a whole: `_links`, avatar sizes, rel and href."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.native import rules as native
from shaping.noise.batch import MISSING
from shaping.noise.links import has_page, is_link, is_page
from shaping.noise.names import NO_PAGE, meaning, names_links

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.noise.batch import Batch

_ABOUT_A_LINK = frozenset({"rel", "href", "method", "type", "templated", "title", "name", "url", "uri", "curies"})


def hypermedia(batch: Batch) -> None:
    """Drop members that are collections of links, where the record says something without them."""
    for key in list(batch.inside):
        if not names_links(key) or batch.company(key) < 2:
            continue
        values = [value for value in batch.column(key) if type(value) in (dict, list) and value]
        if values and _all_links(values) and _goes_unmissed(key, values, batch):
            _drop(key, values, batch)


def _drop(key: str, values: Sequence[Any], batch: Batch) -> None:
    """Drop a collection of links, but for the page of records that have no other."""
    page = None if batch.nested or meaning(key).picture or has_page(batch) else _page(values[0])
    if page is None:
        batch.drop[key] = "links"
        return
    batch.page = True
    batch.inside.remove(key)
    batch.plain.append(key)
    if any(len(value) > 1 for value in values):
        batch.replace[key] = [
            {page: value[page]} if type(value) is dict and page in value else MISSING for value in batch.column(key)
        ]
        batch.cut[key] = len(values), "links"


def _page(value: Any) -> str | None:
    """Return the name of the one link in a collection that a person would open."""
    if type(value) is not dict:
        return None
    links = {name: item.get("href") if type(item) is dict else item for name, item in value.items()}
    pages = [name for name, link in links.items() if type(link) is str and is_page(name, link)]
    best = min(pages, key=lambda name: meaning(name).page_rank, default=None)
    return best if len(pages) == 1 or (best is not None and meaning(best).page_rank < NO_PAGE) else None


def _goes_unmissed(key: str, values: Sequence[Any], batch: Batch) -> bool:
    """Tell whether records stay identified without their links, and no link is the way to the next page."""
    pages = len(batch.rows) == 1 and any(type(value) is dict and value.get("next") for value in values)
    return not pages and batch.identified_without(key)


def _all_links(values: Sequence[Any]) -> bool:
    if native is not None and (found := native.all_links(values)) is not None:
        return bool(found)
    return all(map(_is_links, values))


def _is_links(value: Any) -> bool:
    if type(value) is dict:
        return any(type(item) is not bool for item in value.values()) and all(
            _is_entry(key, item) for key, item in value.items()
        )
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
