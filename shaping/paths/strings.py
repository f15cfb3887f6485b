"""Field rules inside strings: data that stands as text is filtered as data and written back as text."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from shaping.parsers.json import parse_python
from shaping.paths.filter import GONE, Filters, OmissionNode
from shaping.paths.grammar import Deep, Glob, Path
from shaping.paths.labels import LabelledValues, is_flat
from shaping.paths.private import SHORTEST_BASE64, PrivateNames, Rest, names_one, private_names
from shaping.paths.rules import Private, State

if TYPE_CHECKING:
    from collections.abc import Iterator


WITHHELD = "[withheld: this text may hold the private field {!r} and cannot be read as data]"
# Stands for a text inside data; the text around it is looked through again, so that it names no field.
WITHHELD_INSIDE = "[withheld: may hold a private field]"
PRIVATE_MARK = "[private]"  # stands for a private text whose name stands elsewhere
_TAKEN_OUT = (None, "", PRIVATE_MARK)
# Places of one text at which data is looked for: each attempt may read the rest of the text.
_MOST_STARTS = 16
_LARGEST_QUOTED = 2_000_000  # characters; the parser of Python literals is slow
_SHORTEST_QUOTED = 4  # characters: quotes, and room for a document
_START = re.compile(r"[\[{(\"]")
_LINE_START = re.compile(r"^[\[{(\"]", re.MULTILINE)
_CELLS = re.compile(r"[|,;\t]| {2,}")
_JSON_KEY = re.compile(r"[\"']([^\"'\n]{1,200}?)[\\\"']{1,3}\s*:")
_LINE_KEY = re.compile(r"(?m)^[ \t-]*(\w[\w .-]{0,60}?)[ \t]*[:=]")
_BLANK = re.compile(r"[\s\ufeff]*")
# In compact JSON, a brace of a text: its own objects go on with a name or end, and URL templates with these signs.
_BRACE_IN_TEXT = re.compile(rb'\{[^"}/?&]')
_DECODER = json.JSONDecoder()


class Unreadable(NamedTuple):
    """A text that no rule could be applied to although it names a field of one."""

    path: str
    name: str
    withheld: bool


def may_hold_data(compact_json: bytes | None, state: State) -> bool:
    """Return whether a text in a value may hold an object that rules apply to, as far as its compact JSON tells."""
    return compact_json is None or isinstance(state, Private) or _BRACE_IN_TEXT.search(compact_json) is not None


@dataclass(slots=True)
class StringFilter:
    """Applies rules inside the strings of a value."""

    filters: Filters
    withhold: bool = False  # whether a text that cannot be read and names an excluded field is replaced
    notes: list[Unreadable] = field(default_factory=list)

    def run(self, value: Any, state: State, place: OmissionNode | None = None) -> Any:
        """Filter a value and its strings, and count at a place what is left out."""
        if type(value) is str and not state.partial:
            return self.text(value, state, place or OmissionNode(), top=True)
        return self.filters.run(self._without_labelled(value, state, place or OmissionNode()), state, place, self)

    def select(self, text: str, state: State, place: OmissionNode | None = None) -> Any:
        """Return a string that stands where only members are wanted, with those members; GONE where it is no data."""
        if ("{" not in text and "[" not in text) or next(_data_in(text), None) is None:
            return GONE
        return self.text(text, state, place or OmissionNode(), top=True)

    def elements(self, items: list[Any], state: State, place: OmissionNode) -> list[Any]:
        """Return the elements of a list with its strings filtered."""
        texts = len(self.notes)
        out = [
            self.text(item, state, place) if type(item) is str and self.is_worth_a_look(item) else item
            for item in items
        ]
        if not self.withhold or len(self.notes) == texts:
            return out
        # The texts of a list are one text, as its lines are: what belongs to a name may stand anywhere in it.
        return [
            self._held(new, place) if new is old and (type(old) not in _NESTS or is_flat(old)) else new
            for new, old in zip(out, items, strict=True)
        ]

    def is_worth_a_look(self, text: str) -> bool:
        """Return whether a string inside data may hold data, or a field that must not leave."""
        if self.withhold:
            return len(text) >= SHORTEST_BASE64 or not text.isalpha()
        return "{" in text and ('"' in text or "'" in text)  # a URL template has no quotes, and no members

    def text(self, text: str, state: State, place: OmissionNode, *, top: bool = False) -> str:
        """Return a string with its data filtered, or what stands for one that is withheld."""
        if isinstance(state, Private) and state.document:
            # What stands in a text has come from somewhere: its root may be the one that a private path begins at.
            state = _with_document(state)
        names, is_private = private_names(state.exclude), isinstance(state, Private)
        if not (state.partial or names.first_in(text)):
            return text
        documents = list(_data_in(text))
        if isinstance(state, Private) and documents and _has_prose(text, documents):
            # A label may stand for all of a path but its last name.
            state = _by_last_name(state)
        # A header may be one document, and each row another.
        values = self._without_labelled([found.value for found in documents], state, place)
        out: list[str] = []
        prose: list[str] = []
        end, too_deep = 0, False
        for found, value in zip(documents, values, strict=True):
            try:
                filtered = self._filtered(found, value, state, place, text)
            except RecursionError:  # nested deeper than Python calls may be: it can be neither filtered nor passed
                too_deep = True
                continue
            prose.append(text[end : found.start])
            out += [prose[-1], filtered]
            end = found.end
        prose.append(text[end:])
        new = "".join([*out, prose[-1]])
        if is_private:
            # A field that is excluded at any depth and still stands there is spelt in a way that no parser undid.
            deep = private_names(_deep(state.exclude))
            hit = next(filter(None, map(names.first_in, prose)), None) or deep.first_in(new)
            if hit and not top and names.is_bare(text):
                hit = None  # a bare name holds nothing
        else:  # only a text that would have been data is worth a word: prose may name any field
            hit = next(filter(None, (_unread_field(piece, names, top=top) for piece in prose)), None)
        if too_deep:
            hit = hit or names.first_in(text) or "*"
        if hit is None:
            return text if new == text else new
        withheld = self.withhold or too_deep
        self.notes.append(Unreadable(str(Path(place.steps)), hit, withheld))
        if not withheld:
            return text if new == text else new
        # One mark of an answer tells what happened; a longer one in every row could be dearer than what it stands for.
        return WITHHELD.format(hit) if top else PRIVATE_MARK if len(self.notes) > 1 else WITHHELD_INSIDE

    def _filtered(self, found: Found, value: Any, state: State, place: OmissionNode, text: str) -> str:
        is_text = type(value) is str
        inside = self.text(value, state, place) if is_text else self.filters.run(value, state, place, self)
        source = text[found.start : found.end]
        # A key that stands twice in an object is read once: what is private is gone only if the text is written anew.
        if inside is GONE or (
            inside == found.value and not (self.withhold and private_names(state.exclude).first_in(source))
        ):
            return source
        return json.dumps(inside, ensure_ascii=False, separators=(",", ":"))

    def _without_labelled(self, value: Any, state: State, place: OmissionNode) -> Any:
        """Replace private values that a name elsewhere labels: a header, or a name beside them."""
        if not isinstance(state, Private) or type(value) not in _NESTS:
            return value

        def held(cell: Any, steps: tuple[str | int, ...]) -> Any:
            if type(cell) is str and self.withhold and names.first_in(cell) and not names.is_bare(cell):
                return cell  # is withheld as a text, and the list that it stands in with it
            here = place
            for step in steps:
                here = here.at(step if type(step) is str else None)
            new = self._held(cell, here)
            # A cell keeps its place in a row; a member that became null would be called one that has no value.
            return GONE if new is None and cell is not None and type(steps[-1]) is str else new

        names = private_names(state.exclude)
        return LabelledValues(names.is_label, names.is_in_key, held).run(value)

    def _held(self, cell: Any, place: OmissionNode) -> Any:
        if cell in _TAKEN_OUT:
            return cell
        place.left_out += 1
        return PRIVATE_MARK if type(cell) is str else None


class Found(NamedTuple):
    """Data in a text: where it stands and what it is."""

    start: int
    end: int
    value: Any


def _data_in(text: str) -> Iterator[Found]:
    """Find the JSON documents and Python literals of a text, in order: alone, a line each, after prose, in fences."""
    if (quoted := _quoted(text)) is not None:
        yield quoted
        return
    at = tries = 0
    while at < len(text) and tries < _MOST_STARTS:
        start = _BLANK.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing too
        if text[start : start + 1] not in _OPENING:
            # Inside something that cannot be read, an object has lost the place that paths would name.
            match = (_LINE_START if tries else _START).search(text, start)
            if match is None:
                return
            start = match.end() - 1
        elif tries and start and text[start - 1] != "\n":
            at = start + 1
            continue
        found = _document(text, start)
        if found is None:
            tries += 1
            at = start + 1
        else:
            yield found
            at = found.end


def _document(text: str, start: int) -> Found | None:
    if text[start] != "(":
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            pass
        else:
            # A quoted word of a sentence is no data.
            return Found(start, end, value) if type(value) is not str or _BLANK.fullmatch(text, end) else None
    return _literal(text, start)


def _literal(text: str, start: int) -> Found | None:
    """Read a Python literal that ends with its line, or with the text."""
    for end in {len(text.rstrip()), _line_end(text, start)}:
        if (value := parse_python(text[start:end])) is not None:
            return Found(start, end, value)
    return None


def _quoted(text: str) -> Found | None:
    """Read a text that is all of it one Python string."""
    inner = text.strip()
    if len(inner) < _SHORTEST_QUOTED or inner[0] != "'" or inner[-1] != "'" or len(inner) > _LARGEST_QUOTED:
        return None
    try:
        value = ast.literal_eval(inner)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return Found(0, len(text), value) if type(value) is str else None


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


@lru_cache(maxsize=1024)
def _with_document(state: Private) -> Private:
    return replace(state, exclude=state.exclude | state.document)


def _has_prose(text: str, documents: list[Found]) -> bool:
    ends = (0, *(found.end for found in documents))
    starts = (*(found.start for found in documents), len(text))
    return any(not _BLANK.fullmatch(text, end, start) for end, start in zip(ends, starts, strict=True))


@lru_cache(maxsize=1024)
def _by_last_name(state: Private) -> Private:
    """Return the rules that hold wherever the last name of a path stands, whatever stands around it."""
    rests = state.exclude
    lasts = (next((rest[at:] for at in range(len(rest) - 1, -1, -1) if names_one(rest[at])), ()) for rest in rests)
    return replace(state, exclude=frozenset((Deep(), *(last or (Glob("*"),))) for last in lasts))


@lru_cache(maxsize=1024)
def _deep(rests: frozenset[Rest]) -> frozenset[Rest]:
    return frozenset(rest for rest in rests if len(rest) == 2 and isinstance(rest[0], Deep))


def _unread_field(text: str, names: PrivateNames, *, top: bool) -> str | None:
    """Return the first field that is a key in data that no parser could read: cut JSON, and at the top lines too."""
    first, second = [*text.strip().split("\n", 2), "", ""][:2]
    cells, below = _CELLS.split(first), _CELLS.split(second)
    keys = _JSON_KEY.findall(text) if first[:1] in {"{", "["} else []
    keys += _LINE_KEY.findall(text) if top and second else []
    keys += cells if top and len(cells) == len(below) > 1 else []
    return next(filter(None, (names.first_in(key) for key in dict.fromkeys(keys) if names.is_label(key))), None)


_NESTS = frozenset((dict, list))
_OPENING = frozenset('{[("')
