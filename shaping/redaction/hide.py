"""Credentials out of one text: plain, URL-encoded, or known only by the name of the field it stands in."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import quote, unquote, unquote_to_bytes

import orjson

from shaping.redaction.credentials import CREDENTIALS
from shaping.redaction.queries import BARE, pages
from shaping.redaction.rules import encodable, mark

_ENCODED: Final = re.compile(r"""(?<![^\s&?#"'<>=;,])[^\s&?#"'<>=;,%]*+%[^\s&?#"'<>=;,]*""")
_ESCAPE: Final = re.compile(rb"%[2-7][0-9A-Fa-f]")
_SMALL: Final = 4096
_NEAR: Final = 80  # bytes around an escape: what begins a credential is shorter
_MARKS: Final = re.compile(r"(\[redacted:[a-z0-9-]+\])")


def suspect(value: Any) -> bool:
    """Look at a whole value at once, so that a clean one costs one pass at the speed of memory."""
    try:
        written = orjson.dumps(value)
    except Exception:  # noqa: BLE001  what cannot be written cannot be called clean: the walk looks at each part
        return True
    return suspect_json(written)


def suspect_json(written: bytes) -> bool:
    """Look at a value that is already written as JSON."""
    # Small texts go in faster as text, large ones as they are.
    text = written.decode() if len(written) < _SMALL else written
    hints = CREDENTIALS.hints(text)
    if hints and CREDENTIALS.among(hints, text):
        return True
    around = b" ".join(written[max(0, at.start() - _NEAR) : at.end() + _NEAR] for at in _ESCAPE.finditer(written))
    if not around or not (hints or CREDENTIALS.hinted(_plain(around))):
        return False
    return bool(CREDENTIALS.matching(_plain(written)))


def _plain(written: bytes) -> str:
    return unquote_to_bytes(written).decode("utf-8", "replace")


def hide(text: str, context: str = "") -> tuple[str, list[str]]:
    """Hide the credentials in a text, knowing the name of the field it stands in."""
    if context and CREDENTIALS.named(encodable(context)):
        return _hide_with_context(text, context)
    spare = BARE if context and pages(context) else None
    hidden, rules = CREDENTIALS.hide(text, spare) if CREDENTIALS.hinted(encodable(text)) else (text, [])
    if "%" not in hidden:
        return hidden, rules
    hidden, more = _hide_encoded(hidden)
    return hidden, rules + more


def _hide_with_context(text: str, context: str) -> tuple[str, list[str]]:
    hidden, rules = CREDENTIALS.hide(f"{context}={text}")
    if not hidden.startswith(f"{context}="):
        return mark(rules[0]), rules
    return hidden[len(context) + 1 :], rules


def _hide_encoded(text: str) -> tuple[str, list[str]]:
    rules: list[str] = []

    def replace(match: re.Match[str]) -> str:
        plain = unquote(match[0])
        hidden, found = CREDENTIALS.hide(plain) if CREDENTIALS.hinted(encodable(plain)) else (plain, [])
        rules.extend(found)
        return "".join(_again(part) for part in _MARKS.split(hidden)) if found else match[0]

    return _ENCODED.sub(replace, text), rules


def _again(part: str) -> str:
    return part if part.startswith("[redacted:") else quote(part, safe="")
