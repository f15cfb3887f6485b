"""Second looks at what a pattern found: a credential, or something only shaped like one."""

from __future__ import annotations

import binascii
import re
from base64 import urlsafe_b64decode
from typing import Final

import orjson

_PLACEHOLDER: Final = re.compile(r"\[redacted:|[<{]|\$[A-Z_{(]|%[(s]|\*{2}|x{5}|X{5}|\.{3}|…")
_ABOUT: Final = re.compile(
    r"(?:(?:your|my|the|new|old|user|db|some|test)[-_+]*)?(?:password|passwd|passphrase|pass|secret)"
    r"(?:[-_+]*(?:here|value|hash|reset|required|change|changed))*",
    re.IGNORECASE,
)
_ENOUGH_LETTERS: Final = 12  # of one case: fewer make a word that answers a question
_ENOUGH_KINDS: Final = 8  # of characters: words and repeated fillers have fewer


def concrete(text: str) -> bool:
    """Tell whether the text is a value and not a placeholder of a template or an earlier mark."""
    return not _PLACEHOLDER.match(text)


def random(text: str) -> bool:
    """Tell whether the text mixes characters as generated credentials do and words do not."""
    if not concrete(text) or len(set(text)) < _ENOUGH_KINDS:
        return False
    digits = any(char.isdigit() for char in text)
    letters = any(char.isalpha() for char in text)
    return (digits and letters) or (not text.islower() and not text.isupper() and not text.istitle() and letters)


def mixed(text: str) -> bool:
    """Tell whether the text has digits, capitals and small letters, as base64 of random bytes does."""
    return random(text) and all(any(map(kind, text)) for kind in (str.isdigit, str.isupper, str.islower))


def password(text: str) -> bool:
    """Tell whether the text is a password and not a word about one, as `required` or `YOUR_PASSWORD` are."""
    if not concrete(text) or _ABOUT.fullmatch(text):
        return False
    return (
        not text.isalpha() or not (text.islower() or text.isupper() or text.istitle()) or len(text) >= _ENOUGH_LETTERS
    )


def jwt(text: str) -> bool:
    """Tell whether the first of the dotted parts is a JSON header that names an algorithm."""
    try:
        header = orjson.loads(_unbase64(text.split(".", 1)[0]))
    except (ValueError, binascii.Error):
        return False
    return isinstance(header, dict) and isinstance(header.get("alg"), str)


def user_and_password(text: str) -> bool:
    """Tell whether the text is the base64 of `user:password`, as in a Basic header."""
    try:
        return ":" in _unbase64(text).decode()
    except (ValueError, binascii.Error):
        return False


def snowflake(text: str) -> bool:
    """Tell whether the first of the dotted parts is the base64 of a decimal number, as in a Discord token."""
    try:
        return _unbase64(text.split(".", 1)[0]).isdigit()
    except (ValueError, binascii.Error):
        return False


def _unbase64(text: str) -> bytes:
    return urlsafe_b64decode(text.rstrip("=").replace("+", "-").replace("/", "_") + "=" * (-len(text.rstrip("=")) % 4))
