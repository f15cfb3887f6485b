"""HTML that says the same as the text beside it is dropped, and wrapping is taken off strings."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from shaping.noise.records import NoiseRule, Records
from shaping.noise.unwrap import may_be_wrapped, unwrap, unwrap_code
from shaping.noise.vocabulary import MARKUP_FILES, meaning

if TYPE_CHECKING:
    from collections.abc import Collection

    from shaping.response import Json


# A comment ends before the next one begins: many without an end would take minutes.
_TAG = re.compile(r"<!--(?>[^-<]+|-(?!->)|<(?!!--))*+-->|<[^<>]*>")
_TARGET = re.compile(r"href(?<=\bhref)\s*=\s*[\"']([^\"']*)")  # begins with letters, which are found fast
_WORD = re.compile(r"\w+")
_TWINS = (("raw",), ("text",), ("plain",), ("markdown",))  # members beside one that is just called HTML
_PLAIN = ("text", "plain")  # in the name of a member that has as text what another one has as HTML
_NEARLY = 20  # words of which one may be missing: an entity, a mark that is a letter


def html_twins(records: Records) -> None:
    """Drop the HTML of records that have the same as text."""
    by_words = {meaning(name).words: name for name in reversed(records.rows[0])}  # the first of several
    for key in records.members("markup", "long", "plain"):
        named = (by_words.get(words) for words in _names_of_text(key))
        twin = next((name for name in named if name is not None and name not in records.drop), None)
        if (
            twin is not None
            and _is_html(key, records)
            and all(_says_the_same(row.get(key), row.get(twin)) for row in records.rows)
        ):
            records.drop_member(key, "boilerplate")


def _names_of_text(key: str) -> Collection[tuple[str, ...]]:
    """Return the names, as words, of members that may have as text what this one has as HTML."""
    said = meaning(key)
    if "html" in said.words:
        others = tuple(word for word in said.words if word != "html")
        return () if said.hypermedia else (others,) if others else _TWINS
    return [name for mark in _PLAIN for name in ((*said.words, mark), (mark, *said.words))]


def _is_html(key: str, records: Records) -> bool:
    return "html" in meaning(key).words or any("</" in str(value) for value in records.present(key))


def _may_be_twin(key: str) -> bool:
    return not {"html", *_PLAIN}.isdisjoint(meaning(key).words)


def _says_the_same(markup: Json, text: Json) -> bool:
    """Whether a text has all words and links of its HTML; a record that has neither says the same."""
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


HTML_TWINS = NoiseRule("boilerplate", frozenset({"markup", "long", "plain"}), html_twins, _may_be_twin)


_FILE = re.compile(rf"\.(?:{MARKUP_FILES})$")
_NAME = 400  # characters of the name of a file


def markup(records: Records) -> None:
    """Take the wrapping off the strings of records."""
    for key in records.members("markup", "long", "base64", "link"):
        if key not in records.drop and may_be_wrapped(records.column(key)):
            step = unwrap_code if _is_markup(key, records) else unwrap
            records.replace_texts(key, step, "boilerplate")


def _is_markup(key: str, records: Records) -> bool:
    """Whether tags are what a member is about: by its name, or because its record is a file of such."""
    if meaning(key).source:
        return True
    return any(type(value) is str and len(value) < _NAME and _FILE.search(value) for value in records.rows[0].values())


MARKUP = NoiseRule("boilerplate", frozenset({"markup", "long", "base64", "link"}), markup)
