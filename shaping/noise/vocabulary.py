"""Every word list of the noise rules, and what the name of a member says by them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_WORD_EDGE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Names of members, by the words in them.
_IDENTIFIES = _set(
    "id ids name key number login title sha path file filename uid uuid guid slug code label username email"
    " version iid subject ref symbol nodeid address hash txid commit arn"
)
_PICTURE = _set("avatar icon gravatar favicon badge sprite thumbnail emoji")
_PHOTO = _set(
    "preview image images photo photos thumb thumbs logo poster cover artwork banner background picture pictures"
)
_MEDIA = _PHOTO | _set("audio video stream download")
_PICTURES = _PHOTO | _set("thumbnail thumbnails previews avatars icons resolutions sizes variants renditions")
_HYPERMEDIA = _set("url uri href link links self related ref resource")
_LINK_LIST = _set("links link urls url avatar avatars icons actions hrefs")
_OTHER_PAGE = _set("next previous prev first last")
_ABOUT_THE_SITE = _set("documentation docs help image logo")
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
_CONTINUES = _set("next previous prev page after before token tokens cursor continuation handle")
_PAGING = _set("next page after before start end continuation")
# What people wrote is read whole until it is very long; what a program wrote about a failure always is.
_PROSE = _set(
    "body text content contents description message comment comments summary abstract snippet transcript answer"
    " question note notes markdown excerpt caption review quote bio about prompt completion response page"
)
_DIAGNOSTIC = _set(
    "error errors exception traceback stack stacktrace trace log logs stderr stdout output longrepr crash reason"
    " warning warnings failure failures cause detail details message hint query sql command cmd"
)
_PRINTED = _set("log logs stdout stderr output console")
_VERDICT = _set("outcome result status state conclusion verdict passed success ok")
_SOURCE = _set("source code html markup template raw xml svg dom outer inner")

# Whole names of members of an object that describes a link.
LINK_OBJECT = _set("rel href method type templated title name url uri curies")
LINK_TARGET = _set("href url uri")
# Whole names of members of an object that describes a picture.
PICTURE_TARGET = _set("url src href uri link source")
PICTURE_SIZE = ("width", "w", "height", "h")
SIZE_NAMES = _set("default tiny small medium standard high large maxres max full original thumb thumbnail source")
# Whole names of members in which Kubernetes keeps an object once more, for its own programs.
COPIES = _set("managedFields managed_fields kubectl.kubernetes.io/last-applied-configuration")
# Arguments by which a tool acts on an element of a page.
ELEMENT_ARGUMENTS = _set("ref uid element elementRef target selector")

# Values and the beginnings and marks of texts.
LINK_STARTS = ("http://", "https://", "git://", "ssh://", "git@", "svn://", "ftp://", "//")
PASSED: frozenset[object] = frozenset({"passed", "pass", "ok", "success", "succeeded", "successful", "green", True})
CODE_MARKS = (";\n", "{\n", "}\n", "=> ", ");", "</", "def ", "import ", "function ", "var ", "const ", "#include")
TRACKERS = r"utm_\w+|gclid|fbclid|dclid|msclkid|mc_cid|mc_eid|igshid|yclid|_hsenc|_hsmi|vero_id|oly_\w+_id|ref_src|spm"
API_SEGMENTS = r"api|apis|rest|wp-json|odata|graphql|_apis|v\d+(?:\.\d+)?"
LIBRARY_FRAMES = (
    r"site-packages|dist-packages|node_modules|/lib/python\d|<frozen |node:internal|\(internal/|/go/pkg/mod/"
)
LIBRARY_PACKAGES = (
    r"(?:java\.base/)?(?:javax?|jdk|sun|com\.sun|kotlin|scala|akka|groovy)\.|org\.(?:springframework|apache|junit|hibernate"
    r"|eclipse|gradle|jboss)\.|io\.(?:netty|undertow|micronaut|quarkus)\."
)
MARKUP_FILES = r"x?html?|xml|svg|vue|svelte|astro|[jt]sx|php|erb|ejs|hbs|liquid|twig|j2|jinja2?|mdx?"


class Meaning(NamedTuple):
    """What the name of a member says about its value."""

    words: tuple[str, ...]
    identifies: bool
    picture: bool
    photo: bool
    media: bool
    pictures: bool  # what APIs call one picture in several sizes
    plumbing: bool
    hypermedia: bool  # what APIs call the links between their resources
    link_list: bool  # what APIs call collections of links
    self_link: bool  # a link from a record to its own representation
    other_page: bool  # a link to another page of a list
    about_the_site: bool
    page_rank: int  # how surely it is the page a person would open; lower is surer
    opaque: bool
    continues: bool  # what a program hands back to go on: the next page, a token
    prose: bool
    diagnostic: bool
    printed: bool  # what a program wrote for people to read
    verdict: bool
    source: bool  # text whose tags are what was asked for


@lru_cache(maxsize=8192)
def meaning(key: str) -> Meaning:
    """Return what the name of a member says, whatever the convention it is written in."""
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
        photo=bool(have & _PHOTO),
        media=bool(have & _MEDIA),
        pictures=bool(have & _PICTURES),
        plumbing=plumbing,
        hypermedia=last in _HYPERMEDIA,
        link_list=bool(have & _LINK_LIST),
        self_link=last in {"self", "href"},
        other_page=bool(have & _OTHER_PAGE),
        about_the_site=bool(have & _ABOUT_THE_SITE),
        page_rank=rank + len(_PAGE) * plumbing,
        opaque=(bool(have & _OPAQUE) or words[-2:] in _OPAQUE_PAIRS) and not have & _PAGING,
        continues=bool(have & _CONTINUES),
        prose=bool(have & _PROSE),
        diagnostic=bool(have & _DIAGNOSTIC),
        printed=last in _PRINTED,
        verdict=bool(have & _VERDICT),
        source=have <= _SOURCE,
    )
