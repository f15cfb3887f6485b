"""Field rules inside strings: data that stands as text is filtered as data and written back as text."""

from __future__ import annotations

import ast
import json
import operator
import re
from base64 import b64decode
from codecs import getincrementaldecoder
from dataclasses import dataclass, field
from functools import lru_cache
from html import unescape
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote_plus

from shaping.paths.filter import GONE, FilterWalk, OmissionNode
from shaping.paths.grammar import Deep, Glob, Name, Path
from shaping.paths.labels import LabelledValues
from shaping.paths.rules import SEPARATORS, Private, fits_spelling, names_in, plain_letters, plain_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from shaping.paths.filter import Opener
    from shaping.paths.rules import Rest, State

    Names: TypeAlias = tuple[tuple[str, re.Pattern[str]], ...]  # of excluded fields, with their patterns
    Keys: TypeAlias = tuple[str | None, ...]  # the way to a place: a member's key, or None for the elements of a list

WITHHELD = "[withheld: this text may hold the private field {!r} and cannot be read as data]"
WITHHELD_INSIDE = "[withheld: may hold the private field {!r}]"  # stands for a text inside data
HELD = "[private]"  # stands for a private text whose name stands elsewhere
_HELD = (None, "", HELD)
# Deeper than any data is taken in, and far from Python's own limit: what contains itself ends here.
_DEEPEST = 200
# Places of one text at which data is looked for: each attempt may read the rest of the text.
_MOST_STARTS = 16
_MOST_ESCAPES = 3  # kinds of escapes inside each other
_LARGEST_REPR = 2_000_000  # characters; the parser of Python literals is slow
_SHORTEST_QUOTED = 4  # characters: quotes, and room for a document
_SHORTEST_BASE64 = 24  # characters: fewer hold no name and its value
_BASE64 = re.compile(rf"\s*+(?:data:[^,\n]{{0,200}};base64,)?([A-Za-z0-9+/_\s-]{{{_SHORTEST_BASE64},}}+={{0,2}})\s*+")
_BASE64_RUN = re.compile(rf"[A-Za-z0-9+/_-]{{{_SHORTEST_BASE64},}}+={{0,2}}")
_LOOK_BASE64 = 1024  # characters by which binary data is known
_URL_SAFE = str.maketrans("-_", "+/")
_START = re.compile(r"[\[{(\"]")
_LINE_START = re.compile(r"^[\[{(\"]", re.MULTILINE)
_CELLS = re.compile(r"[|,;\t]| {2,}")
_NO_WORD = re.compile(r"[\W_]*")
_BLANK = re.compile(r"[\s\ufeff]*")
# A run of backslashes is tried at its start only: tried at each of them, a long one would take minutes.
_ESCAPE = re.compile(r"(?<!\\)\\++(?:u([0-9a-fA-F]{4})|[nrtbf])")
_DECODER = json.JSONDecoder()
_ASIDE = re.compile(r"</[a-zA-Z][^<>]{0,200}>|(?<=\w)\s*\([^()]*\)\s*$")  # closing tags, and units
_DISGUISE = re.compile(r"[%&\\<]")  # begins an escape or a tag
_INDEXES = re.compile(r"(?:/(?:\d+|-)?)+$")
_PATH_TO_LAST = re.compile(r"^.*/(?=[^/\s])", re.DOTALL)
# What a reader does not see inside a word: colours of a terminal and characters of no width, also as JSON escapes them.
HIDDEN = (
    r"(?:\x1b|(?<!\\)\\++(?:u001[bB]|x1[bB]))"
    r"(?:\[[0-9;:?<=>]{0,40}[ -/]?[@-~]|\][^\x07\x1b\\\n]{0,400}+(?:\x07|\x1b\\)?+)"
    r"|[\u200b-\u200d\u2060\ufeff\xad]|(?<!\\)\\++u(?:200[b-dB-D]|2060|[fF][eE][fF][fF]|00[aA][dD])"
)
_HIDDEN = re.compile(HIDDEN)
_NO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff\xad"
_ESCAPE_OF_HIDDEN = re.compile(r"\\(?:x1[bB]|u(?:001[bB]|200|2060|[fF][eE][fF][fF]|00[aA][dD]))")


def hides(text: str) -> bool:
    """Return whether a text may hold something that a reader does not see."""
    if "\x1b" in text or ("\\" in text and _ESCAPE_OF_HIDDEN.search(text)):
        return True
    return not text.isascii() and any(sign in text for sign in _NO_WIDTH)


def visible_text(text: str) -> str:
    """Return the text as a reader sees it."""
    return _HIDDEN.sub("", text) if hides(text) else text


class Unreadable(NamedTuple):
    """A text that no rule could be applied to although it names a field of one."""

    path: str
    name: str
    withheld: bool


@dataclass(slots=True)
class StringFilter:
    """One pass over a value that applies rules inside its strings, and leaves all else as it is."""

    opener: Opener
    withhold: bool = False  # whether a text that cannot be read and names an excluded field is replaced
    notes: list[Unreadable] = field(default_factory=list)
    root: OmissionNode = field(default_factory=OmissionNode)  # what is left out of texts is counted in it
    decided: dict[State, dict[Any, State | None]] = field(default_factory=dict)  # the rules inside a member, by its key
    document: frozenset[Rest] = frozenset()  # rules that hold in each text as if it were all of the data

    def run(self, value: Any, state: State, keys: Keys = ()) -> Any:
        """Return the value with its strings filtered: the same object where nothing changed."""
        kind = type(value)
        if not keys and isinstance(state, Private):
            self.document = state.exclude if self.withhold else frozenset()
            value = self._without_labelled(value, state, keys)
        if (state.whole and not self.document) or len(keys) > _DEEPEST:
            return value
        if kind is str:
            # What stands in a text has come from somewhere: its root may be the one that a private path begins at.
            inside = Private(exclude=state.exclude | self.document) if self.document else state
            return self._text(value, inside, keys, top=not keys)
        if kind is dict:
            return self._members(value, state, keys)
        if kind is list:
            return self._elements(value, state, keys)
        return value

    def select(self, text: str, state: State, place: OmissionNode | None = None) -> Any:
        """Return a string that stands where only members are wanted, with those members; GONE where it is no data."""
        if ("{" not in text and "[" not in text) or next(_data_in(text), None) is None:
            return GONE
        inside = StringFilter(self.opener, withhold=self.withhold, notes=self.notes)
        inside.root = place or inside.root
        return inside.run(text, state)

    def _members(self, value: dict[Any, Any], state: State, keys: Keys) -> dict[Any, Any]:
        out: dict[Any, Any] | None = None
        decided: dict[Any, State | None] | None = None
        for key, item in value.items():
            kind = type(item)
            if kind not in _NESTS and (kind is not str or not self._is_worth_a_look(item)):
                continue
            if decided is None:
                decided = self.decided.setdefault(state, {})
            if key not in decided:
                decided[key] = _inside(state, str(key), whole=bool(self.document))
            inside = decided[key]
            if inside is None:
                continue
            new = self.run(item, inside, (*keys, str(key)))
            if new is not item:
                out = dict(value) if out is None else out
                out[key] = new
        return value if out is None else out

    def _elements(self, value: list[Any], state: State, keys: Keys) -> list[Any]:
        out, place = list(value), (*keys, None)
        is_withheld = False
        for index, item in enumerate(value):
            if type(item) in _NESTS:
                out[index] = self.run(item, state, place)
            elif type(item) is str and self._is_worth_a_look(item):
                texts = len(self.notes)
                out[index] = self.run(item, state, place)
                is_withheld = is_withheld or (self.withhold and len(self.notes) > texts)
        if is_withheld:
            # The texts of a list are one text, as its lines are: what belongs to a name may stand anywhere in it.
            out = [
                self._held(new, place) if new is old and type(old) not in _NESTS else new
                for new, old in zip(out, value, strict=True)
            ]
        return out if any(map(operator.is_not, out, value)) else value

    def _is_worth_a_look(self, text: str) -> bool:
        """Return whether a string inside data may hold data, or a field that must not leave."""
        if self.withhold:
            return len(text) >= _SHORTEST_BASE64 or not text.isalnum()
        return "{" in text and ('"' in text or "'" in text)  # a URL template has no quotes, and no members

    def _text(self, text: str, state: State, keys: Keys, *, top: bool) -> str:
        names, guarded = _named(state.exclude), isinstance(state, Private)
        if not (state.partial or (_first_hit([text], names) if guarded else _names_one(text, names))):
            return text
        documents = list(_data_in(text))
        # A header may be one document, and each row another.
        values = self._without_labelled([found.value for found in documents], state, keys)
        out: list[str] = []
        prose: list[str] = []
        end = 0
        for found, value in zip(documents, values, strict=True):
            prose.append(text[end : found.start])
            out += [prose[-1], self._filtered(found, value, state, keys, text)]
            end = found.end
        prose.append(text[end:])
        new = "".join([*out, prose[-1]])
        if not guarded:  # only a text that would have been data is worth a word: prose may name any field
            hit = next(filter(None, (_unread_field(piece, names, top=top) for piece in prose)), None)
        else:
            # A field that is excluded at any depth and still stands there is spelt in a way that no parser undid.
            hit = _first_hit(prose, names) or _first_hit([new], _named(_deep(state)))
            if hit and not top and _NO_WORD.fullmatch(dict(names)[hit].sub("", text, count=1)):
                hit = None  # a bare name holds nothing
        if hit is None:
            return text if new == text else new
        self.notes.append(Unreadable(str(Path(self._place(keys).steps)), hit, self.withhold))
        if not self.withhold:
            return text if new == text else new
        # One mark of an answer tells what happened; a longer one in every row could be dearer than what it stands for.
        return WITHHELD.format(hit) if top else HELD if len(self.notes) > 1 else WITHHELD_INSIDE.format(hit)

    def _filtered(self, found: Found, value: Any, state: State, keys: Keys, text: str) -> str:
        if type(value) is str:
            inside: Any = self._text(value, state, keys, top=False)
        else:
            opened = self.run(value, state, keys)
            inside = FilterWalk(self.opener, self.select).run(opened, state, self._place(keys))
        source = text[found.start : found.end]
        # A key that stands twice in an object is read once: what is private is gone only if the text is written anew.
        if inside is GONE or (
            inside == found.value and not (self.withhold and _first_hit([source], _named(state.exclude)))
        ):
            return source
        return json.dumps(inside, ensure_ascii=False, separators=(",", ":"))

    def _without_labelled(self, value: Any, state: State, keys: Keys) -> Any:
        """Replace private values that a name elsewhere labels: a header, or a name beside them."""
        if not isinstance(state, Private) or type(value) not in _NESTS:
            return value

        def replace(cell: Any, place: tuple[str | int, ...]) -> Any:
            return self._held(cell, (*keys, *(step if type(step) is str else None for step in place)))

        return LabelledValues(_private_name(state.exclude), replace).run(value)

    def _held(self, cell: Any, keys: Keys) -> Any:
        if cell in _HELD:
            return cell
        self._place(keys).left_out += 1
        return HELD if type(cell) is str else None

    def _place(self, keys: Keys) -> OmissionNode:
        place = self.root
        for key in keys:
            place = place.at(key)
        return place


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
        if "'" not in text[start:end] or end - start > _LARGEST_REPR:
            continue
        try:
            value = ast.literal_eval(text[start:end].strip())
            json.dumps(value)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
        if isinstance(value, dict | list | tuple):
            return Found(start, end, json.loads(json.dumps(value)))
    return None


def base64_text(text: str) -> str:
    """Return the text that base64 holds, alone or in a data URI; nothing where it holds none."""
    found = _BASE64.fullmatch(text)
    if found is None:
        return ""
    code = re.sub(r"\s", "", found[1]).rstrip("=").translate(_URL_SAFE)
    code += "=" * (-len(code) % 4)
    try:
        # Pictures and the like end here, before all of them is decoded.
        getincrementaldecoder("utf-8")().decode(b64decode(code[:_LOOK_BASE64]))
        return b64decode(code, validate=True).decode()
    except ValueError:
        return ""


def _quoted(text: str) -> Found | None:
    """Read a text that is all of it one Python string."""
    inner = text.strip()
    if len(inner) < _SHORTEST_QUOTED or inner[0] != "'" or inner[-1] != "'" or len(inner) > _LARGEST_REPR:
        return None
    try:
        value = ast.literal_eval(inner)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return Found(0, len(text), value) if type(value) is str else None


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _inside(state: State, key: str, *, whole: bool) -> State | None:
    verdict = state.member(key)
    return None if verdict is None or (verdict.state.whole and not whole) else verdict.state


def _deep(state: State) -> frozenset[Rest]:
    return frozenset(rest for rest in state.exclude if len(rest) == 2 and isinstance(rest[0], Deep))


@lru_cache(maxsize=1024)
def _private_name(rests: frozenset[Rest]) -> Callable[[str], bool]:
    """Return the test whether a text is the name of a private field, alone or with the names of what holds it."""
    steps = [_last_name(rest) for rest in rests]
    plain = [plain_name(step.key) if isinstance(step, Name) else "" for step in steps]

    @lru_cache(maxsize=4096)
    def is_private(text: str) -> bool:
        if text.isascii() and text.isprintable() and not _DISGUISE.search(text):
            compact = plain_name(text)
            if not any(name in compact for name in plain):
                return False
        # Of a path, the last name counts: a file in a folder `email` is no e-mail address.
        last = _PATH_TO_LAST.sub("", _INDEXES.sub("", _ASIDE.sub("", _without_escapes(text))))
        asked = last.rstrip("? ").split() if last.rstrip().endswith("?") else ()  # `What is your salary?`
        return any(step is None or fits_spelling(name)(step) for name in (*names_in(last), *asked) for step in steps)

    return is_private


@lru_cache(maxsize=1024)
def _named(rests: frozenset[Rest]) -> Names:
    """Return for each excluded path the name to look for in a text."""
    found = {}
    for rest in rests:
        name = _last_name(rest)
        label = str(name) if name else "*"
        found[label] = _pattern(name)
    return tuple(sorted(found.items()))


def _last_name(rest: Rest) -> Name | Glob | None:
    return next((step for step in reversed(rest) if isinstance(step, Name) or _tells(step)), None)  # type: ignore[return-value]


def _tells(step: Any) -> bool:
    return isinstance(step, Glob) and bool(step.pattern.strip("*"))


def _spelt(name: Name | Glob | None) -> str:
    """Return the pattern of a name: headings and prose spell it with other separators than code."""
    if name is None:
        return r"[^\n]+"
    if isinstance(name, Name):
        return r"[_ -]?".join(map(re.escape, name.key.translate(SEPARATORS) or name.key))
    return r"[\w-]{0,40}".join(re.sub(r"\\?[_ -]", "[_ -]", re.escape(piece)) for piece in name.pattern.split("*"))


def _pattern(name: Name | Glob | None) -> re.Pattern[str]:
    if name is None:
        return re.compile(r"\S")
    return re.compile(rf"(?<![A-Za-z0-9]){_spelt(name)}(?![A-Za-z0-9])", re.IGNORECASE)


def _first_hit(texts: list[str], names: Names) -> str | None:
    """Return the first field that one of the texts names, in plain letters, escapes or base64."""
    for text in texts:
        plain = _without_escapes(text)
        plain += "".join(f"\n{found}" for run in (text, *_BASE64_RUN.findall(text)) if (found := base64_text(run)))
        if "[withheld: " in plain:  # what this very rule has written
            for mark in (WITHHELD, WITHHELD_INSIDE):
                for label, _ in names:
                    plain = plain.replace(mark.format(label), "")
        for label, pattern in names:
            if pattern.search(plain):
                return label
    return None


def _names_one(text: str, names: Names) -> bool:
    return any(pattern.search(text) for _, pattern in names)


def _unread_field(text: str, names: Names, *, top: bool) -> str | None:
    """Return the first field that is a key in data that no parser could read: cut JSON, and at the top lines too."""
    first, second = [*text.strip().split("\n", 2), "", ""][:2]
    cells, below = _CELLS.split(first), _CELLS.split(second)
    is_table = top and len(cells) == len(below) > 1
    for label, pattern in names:
        name = f"(?i:{pattern.pattern})"
        if first[:1] in {"{", "["} and re.search(rf"{name}[\\\"']{{1,3}}\s*:", text):
            return label
        if top and second and re.search(rf"(?m)^[ \t-]*{name}[ \t]*[:=]", text):
            return label
        if is_table and any(re.fullmatch(rf"\W*{name}\W*", cell) for cell in cells):
            return label
    return None


def _without_escapes(text: str) -> str:
    """Undo the escapes in which a name may be spelt: of URLs, of HTML and of JSON, one inside the other."""
    text = plain_letters(visible_text(text))
    for _ in range(_MOST_ESCAPES):
        plain = unquote_plus(text) if "%" in text else text
        plain = unescape(plain) if "&" in plain else plain
        plain = plain_letters(_ESCAPE.sub(_unescaped, plain)) if "\\" in plain else plain
        if plain == text:
            break
        text = plain
    return text


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else "\n"


_NESTS = frozenset((dict, list))
_OPENING = frozenset('{[("')
