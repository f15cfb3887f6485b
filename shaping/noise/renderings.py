"""The same words twice: what a record says as text and once more as HTML is said once."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from shaping.noise.names import meaning

if TYPE_CHECKING:
    from shaping.noise.batch import Batch
    from shaping.response import Json

# A comment ends before the next one begins: many without an end would take minutes.
_TAG = re.compile(r"<!--(?>[^-<]+|-(?!->)|<(?!!--))*+-->|<[^<>]*>")
_TARGET = re.compile(r"href(?<=\bhref)\s*=\s*[\"']([^\"']*)")  # begins with letters, which are found fast
_WORD = re.compile(r"\w+")
_NEARLY = 20  # words of which one may be missing: an entity, a mark that is a letter


def renderings(batch: Batch) -> None:
    """Drop the HTML of records that have the same as text."""
    keys = (*batch.wrapped, *batch.long, *batch.plain)
    if "html" not in " ".join(keys).lower():  # most have no such name at all
        return
    for key in keys:
        words = meaning(key).words
        if "html" not in words or len(words) < 2 or meaning(key).hypermedia:
            continue
        twin = _twin(tuple(word for word in words if word != "html"), batch)
        if twin is not None and all(_says_the_same(row.get(key), row.get(twin)) for row in batch.rows):
            batch.drop[key] = "boilerplate"
            batch.replace.pop(key, None)
            batch.cut.pop(key, None)


def _twin(words: tuple[str, ...], batch: Batch) -> str | None:
    return next((name for name in batch.rows[0] if meaning(name).words == words and name not in batch.drop), None)


def _says_the_same(markup: Json, text: Json) -> bool:
    """Tell whether a text has all words and links of its HTML; a record that has neither says the same."""
    if not markup:
        return True
    if type(markup) is not str or type(text) is not str:
        return False
    if not all(html.unescape(target).strip("/") in text for target in _TARGET.findall(markup)):
        return False
    said, told = (set(html.unescape(side).split()) for side in (_TAG.sub(" ", markup), text))
    # Most are told letter for letter; in the others only words without the marks around them can be missing.
    new = set(_WORD.findall(" ".join(said - told))) - told
    if new.issubset(_WORD.findall(" ".join(told - said))):
        return True
    words = set(_WORD.findall(" ".join(said)))
    return len(words.difference(_WORD.findall(" ".join(told)))) <= len(words) // _NEARLY
