"""Hypermedia goes: what a record's own identifiers already say. The link a person would open stays."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from shaping.noise.batch import LINK_STARTS
from shaping.noise.names import meaning

if TYPE_CHECKING:
    from shaping.noise.batch import Batch
    from shaping.types import Json

_API = re.compile(
    r"^\w+://(?:[^/]*\.)?api\b|/(?:api|apis|rest|wp-json|odata|graphql|_apis|v\d+(?:\.\d+)?)(?:/|$)", re.IGNORECASE
)
_API_STARTS = ("https://api.", "http://api.")
_SEGMENT = re.compile(r"[^/?#&=]+")
_FEW = 240  # characters
_ENOUGH = 3  # rows from which one pattern in all of them is no accident


def links(batch: Batch) -> None:
    """Drop the links of records that their identifiers can stand for."""
    if not batch.links or _are_few(batch):
        return
    company = batch.company("")
    # A name or a state that happens to be a URL is still what the record is called or how it is.
    found = [key for key in batch.links if not (meaning(key).identifies or meaning(key).verdict)]
    noise = [key for key in found if _is_plumbing(key, batch, company)]
    pages = [key for key in found if key not in noise]
    kept = min(pages, key=_rank) if pages else None
    identified = len(found) < len(batch.links) or batch.identified_without("")
    if kept is None and not identified and noise:
        kept = min(noise, key=_rank)
    if kept is not None and identified and _repeats_its_owner(kept, batch, company):
        batch.drop[kept] = "links"
    gone = [key for key in found if key != kept and (key in noise or _says_nothing_new(key, batch, kept))]
    batch.drop.update(dict.fromkeys(_only_links(gone, batch), "links"))
    batch.page = kept is not None and kept not in batch.drop


def _are_few(batch: Batch) -> bool:
    """Tell whether a single record has so few links that taking them saves less than one answer is worth."""
    if len(batch.rows) > 1 or batch.listed:
        return False
    return sum(len(str(batch.rows[0][key])) for key in batch.links) < _FEW


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


def _is_plumbing(key: str, batch: Batch, company: int) -> bool:
    """Tell whether only a program would follow this link."""
    said = meaning(key)
    if said.picture:
        return True
    first = batch.sample[0].get(key) or next(row[key] for row in batch.sample if row.get(key))
    if type(first) is not str:
        return False
    if "{" in first or (said.itself and company > 1):
        return True
    if company < 2 or not said.hypermedia or not (first.startswith(_API_STARTS) or _API.search(first)):
        return False
    return len(batch.links) > 1 or _derived(key, batch)


def _only_links(keys: list[str], batch: Batch) -> list[str]:
    """Return those members that hold a link in every record that has them."""
    first = batch.sample[0]
    usual = [key for key in keys if str(first.get(key)).startswith("http")]
    if len(usual) > 1 and _all_http(batch.cells(usual)):
        return keys if len(usual) == len(keys) else [key for key in keys if key in usual or _all_links(key, batch)]
    return [key for key in keys if _all_links(key, batch)]


def _all_http(values: list[Any]) -> bool:
    try:
        return ("\0" + "\0".join(values)).count("\0http") == len(values)
    except TypeError:  # a record holds something else there
        return False


def _all_links(key: str, batch: Batch) -> bool:
    values = batch.texts(key)
    return values is not None and all(value.startswith(LINK_STARTS) or not value for value in values)


def _says_nothing_new(key: str, batch: Batch, kept: str | None) -> bool:
    if meaning(key).plumbing:
        return True
    return (kept is not None and _extends(key, kept, batch)) or _derived(key, batch)


def _extends(key: str, base: str, batch: Batch) -> bool:
    """Tell whether every link is the other one with the same ending."""
    rows = [row for row in batch.rows if type(row.get(key)) is str]
    link, start = rows[0][key], rows[0].get(base)
    if type(start) is not str or not link.startswith(start):  # type: ignore[union-attr]
        return False
    ending = link[len(start) :]  # type: ignore[index]
    return all(type(start := row.get(base)) is str and row[key] == start + ending for row in rows)  # type: ignore[operator]


def _derived(key: str, batch: Batch) -> bool:
    """Tell whether one pattern and one other member, its own or its owner's, give every value of this link."""
    rows = [row for row in batch.rows if type(row.get(key)) is str]
    values = [row[key] for row in rows]
    if _pattern(values, rows, key):  # type: ignore[arg-type]
        return True
    if batch.owners is None:
        return False
    owners = [owner for row, owner in zip(batch.rows, batch.owners(), strict=True) if type(row.get(key)) is str]
    return _pattern(values, owners, key)  # type: ignore[arg-type]


def _pattern(values: list[str], rows: list[dict[str, Json]], key: str) -> bool:
    first = values[0]
    segments = set(_SEGMENT.findall(first))
    for name, value in rows[0].items():
        if (type(value) is not str and type(value) is not int) or str(value) not in segments or name == key:
            continue
        if len(rows) < _ENOUGH:
            return True
        pattern = first.replace(str(value), "\0")
        if all(link.replace(str(row.get(name)), "\0") == pattern for link, row in zip(values, rows, strict=True)):
            return True
    return False
