"""Links that the identifiers of a record stand for are dropped; the link that a person would open stays."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from shaping.noise.records import NoiseRule, Records, all_http
from shaping.noise.vocabulary import API_SEGMENTS, LINK_STARTS, meaning

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from shaping.response import Json

_API_HOST = re.compile(r"\w+://(?:[^/]*\.)?api\b", re.IGNORECASE)
_API_PATH = re.compile(rf"/(?:{API_SEGMENTS})(?:/|$)", re.IGNORECASE)
_API_LABEL = re.compile(r"(?<=\w)-?api(?=\.)")  # of a host: basecampapi.com
_HOST = re.compile(r"\w+://([^/]+)")
# To a file, which is what its record is about; an API ends links to its own records with the name of their format.
_TO_FILE = re.compile(r"\w/[^/?#]+\.(?!json$|xml$)[A-Za-z][A-Za-z0-9]{1,4}$", re.IGNORECASE)
_FILLED_IN = re.compile(r"[/=]%[a-z_]{3,}%")
_API_STARTS: tuple[str, ...] = ("https://api.", "http://api.")
_SEGMENT = re.compile(r"[^/?#&=]+")
FEW = 240  # characters
_USUAL = 64  # links that a record may have
_WORDS = frozenset({str, int})
_ENOUGH = 3  # rows from which one pattern in all of them is no accident
_PER_PATTERN = 10  # rows for each further pattern, as where the kind of a record is part of its link


def links(records: Records) -> None:
    """Drop the links of records that their identifiers can stand for."""
    names = records.members("link")
    few = _are_few(names, records)
    if few and len(names) == 1:
        return
    members = records.other_members()
    found = _link_names(names)
    noise = _judged(found, names, records, members)
    pages = [key for key in found.may_go if key not in noise]
    kept = _best(pages, records) if pages else None
    identified = len(found.may_go) < len(names) or records.identified_without("")
    if kept is None and not identified and noise:
        kept = min((key for key in found.may_go if key in noise), key=_rank)
    if kept is not None and identified and _repeats_its_owner(kept, records, members):
        records.drop[kept] = "links"
    gone = [
        key
        for key in found.may_go
        if key != kept and (key in noise or (not few and _says_nothing_new(key, records, kept)))
    ]
    records.drop.update(dict.fromkeys(_only_links(gone, records), "links"))
    if kept is not None and kept not in records.drop and not meaning(kept).other_page:
        records.page = True


def _best(pages: list[str], records: Records) -> str:
    """Return the link that a person would open: not the one to an API where another leads to the site it is of."""
    if len(pages) == 1:
        return pages[0]
    best, first = min(pages, key=_rank), records.sample[0]
    own = host(first.get(best))
    site = _API_LABEL.sub("", own) if "api." in own else own
    if site == own:
        return best
    return min((key for key in pages if host(first.get(key)) == site), key=_rank, default=best)


def host(link: Json) -> str:
    """Return the host of a link, or nothing."""
    return found[1] if type(link) is str and (found := _HOST.match(link)) else ""


def _is_template(link: str) -> bool:
    """Return whether a link has a place to be filled in."""
    return "{" in link or ("%" in link and _FILLED_IN.search(link) is not None)


def has_page(records: Records) -> bool:
    """Whether one of the links of records is for a person."""
    names = records.members("link")
    found = _link_names(names)
    noise = _judged(found, names, records, records.other_members())
    return any(key not in noise and not meaning(key).media for key in found.may_go)


def is_page(name: str, link: str) -> bool:
    """Whether a link by this name is for a person."""
    said = meaning(name)
    plain = is_link(link) and not _is_template(link) and not (said.picture or said.self_link or said.plumbing)
    return plain and _api_start(link) is None


class _LinkNames(NamedTuple):
    """What the names of the links of a record say: which may go, and why."""

    may_go: list[str]
    pictures: frozenset[str]
    self_links: frozenset[str]
    hypermedia: frozenset[str]


def _link_names(names: Sequence[str]) -> _LinkNames:
    """Say it of these names; those of most records come again, and those of an object keyed by ids do not."""
    return _usual_names(tuple(names)) if len(names) <= _USUAL else _usual_names.__wrapped__(tuple(names))


@lru_cache(maxsize=256)
def _usual_names(names: tuple[str, ...]) -> _LinkNames:
    # A name or a state that happens to be a URL is still what the record is called or how it is.
    # A link to logs or details of a failure is where somebody goes on.
    said = [(key, meaning(key)) for key in names]
    found = {key: what for key, what in said if not (what.identifies or what.verdict or what.diagnostic)}
    return _LinkNames(
        list(found),
        frozenset(key for key in found if found[key].picture),
        frozenset(key for key in found if found[key].self_link),
        frozenset(key for key in found if found[key].hypermedia),
    )


def _are_few(names: Sequence[str], records: Records) -> bool:
    """Whether a single record has so few links that only those go which are plumbing by their names or addresses.

    That a link repeats another member may be chance in one record.
    """
    return records.is_alone() and sum(len(str(records.rows[0][key])) for key in names) < FEW


def _repeats_its_owner(key: str, records: Records, others: int) -> bool:
    """Whether the page of a nested record goes without saying: its owner has one, and this follows a pattern."""
    # A record of nothing but links would go with its page, and with it that there is such a record.
    beside = others > records.siblings
    return records.nested and beside and len(records.rows) >= _ENOUGH and _derived(key, records)


def segments(link: str) -> set[str]:
    """Return the parts of a link, as between its slashes."""
    return set(_SEGMENT.findall(link))


def is_link(text: str) -> bool:
    """Whether a string is one URL and nothing else."""
    return "://" in text[:9] and " " not in text


def _rank(key: str) -> int:
    return meaning(key).page_rank


def _judged(found: _LinkNames, names: Sequence[str], records: Records, others: int) -> set[str]:
    """Return the links that only a program would follow."""
    noise, starts, many = set(found.pictures), _API_STARTS, len(names) > 1
    api_links, self_links = (found.hypermedia, found.self_links) if others > 1 else (frozenset(), frozenset())
    for key, link in _firsts(found.may_go, records).items():
        if key in noise:
            continue
        # What begins as another link to an API is looked at first: most of many links do.
        is_self = key in self_links and not _TO_FILE.search(link)
        if (many and key in api_links and link.startswith(starts)) or is_self or _is_template(link):
            noise.add(key)
        elif key in api_links and (start := _api_start(link, starts)) is not None:
            starts = start
            if many or _derived(key, records):
                noise.add(key)
    return noise


def _firsts(keys: Collection[str], records: Records) -> dict[str, str]:
    """Return the first link of each member, but not where something else comes before it."""
    head = records.sample[0]
    firsts = {key: first for key in keys if type(first := head.get(key)) is str and first}
    if len(firsts) == len(keys):
        return firsts
    every = {key: head.get(key) or next(row[key] for row in records.sample if row.get(key)) for key in keys}
    return {key: first for key, first in every.items() if type(first) is str}


def _api_start(link: str, starts: tuple[str, ...] = _API_STARTS) -> tuple[str, ...] | None:
    """Return how links to APIs begin, as far as this one tells, or None where it leads elsewhere."""
    if link.startswith(starts) or _API_HOST.match(link):
        return starts
    path = _API_PATH.search(link)
    if path is None:
        return None
    # Those of one record mostly begin alike.
    return (*starts, link[: path.end()]) if path[0].endswith("/") else starts


def _only_links(keys: list[str], records: Records) -> list[str]:
    """Return those members that hold a link in every record that has them: mostly all of them, seen in one look."""
    if len(keys) > 1 and all_http(records.cells(keys)):
        return keys
    return [key for key in keys if _all_links(key, records)]


def _all_links(key: str, records: Records) -> bool:
    values = records.texts(key)
    return values is not None and all(value.startswith(LINK_STARTS) or not value for value in values)


def _says_nothing_new(key: str, records: Records, kept: str | None) -> bool:
    if meaning(key).plumbing:
        return True
    return _derived(key, records) or (kept is not None and _is_beside_a_page(key, kept, records))


def _is_beside_a_page(key: str, kept: str, records: Records) -> bool:
    """Whether a link is to a picture that the page of its record shows."""
    return meaning(key).photo and not meaning(kept).media and len(records.rows) >= _ENOUGH


def _derived(key: str, records: Records) -> bool:
    """Whether one pattern and one other member, its own or its owner's, give every value of this link."""
    if _gives(records.rows, key, records):
        return True
    return records.owners is not None and _gives(records.owners(), key, records)


def _gives(owners: Sequence[dict[str, Json]], key: str, records: Records) -> bool:
    """Whether a pattern and a member of these records, or of those in which they stand, give every link."""
    linked = [pair for pair in zip(records.column(key), owners, strict=True) if type(pair[0]) is str]
    link, owner = linked[0]
    parts = segments(link)
    names = [name for name, value in owner.items() if type(value) in _WORDS and str(value) in parts and name != key]
    if not names:
        return False
    return len(linked) < _ENOUGH or any(
        _follow_patterns([(link, str(owner.get(name))) for link, owner in linked]) for name in names
    )


def _follow_patterns(pairs: list[tuple[str, str]]) -> bool:
    """Whether links follow one pattern around these words, or one of the few that so many rows may have."""
    (first, word), *_ = pairs
    patterns = {first.replace(word, "\0")}
    for link, word in pairs:
        pattern = link.replace(word, "\0")
        if pattern not in patterns:
            patterns.add(pattern)
            if "\0" not in pattern or len(patterns) > len(pairs) // _PER_PATTERN:
                return False
    return True


RULE = NoiseRule("links", frozenset({"link"}), links)
