"""What a member's name says about its value, in the words most APIs share."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

REMEMBERED = 64  # names of one record up to which what they say is kept for the next answer
_WORD_EDGE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_IDENTIFIES = _set(
    "id ids name key number login title sha path file filename uid uuid guid slug code label username email"
    " version iid subject ref symbol nodeid address hash txid commit arn"
)
_PICTURE = _set("avatar icon gravatar favicon badge sprite thumbnail emoji")
_HYPERMEDIA = _set("url uri href link links self related ref resource")
_PLUMBING = _set("clone git ssh svn mirror diff patch raw archive tarball zipball")
_PAGE = ("html", "web", "permalink", "browser", "page", "homepage", "alternate", "link", "url", "uri")
NO_PAGE = len(_PAGE)  # the rank of a name that says nothing of a page
_OPAQUE = _set(
    "etag checksum digest integrity shasum md5 sha1 sha256 sha384 sha512 crc32 crc32c gravatar signature fingerprint"
    " thumbprint nonce cursor base64"
)
_OPAQUE_PAIRS = frozenset(
    {("node", "id"), ("graphql", "id"), ("client", "token"), ("sync", "token"), ("change", "token")}
    | {("idempotency", "token"), ("idempotency", "key"), ("e", "tag")}
)
_HANDED = _set("next previous prev page after before token tokens cursor continuation handle")
_PAGING = _set("next page after before start end continuation")
# What people wrote is read whole until it is very long; what a program wrote about a failure always is.
_SPOKEN = _set(
    "body text content contents description message comment comments summary abstract snippet transcript answer"
    " question note notes markdown excerpt caption review quote bio about prompt completion response page"
)
_DIAGNOSTIC = _set(
    "error errors exception traceback stack stacktrace trace log logs stderr stdout output longrepr crash reason"
    " warning warnings failure failures cause detail details message hint query sql command cmd"
)
_VERDICT = _set("outcome result status state conclusion verdict passed success ok")
_COLLECTIONS = _set("links link urls url avatar avatars icons actions hrefs")


class Meaning(NamedTuple):
    """What a name promises."""

    words: tuple[str, ...]
    identifies: bool
    picture: bool
    plumbing: bool
    hypermedia: bool  # what APIs call the links between their resources
    itself: bool  # a link from a record to its own representation
    page_rank: int  # how surely it is the page a person would open; lower is surer
    opaque: bool
    handed: bool  # what a program hands back to go on: the next page, a token
    spoken: bool
    diagnostic: bool
    verdict: bool


@lru_cache(maxsize=8192)
def meaning(key: str) -> Meaning:
    """Return what a member's name says, whatever the convention it is written in."""
    words = tuple(filter(None, _WORD_EDGE.sub(" ", key).lower().split(" ")))
    have = set(words)
    last = words[-1] if words else ""
    plumbing = bool(have & _PLUMBING)
    pages = () if "template" in have else _PAGE
    rank = next((rank for rank, word in enumerate(pages) if word in have), len(_PAGE))
    return Meaning(
        words=words,
        identifies=last in _IDENTIFIES,
        picture=bool(have & _PICTURE),
        plumbing=plumbing,
        hypermedia=last in _HYPERMEDIA,
        itself=last in {"self", "href"},
        page_rank=rank + len(_PAGE) * plumbing,
        opaque=(bool(have & _OPAQUE) or words[-2:] in _OPAQUE_PAIRS) and not have & _PAGING,
        handed=bool(have & _HANDED),
        spoken=bool(have & _SPOKEN),
        diagnostic=bool(have & _DIAGNOSTIC),
        verdict=bool(have & _VERDICT),
    )


@lru_cache(maxsize=8192)
def names_links(key: str) -> bool:
    """Tell whether a name is one of those that collections of links have."""
    return not _COLLECTIONS.isdisjoint(meaning(key).words)
