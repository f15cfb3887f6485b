"""Second looks at what a pattern found: a credential, or something only shaped like one."""

from __future__ import annotations

import binascii
import re
from base64 import urlsafe_b64decode
from typing import Final

import orjson

_PLACEHOLDER: Final = re.compile(r"[\[<{(\\]|\$[A-Z_{(]|%[(s]|\*{2}|x{5}|X{5}|\.{3}|…|(?i:your|example|changeme|dummy)")
_ABOUT: Final = re.compile(
    r"(?:(?:your|my|the|new|old|user|db|some|test|self[.])[-_+]*)?(?:password|passwd|passphrase|pass|passw|pwd|secret|token)"
    r"(?:[-_+]*(?:here|value|hash|reset|required|change|changed))*",
    re.IGNORECASE,
)
_ENOUGH_LETTERS: Final = 12  # of one case: fewer make a word that answers a question
_FEW_KINDS: Final = 5  # of characters: a prefix with a filler has fewer
_ENOUGH_KINDS: Final = 8  # of characters: words and repeated fillers have fewer
_FILLED: Final = re.compile(r"[xX]{8}|0{12}|\*{4}|\.{3}")
_WORD: Final = re.compile(r"[A-Z]?[a-z]{3,}|[A-Z]{5,}")
_NO_WORD: Final = re.compile(r"[^aeiouyAEIOUY]{4}|^[^aeiouyAEIOUY]+$")
_WORDS_SHARE: Final = 0.5  # of its characters in words: more make an identifier, not a generated value


def concrete(text: str) -> bool:
    """Return whether the text is a value and not a placeholder of a template or an earlier mark."""
    return not _PLACEHOLDER.match(text)


def chosen(text: str) -> bool:
    """Return whether the text is a value and not a placeholder, nor the word for what should stand there."""
    return concrete(text) and not _ABOUT.fullmatch(text)


def genuine(text: str) -> bool:
    """Return whether the text is not a placeholder, at its beginning or after a prefix."""
    return concrete(text) and len(set(text)) >= _FEW_KINDS and not _FILLED.search(text)


def random(text: str) -> bool:
    """Return whether the text mixes characters as generated credentials do and words do not."""
    if not genuine(text) or len(set(text)) < _ENOUGH_KINDS:
        return False
    digits = any(char.isdigit() for char in text)
    letters = any(char.isalpha() for char in text)
    return (digits and letters) or (not text.islower() and not text.isupper() and not text.istitle() and letters)


def generated(text: str) -> bool:
    """Return whether the text has digits and letters and is not put together of words, as names in code are."""
    if not random(text) or text.isdigit() or not any(map(str.isdigit, text)) or "://" in text:
        return False
    words = (word[0] for word in _WORD.finditer(text))
    return sum(len(word) for word in words if not _NO_WORD.search(word)) <= _WORDS_SHARE * len(text)


def mixed(text: str) -> bool:
    """Return whether the text has digits, capitals and small letters, as base64 of random bytes does."""
    return random(text) and all(any(map(kind, text)) for kind in (str.isdigit, str.isupper, str.islower))


def password(text: str) -> bool:
    """Return whether the text is a password and not a word about one, as `required` or `YOUR_PASSWORD` are."""
    if not concrete(text) or _ABOUT.fullmatch(text):
        return False
    return (
        not text.isalpha() or not (text.islower() or text.isupper() or text.istitle()) or len(text) >= _ENOUGH_LETTERS
    )


def jwt(text: str) -> bool:
    """Return whether the first of the dotted parts is a JSON header that names an algorithm."""
    try:
        header = orjson.loads(_unbase64(text.split(".", 1)[0]))
    except (ValueError, binascii.Error):
        return False
    return isinstance(header, dict) and isinstance(header.get("alg"), str)


def user_and_password(text: str) -> bool:
    """Return whether the text is the base64 of `user:password`, as in a Basic header."""
    try:
        said = _unbase64(text).decode()
    except (ValueError, binascii.Error):
        return False
    return ":" in said and said.isprintable()


def snowflake(text: str) -> bool:
    """Return whether the first of the dotted parts is the base64 of a decimal number, as in a Discord token."""
    try:
        return _unbase64(text.split(".", 1)[0]).isdigit()
    except (ValueError, binascii.Error):
        return False


def _unbase64(text: str) -> bytes:
    return urlsafe_b64decode(text.rstrip("=").replace("+", "-").replace("/", "_") + "=" * (-len(text.rstrip("=")) % 4))
