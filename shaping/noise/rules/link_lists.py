"""Objects and lists of nothing but links are dropped as a whole: `_links`, avatar sizes, rel and href."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from shaping.noise.records import MISSING, NoiseRule, Records
from shaping.noise.rules.links import FEW, has_page, host, is_link, is_page, segments
from shaping.noise.vocabulary import LINK_OBJECT, LINK_TARGET, NO_PAGE, meaning

_DIGIT = re.compile(r"\d")


def link_lists(records: Records) -> None:
    """Drop members that are collections of links, where the record says something without them."""
    for key in records.members("nested"):
        if not meaning(key).link_list or records.other_members(key) < 2:
            continue
        values = [value for value in records.column(key) if type(value) in (dict, list) and value]
        if (
            values
            and all(map(_is_links, values))
            and not _are_few(key, values, records)
            and _goes_unmissed(key, values, records)
        ):
            _drop(key, values, records)


def _are_few(key: str, values: Sequence[Any], records: Records) -> bool:
    """Whether a single record has so few links that taking them saves less than one answer is worth."""
    # One link alone is mostly the one to the record itself.
    if records.nested or meaning(key).picture or len(values[0]) == 1:
        return False
    return records.is_alone() and len(str(values[0])) < FEW


def _drop(key: str, values: Sequence[Any], records: Records) -> None:
    """Drop a collection of links, but for those to pages, or the page of records that have no other."""
    pages = _pages(values) or _named_pages(key, values, records)
    if not pages and not (records.nested or meaning(key).picture or has_page(records)):
        pages = _page(values[0])
    if not pages:
        records.drop_member(key, "links")
        return
    records.page = True
    records.move(key, "plain")
    if any(type(value) is not dict or not pages.issuperset(value) for value in values):
        records.replace_column(key, [_kept(pages, value) for value in records.column(key)], "links")


def _kept(pages: frozenset[str], value: Any) -> Any:
    """Return the links of a collection that are to pages."""
    if type(value) is not dict:
        return MISSING
    return {name: link for name, link in value.items() if name in pages} or MISSING


def _pages(values: Sequence[Any]) -> frozenset[str]:
    """Return the names of links that say themselves that a person reads them, as others beside them do not."""
    said: dict[str, str] = {}
    for value in values:
        if type(value) is dict:
            said.update(
                {name: str(item["type"]) for name, item in value.items() if type(item) is dict and "type" in item}
            )
    pages = {name for name, kind in said.items() if kind.startswith("text/html")}
    return frozenset(filter(_is_for_a_person, pages)) if len(pages) < len(said) else frozenset()


def _named_pages(key: str, values: Sequence[Any], records: Records) -> frozenset[str]:
    """Return the names of links that somebody gave a single record, as to its source and its documentation."""
    # What an API makes itself leads to its own site, or has the number of the record in it.
    if len(records.rows) > 1 or meaning(key).picture or type(values[0]) is not dict:
        return frozenset()
    if len(values[0]) > 1 and len(set(map(host, values[0].values()))) == 1:
        return frozenset()
    words = (str(value) for value in records.rows[0].values() if type(value) in (str, int))
    own = {word for word in words if _DIGIT.search(word)}
    return frozenset(
        name
        for name, link in values[0].items()
        if type(link) is str and is_page(name, link) and own.isdisjoint(segments(link))
    )


def _is_for_a_person(name: str) -> bool:
    said = meaning(name)
    return not (said.picture or said.about_the_site)


def _page(value: Any) -> frozenset[str]:
    """Return the name of the one link in a collection that a person would open."""
    if type(value) is not dict:
        return frozenset()
    links = {name: item.get("href") if type(item) is dict else item for name, item in value.items()}
    pages = [name for name, link in links.items() if type(link) is str and is_page(name, link)]
    best = min(pages, key=lambda name: meaning(name).page_rank, default=None)
    sure = best is not None and (len(pages) == 1 or meaning(best).page_rank < NO_PAGE)
    return frozenset({str(best)}) if sure else frozenset()


def _goes_unmissed(key: str, values: Sequence[Any], records: Records) -> bool:
    """Whether records stay identified without their links, and no link is the way to the next page."""
    pages = len(records.rows) == 1 and any(type(value) is dict and value.get("next") for value in values)
    return not pages and records.identified_without(key)


def _is_links(value: Any) -> bool:
    if type(value) is dict:
        return any(type(item) is not bool for item in value.values()) and all(
            _is_entry(key, item) for key, item in value.items()
        )
    return _is_rel_list(value)


def _is_entry(key: str, item: Any) -> bool:
    if type(item) is str:
        return is_link(item) or key in LINK_OBJECT
    if type(item) is dict:
        return _is_link_object(item)
    if type(item) is list:
        return _is_rel_list(item)
    return item is None or type(item) is bool


def _is_rel_list(items: Sequence[Any]) -> bool:
    return all(type(item) is dict and _is_link_object(item) for item in items)


def _is_link_object(item: dict[str, Any]) -> bool:
    """Whether an object describes one link: where it goes and what it is called."""
    return LINK_OBJECT.issuperset(item) and not LINK_TARGET.isdisjoint(item)


RULE = NoiseRule("links", frozenset({"nested"}), link_lists, lambda key: meaning(key).link_list)
