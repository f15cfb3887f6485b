"""Noise in a text that is not data: wrapping, blank runs, encoded images, the ids of elements nobody acts on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shaping.noise.unwrap import unwrap_text, without_licence
from shaping.noise.vocabulary import ELEMENT_ARGUMENTS
from shaping.parsers.snapshot import fold_tree, is_tree
from shaping.response import Omission

if TYPE_CHECKING:
    from collections.abc import Collection

_DIFF = re.compile(r"^(?:diff --git |@@ -\d|--- \S)", re.MULTILINE)
_DIFF_STARTS = ("diff --git ", "@@ -", "--- ")
_BLOB = re.compile(r"(?<![\w+/])[A-Za-z0-9+/]{400,}={0,2}(?![\w+/])")
_RUN, _LETTERS = 400, b"a"
_AS_LETTERS = bytes(
    ord("a") if chr(byte).isascii() and re.match("[A-Za-z0-9+/]", chr(byte)) else 0 for byte in range(256)
)


def reduce_text(
    text: str, rules: Collection[str], *, arguments: frozenset[str] = frozenset()
) -> tuple[str, list[Omission]]:
    """Return a text without its noise, and what was left out; the same text where there was none."""
    reduced = text
    if "boilerplate" in rules:
        if is_tree(text):
            reduced = fold_tree(text, keep_ids=not ELEMENT_ARGUMENTS.isdisjoint(arguments))
        elif not is_diff(text):
            reduced = unwrap_text(without_licence(text))
    opened = reduced
    if "opaque" in rules and _may_hold_blob(reduced):
        reduced = _BLOB.sub(_noted, reduced)
    omissions = []
    if opened != text:
        omissions.append(Omission("", 1, "boilerplate"))
    if reduced != opened:
        omissions.append(Omission("", len(_BLOB.findall(opened)), "opaque"))
    return (reduced, omissions) if omissions else (text, [])


# Each pattern is tried at every letter; a search for what it cannot do without is fifty times faster.
def is_diff(text: str) -> bool:
    """Whether a text is a diff or a patch, which somebody may apply as it is."""
    return any(start in text for start in _DIFF_STARTS) and _DIFF.search(text) is not None


def _may_hold_blob(text: str) -> bool:
    return _LETTERS * _RUN in text.encode("utf-8", "surrogatepass").translate(_AS_LETTERS)


def _noted(found: re.Match[str]) -> str:
    # A long run of one case or without digits is a word of some alphabet, a separator, a sequence: not encoded bytes.
    said = found[0]
    if said.isdigit() or said.isalpha() or len(set(said)) < 20:
        return said
    return f"[base64, {len(said)} characters]"
