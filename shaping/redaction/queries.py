"""Credentials in the query of an address: known by the parameter's whole name, never by its last word alone.

A link is for opening, so only what is a credential by any reading is taken: `page_token`, `cursor` and the like page,
and `pwd` opens a meeting that somebody was invited to.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from shaping.redaction.checks import password, random
from shaping.redaction.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Callable

# What stands before a parameter; an ampersand may be written for HTML or for JSON.
_START: Final = r"(?:[?&;#]|u0026)"
_VALUE: Final = r"(?P<secret>[A-Za-z0-9._~+/%=-]{8,})"
_NAMES: Final = (
    "api-key api-token api-secret x-api-key access-token access-key auth-token auth-key auth bearer-token"
    " oauth-token id-token refresh-token session-token private-token client-secret app-secret secret-key secret"
    " subscription-key sig"
)
# A preview, a home page and the address of just some page are places of their own, which a token opens.
_PAGING: Final = re.compile(
    r"next|prev(?!iew)|(?:first|last)[_-]?page|paging|cursor|delta|continu"
    r"|(?<!home)(?<!home_)(?<!web)(?<!web_)(?<!landing_)(?<!landing)page(?!s?[_-]?(?:url|uri|link|href))",
    re.IGNORECASE,
)


def _written(names: str) -> str:
    """Write names for an engine that is fast where it need not fold cases: api_key, apiKey, Api-Key, API_KEY."""
    ways = (way for name in names.split() for way in (_joined(name, _either), _joined(name, str.upper)))
    return f"(?:{'|'.join(ways)})="


def _joined(name: str, word: Callable[[str], str]) -> str:
    return "[_-]?".join(map(word, name.split("-")))


def _either(word: str) -> str:
    return f"[{word[0]}{word[0].upper()}]{word[1:]}"


# How all the names end: a few words are looked for faster than many names.
_HINT: Final = _written("key token secret auth sig password passwd passphrase")
# Of tokens with no other name, some page: those of a delta query do, and those in a field that is named for paging.
BARE: Final = Rule(
    "url-token",
    # Longer than the tokens of badges, which are there for all to see.
    rf"(?<!delta){_START}{_written('token')}(?P<secret>[A-Za-z0-9._~+/%=-]{{16,}})",
    check=random,
    hint=_HINT,
    seed=rf"{_START}{_written('token')}[A-Za-z0-9._~+/%=-]{{16}}",
)
QUERIES: Final = (
    Rule("url-token", f"{_START}{_written(_NAMES)}{_VALUE}", check=random, hint=_HINT),
    BARE,
    Rule(
        "url-password",
        rf"{_START}{_written('password passwd passphrase')}(?P<secret>[^ \t\r\n&#\"'<>;,\\)\]}}`]{{6,256}})",
        check=password,
        hint=_HINT,
    ),
)


def pages(name: str) -> bool:
    """Tell whether a field is named for what comes next, so that a token in its link is a place and no credential."""
    return bool(_PAGING.search(name))
