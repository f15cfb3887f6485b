"""What a noise rule is, and the kinds of members that it can look at."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from shaping.noise.vocabulary import LINK_STARTS, meaning

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shaping.noise.records import Records


@dataclass(frozen=True, slots=True)
class NoiseRule:
    """A rule: the group that a config names it by, the members it looks at, and the function that decides.

    The engine shows the rule all records at one path, where they have a member of one of its kinds.
    """

    group: str
    kinds: tuple[Kind, ...]
    apply: Callable[[Records], None]
    least: int = 1  # records at one path from which the rule has anything to say


__all__ = ["NoiseRule"]


# By value, one for each member; then by name, in addition.
Kind: TypeAlias = Literal[
    "link",  # a string that is one URL
    "long",  # a string of more than LONG characters
    "opaque",  # a string under the name of a checksum, an etag, a node id
    "base64",  # a string of the letters of base64
    "markup",  # a string with tags, a URL or several lines in it
    "hex",  # a string of 64 and more letters and digits
    "nested",  # an object or a list
    "plain",  # anything else
    "links",  # an object or a list under a name that collections of links have
    "pictures",  # an object or a list under a name that pictures have
    "html",  # a string under a name with "html" in it
    "verdict",  # a plain value under the name of an outcome: status, result, passed
]

LONG: Final = 320  # characters
SHORT: Final = 8
SUM_STARTS: Final = ("h1:", "sha256", "sha384", "sha512", "md5:")
BASE64: Final = 120  # letters from which a string may be code that nobody reads
_BASE64: Final = re.compile(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])[A-Za-z0-9+/_=\n-]+")


def _names_html(key: str) -> bool:
    return "html" in key.lower()


def _names_links(key: str) -> bool:
    return meaning(key).link_list


def _names_pictures(key: str) -> bool:
    return meaning(key).pictures


def _names_verdict(key: str) -> bool:
    return meaning(key).verdict


STRINGS_BY_NAME: Final[Mapping[Kind, Callable[[str], bool]]] = {"html": _names_html}
NESTED_BY_NAME: Final[Mapping[Kind, Callable[[str], bool]]] = {"links": _names_links, "pictures": _names_pictures}
PLAIN_BY_NAME: Final[Mapping[Kind, Callable[[str], bool]]] = {"verdict": _names_verdict}


def kind_of_string(key: str, value: str) -> Kind:
    """Return the kind of a member that holds a string."""
    size = len(value)
    slash = "/" in value
    if (slash or "@" in value) and value.startswith(LINK_STARTS):
        return "link" if " " not in value and "\n" not in value else "markup"
    if size < SHORT:
        return "plain"
    if size > LONG:
        return "long"
    if (said := meaning(key)).opaque:
        return "opaque"
    if size >= BASE64 and not (said.identifies or said.continues) and _BASE64.fullmatch(value):
        return "base64"
    if size >= 20 and ("\n" in value or (slash and ("</" in value or "://" in value))):
        return "markup"
    return "hex" if (size >= 64 and value.isalnum()) or value.startswith(SUM_STARTS) else "plain"
