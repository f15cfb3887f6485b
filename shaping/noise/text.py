"""Noise in a text that is not data. To add a rule, write a function from text to text and name it in `_RULES`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shaping.noise.pages import strip_page
from shaping.noise.stack_traces import shorten_traces
from shaping.noise.test_output import shorten_passed
from shaping.noise.unwrap import unwrap_text, without_licence
from shaping.noise.versions import shorten_versions
from shaping.noise.vocabulary import ELEMENT_ARGUMENTS
from shaping.parsers.snapshot import fold_tree, is_tree
from shaping.parsers.terminal import clean, count_repeats
from shaping.response import Omission

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from shaping.response import Reason

_DIFF = re.compile(r"^(?:diff --git |@@ -\d|--- \S.*\n\+\+\+ \S)", re.MULTILINE)
_DIFF_STARTS = ("diff --git ", "@@ -", "--- ")
_BLOB = re.compile(r"(?<![\w+/])[A-Za-z0-9+/]{400,}={0,2}(?![\w+/])")
_RUN, _LETTERS = 400, b"a"
_REPEATS = 5  # equal lines in a row
_AS_LETTERS = bytes(
    ord("a") if chr(byte).isascii() and re.match("[A-Za-z0-9+/]", chr(byte)) else 0 for byte in range(256)
)


def reduce_text(
    text: str, groups: Collection[str], *, arguments: frozenset[str] = frozenset()
) -> tuple[str, list[Omission]]:
    """Return a text without its noise, and what was left out; the same text where there was none."""
    if is_tree(text):
        reduced = fold_tree(text, keep_ids=not ELEMENT_ARGUMENTS.isdisjoint(arguments))
        noisy = "boilerplate" in groups and reduced != text
        return (reduced, [Omission("", 1, "boilerplate")]) if noisy else (text, [])
    if is_diff(text):
        return text, []
    reduced = text
    reasons: dict[Reason, None] = {}
    for reason, rule in _RULES:
        if reason in groups and (after := rule(reduced)) != reduced:
            reduced = after
            reasons[reason] = None
    return reduced, [Omission("", 1, reason) for reason in reasons]


# Each pattern is tried at every letter; a search for what it cannot do without is fifty times faster.
def is_diff(text: str) -> bool:
    """Whether a text is a diff or a patch, which somebody may apply as it is."""
    return any(start in text for start in _DIFF_STARTS) and _DIFF.search(text) is not None


def _may_hold_blob(text: str) -> bool:
    return _LETTERS * _RUN in text.encode("utf-8", "surrogatepass").translate(_AS_LETTERS)


def _without_base64(text: str) -> str:
    return _BLOB.sub(_size_of, text) if _may_hold_blob(text) else text


def _size_of(found: re.Match[str]) -> str:
    # A long run of one case or without digits is a word of some alphabet, a separator, a sequence: not encoded bytes.
    said = found[0]
    if said.isdigit() or said.isalpha() or len(set(said)) < 20:
        return said
    return f"[base64, {len(said)} characters]"


def _as_on_screen(text: str) -> str:
    """Return what a terminal shows of a text in the end, and lines that repeat once with their number."""
    if "\x1b" in text or ("\r" in text and "\r" in text.replace("\r\n", "")):
        return "\n".join(clean(text))
    lines = text.split("\n")
    return "\n".join(count_repeats(lines, _REPEATS)) if len(set(lines)) + _REPEATS <= len(lines) else text


_RULES: tuple[tuple[Reason, Callable[[str], str]], ...] = (
    ("boilerplate", without_licence),
    ("boilerplate", _as_on_screen),
    ("boilerplate", shorten_versions),
    ("boilerplate", unwrap_text),
    ("boilerplate", strip_page),
    ("bulk", shorten_passed),
    ("bulk", shorten_traces),
    ("opaque", _without_base64),
)
