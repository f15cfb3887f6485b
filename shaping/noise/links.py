"""Hypermedia goes: what a record's own identifiers already say. The link a person would open stays."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from shaping.noise.batch import LINK_STARTS
from shaping.noise.columns import all_http
from shaping.noise.linked import host_of, numbers_a_member
from shaping.noise.names import REMEMBERED, meaning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.noise.batch import Batch
    from shaping.response import Json

_API_HOST = re.compile(r"\w+://(?:[^/]*\.)?api\b", re.IGNORECASE)
_API_PATH = re.compile(r"/(?:api|apis|rest|wp-json|odata|graphql|_apis|v\d+(?:\.\d+)?)(?:/|$)", re.IGNORECASE)
_API_LABEL = re.compile(r"(?<=\w)-?api(?=\.)")  # of a host: basecampapi.com
_TEMPLATE = re.compile(r"\{|[/=]%[a-z_]{3,}%")  # has a place to be filled in
_API_STARTS: tuple[str, ...] = ("https://api.", "http://api.")
_SEGMENT = re.compile(r"[^/?#&=]+")
FEW = 240  # characters
_MEDIA = frozenset({"preview", "image", "images", "photo", "thumb", "logo", "audio", "video", "stream", "download"})
_ENOUGH = 3  # rows from which one pattern in all of them is no accident
_TURNS = frozenset({"next", "previous", "prev", "first", "last"})
_PER_PATTERN = 10  # rows for each further pattern, as where the kind of a record is part of its link


class _Named(NamedTuple):
    """Members that hold links, by what their names say."""

    found: tuple[str, ...]
    pictures: frozenset[str]
    itself: frozenset[str]
    hypermedia: frozenset[str]


def links(batch: Batch) -> None:
    """Drop the links of records that their identifiers can stand for."""
    if not batch.links or _are_few(batch):
        return
    company = batch.company("")
    named = _names(batch)
    found = named.found
    noise, http = _judged(named, batch, company)
    pages = [key for key in found if key not in noise]
    kept = _best(pages, batch) if pages else None
    identified = len(found) < len(batch.links) or batch.identified_without("")
    if kept is None and not identified and noise:
        kept = min((key for key in found if key in noise), key=_rank)
    if kept is not None and identified and _repeats_its_owner(kept, batch, company):
        batch.drop[kept] = "links"
    gone = [key for key in found if key != kept and (key in noise or _says_nothing_new(key, batch, kept))]
    batch.drop.update(dict.fromkeys(_only_links(gone, http, batch), "links"))
    batch.page = batch.page or (kept is not None and kept not in batch.drop and _is_of_a_record(kept))


def _best(pages: list[str], batch: Batch) -> str:
    """Return the link that a person would open: not the one to an API where another leads to the site it is of."""
    best, first = min(pages, key=_rank), batch.sample[0]
    link = first.get(best)
    if len(pages) == 1 or type(link) is not str or "api." not in link:
        return best
    host = host_of(link)
    site = _API_LABEL.sub("", host)
    return min((key for key in pages if host_of(first.get(key)) == site != host), key=_rank, default=best)


def _is_of_a_record(key: str) -> bool:
    """Tell a page of a record from a link to another page of a list."""
    return _TURNS.isdisjoint(meaning(key).words)


def has_page(batch: Batch) -> bool:
    """Tell whether one of the links of records is for a person."""
    named = _names(batch)
    noise, _ = _judged(named, batch, batch.company(""))
    return any(key not in noise and _MEDIA.isdisjoint(meaning(key).words) for key in named.found)


def is_page(name: str, link: str) -> bool:
    """Tell whether a link by this name is for a person."""
    said = meaning(name)
    plain = is_link(link) and not _TEMPLATE.search(link) and not (said.picture or said.itself or said.plumbing)
    return plain and not _apis({name: link})


def _names(batch: Batch) -> _Named:
    keys = tuple(batch.links)
    # An object keyed by values has others in every answer: remembered, they would only take up memory.
    return _named(keys) if len(keys) <= REMEMBERED else _named.__wrapped__(keys)


@lru_cache(maxsize=1024)
def _named(keys: tuple[str, ...]) -> _Named:
    # A name or a state that happens to be a URL is still what the record is called or how it is.
    said = {key: meaning(key) for key in keys if not (meaning(key).identifies or meaning(key).verdict)}
    return _Named(
        found=tuple(said),
        pictures=frozenset(key for key, what in said.items() if what.picture),
        itself=frozenset(key for key, what in said.items() if what.itself),
        hypermedia=frozenset(key for key, what in said.items() if what.hypermedia),
    )


def _are_few(batch: Batch) -> bool:
    """Tell whether a single record has so few links that taking them saves less than one answer is worth."""
    return batch.is_alone() and sum(len(str(batch.rows[0][key])) for key in batch.links) < FEW


def _repeats_its_owner(key: str, batch: Batch, company: int) -> bool:
    """Tell whether the page of a nested record goes without saying: its owner has one, and this follows a pattern."""
    # A record of nothing but links would go with its page, and with it that there is such a record.
    beside = company > batch.around
    return batch.nested and beside and len(batch.rows) >= _ENOUGH and _derived(key, batch)


def is_link(text: str) -> bool:
    """Tell whether a string is one URL and nothing else."""
    return "://" in text[:9] and " " not in text


def _rank(key: str) -> int:
    return meaning(key).page_rank


def _judged(named: _Named, batch: Batch, company: int) -> tuple[set[str], set[str]]:
    """Return the links that only a program would follow, and those that begin with `http`."""
    noise, apis, http = _plumbing(named, _firsts(named.found, batch), company)
    noise.update(apis if len(batch.links) > 1 else [key for key in apis if _derived(key, batch)])
    return noise, http


def _plumbing(named: _Named, firsts: dict[str, str], company: int) -> tuple[set[str], set[str], set[str]]:
    """Return the links that are plumbing by their names, those to an API beside them, and those that begin as most."""
    noise = {key for key, text in firsts.items() if _TEMPLATE.search(text)}
    noise |= named.pictures
    apis = set[str]()
    if company > 1:
        noise |= named.itself & firsts.keys()
        apis.update(_apis({key: firsts[key] for key in named.hypermedia - noise if key in firsts}))
    return noise, apis, {key for key, link in firsts.items() if link.startswith("http")}


def _firsts(keys: Sequence[str], batch: Batch) -> dict[str, str]:
    """Return the first link of each member, but not where something else comes before it."""
    head = batch.sample[0]
    firsts = {key: first for key in keys if type(first := head.get(key)) is str and first}
    if len(firsts) == len(keys):
        return firsts
    every = {key: head.get(key) or next(row[key] for row in batch.sample if row.get(key)) for key in keys}
    return {key: first for key, first in every.items() if type(first) is str}


def _apis(links: dict[str, str]) -> list[str]:
    """Return the members whose link leads to an API; those of one record mostly begin alike."""
    found, starts = [], _API_STARTS
    for key, link in links.items():
        if link.startswith(starts) or _API_HOST.match(link):
            found.append(key)
        elif path := _API_PATH.search(link):
            found.append(key)
            if path[0].endswith("/"):
                starts += (link[: path.end()],)
    return found


def _only_links(keys: list[str], http: set[str], batch: Batch) -> list[str]:
    """Return those members that hold a link in every record that has them; most do, and are looked at together."""
    usual = [key for key in keys if key in http]
    sure = set(usual) if len(usual) > 1 and all_http(batch.cells(usual)) else set()
    return [key for key in keys if key in sure or _all_links(key, batch)]


def _all_links(key: str, batch: Batch) -> bool:
    values = batch.texts(key)
    return values is not None and all(value.startswith(LINK_STARTS) or not value for value in values)


def _says_nothing_new(key: str, batch: Batch, kept: str | None) -> bool:
    if meaning(key).plumbing:
        return True
    if (kept is not None and _extends(key, kept, batch)) or _derived(key, batch):
        return True
    return kept is not None and numbers_a_member(key, batch)


def _extends(key: str, base: str, batch: Batch) -> bool:
    """Tell whether every link is the other one with the same ending."""
    links, rows = _strings(key, batch, batch.rows)
    start = rows[0].get(base)
    if type(start) is not str or not links[0].startswith(start):
        return False
    ending = links[0][len(start) :]
    pairs = zip(links, rows, strict=True)
    return all(type(start := row.get(base)) is str and link == start + ending for link, row in pairs)


def _derived(key: str, batch: Batch) -> bool:
    """Tell whether one pattern and one other member, its own or its owner's, give every value of this link."""
    if _gives(batch.rows, key, batch):
        return True
    return batch.owners is not None and _gives(batch.owners(), key, batch)


def _gives(owners: Sequence[dict[str, Json]], key: str, batch: Batch) -> bool:
    """Tell whether a pattern and a member of these records, or of those in which they stand, give every link."""
    return _pattern(*_strings(key, batch, owners), key)


def _strings(key: str, batch: Batch, owners: Sequence[dict[str, Json]]) -> tuple[list[str], Sequence[dict[str, Json]]]:
    """Return the strings of a member, and the records or their owners that go with them."""
    pairs = [(row[key], owner) for row, owner in zip(batch.rows, owners, strict=True) if type(row.get(key)) is str]
    return [value for value, _ in pairs], [owner for _, owner in pairs]  # type: ignore[misc]


def _pattern(values: list[str], rows: Sequence[dict[str, Json]], key: str) -> bool:
    first = values[0]
    segments = set(_SEGMENT.findall(first))
    for name, value in rows[0].items():
        text = value if type(value) is str else str(value) if type(value) is int else None
        if text not in segments or name == key:
            continue
        if len(rows) < _ENOUGH:
            return True
        if _follow_patterns(values, [row.get(name) for row in rows]):
            return True
    return False


def _follow_patterns(links: list[str], words: list[Json]) -> bool:
    """Tell whether links follow one pattern around these words, or one of the few that so many rows may have."""
    patterns = {links[0].replace(str(words[0]), "\0")}
    for link, word in zip(links, words, strict=True):
        pattern = link.replace(str(word), "\0")
        if pattern not in patterns:
            patterns.add(pattern)
            if "\0" not in pattern or len(patterns) > len(links) // _PER_PATTERN:
                return False
    return True
