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
from itertools import accumulate
from string import ascii_lowercase, ascii_uppercase, digits
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeGuard

from shaping.paths.filter import GONE, FilterWalk, OmissionNode, Opener
from shaping.paths.grammar import Deep, Glob, Name, Path
from shaping.paths.labels import LabelledValues
from shaping.paths.rules import Private, Rest, State, plain_pattern
from shaping.paths.spelling import TAG, compact, names_in, plain_name, plain_text, spellings

if TYPE_CHECKING:
    from collections.abc import Iterator

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
_LARGEST_REPR = 2_000_000  # characters; the parser of Python literals is slow
_SHORTEST_QUOTED = 4  # characters: quotes, and room for a document
_SHORTEST_BASE64 = 6  # characters: fewer hold no name and its value
_BASE64 = re.compile(r"\s*+(?:data:[^,\n]{0,200};base64,)?([A-Za-z0-9+/_\s-]{6,}+={0,2})\s*+")
_BASE64_RUN = re.compile(r"[A-Za-z0-9+/_-]{6,}+={0,2}")
# How base64 of a text begins: by a sign of ASCII and something that may follow it, or by one of several bytes.
_ALPHABET = f"{ascii_uppercase}{ascii_lowercase}{digits}+/"
_AFTER_ASCII, _AFTER_OTHERS = {0, *range(2, 8), *range(12, 16)}, range(8, 12)  # the first half of the second byte
_TEXT_STARTS = frozenset(
    first + second
    for high, first in enumerate(_ALPHABET)
    for low, second in enumerate(_ALPHABET)
    if low % 16 in (_AFTER_ASCII if high < 32 else _AFTER_OTHERS if high >= 48 else ())
)
_WORTH_A_FAST_LOOK = 16  # characters of a text for each name
_SMALL = bytes(range(256)).lower()
_SIGNS = bytes(code for code in range(128) if not chr(code).isalnum())
_LOOK_BASE64 = 1024  # characters by which binary data is known
_URL_SAFE = str.maketrans("-_", "+/")
_START = re.compile(r"[\[{(\"]")
_LINE_START = re.compile(r"^[\[{(\"]", re.MULTILINE)
_CELLS = re.compile(r"[|,;\t]| {2,}")
_BLANK = re.compile(r"[\s\ufeff]*")
_SEPARATORS = dict.fromkeys(map(ord, "_- "))
_TOKEN = re.compile(r"[a-z0-9]+|(?<=[a-z])['\u2019](?=[a-z])|[^\W_]")
_MARK = re.compile(
    r"\[withheld: (?:this text )?may hold the private field ([^\]\n]{1,400}?)(?: and cannot be read as data)?\]"
)
_DECODER = json.JSONDecoder()
_ASIDE = re.compile(r"</[a-zA-Z][^<>]{0,200}>|(?<=\w)\s*\([^()]*\)\s*$")  # closing tags, and units
_INDEXES = re.compile(r"(?:/(?:\d+|-)?)+$")
_PATH_TO_LAST = re.compile(r"^.*/(?=[^/\s])", re.DOTALL)


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
            inside = _with_document(state.exclude, self.document) if self.document else state
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
            return len(text) >= _SHORTEST_BASE64 or not text.isalpha()
        return "{" in text and ('"' in text or "'" in text)  # a URL template has no quotes, and no members

    def _text(self, text: str, state: State, keys: Keys, *, top: bool) -> str:
        private = private_names(state.exclude) if isinstance(state, Private) else None
        names = () if private else _named(state.exclude)
        if not (state.partial or (private.first_in(text) if private else _names_one(text, names))):
            return text
        documents = list(_data_in(text))
        if private and documents and _has_prose(text, documents):
            # A label may stand for all of a path but its last name.
            state = _by_last_name(state.exclude)
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
        if private is None:  # only a text that would have been data is worth a word: prose may name any field
            hit = next(filter(None, (_unread_field(piece, names, top=top) for piece in prose)), None)
        else:
            # A field that is excluded at any depth and still stands there is spelt in a way that no parser undid.
            hit = next(filter(None, map(private.first_in, prose)), None) or private_names(
                _deep(state.exclude)
            ).first_in(new)
            if hit and not top and private.is_bare(text):
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
            inside == found.value and not (self.withhold and private_names(state.exclude).first_in(source))
        ):
            return source
        return json.dumps(inside, ensure_ascii=False, separators=(",", ":"))

    def _without_labelled(self, value: Any, state: State, keys: Keys) -> Any:
        """Replace private values that a name elsewhere labels: a header, or a name beside them."""
        if not isinstance(state, Private) or type(value) not in _NESTS:
            return value

        def replace(cell: Any, place: tuple[str | int, ...]) -> Any:
            return self._held(cell, (*keys, *(step if type(step) is str else None for step in place)))

        return LabelledValues(private_names(state.exclude).is_label, replace).run(value)

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


@lru_cache(maxsize=1024)
def _with_document(rests: frozenset[Rest], document: frozenset[Rest]) -> Private:
    return Private(exclude=rests if rests is document else rests | document)


def _has_prose(text: str, documents: list[Found]) -> bool:
    ends = (0, *(found.end for found in documents))
    starts = (*(found.start for found in documents), len(text))
    return any(not _BLANK.fullmatch(text, end, start) for end, start in zip(ends, starts, strict=True))


@lru_cache(maxsize=1024)
def _by_last_name(rests: frozenset[Rest]) -> Private:
    """Return the rules that hold wherever the last name of a path stands, whatever stands around it."""
    lasts = (next((rest[at:] for at in range(len(rest) - 1, -1, -1) if _names(rest[at])), ()) for rest in rests)
    return Private(exclude=frozenset((Deep(), *(last or (Glob("*"),))) for last in lasts))


@lru_cache(maxsize=1024)
def _deep(rests: frozenset[Rest]) -> frozenset[Rest]:
    return frozenset(rest for rest in rests if len(rest) == 2 and isinstance(rest[0], Deep))


class PrivateNames:
    """The names of private fields, to be found in labels and texts."""

    def __init__(self, rests: frozenset[Rest]) -> None:
        last = {_last_name(rest) for rest in rests}
        self.all = None in last
        steps = sorted((step for step in last if step), key=str)
        self.names: dict[str, str] = {}
        patterns: dict[str, str] = {}
        for step in steps:
            if isinstance(step, Name) and any(map(str.isalnum, plain_name(step.key))):
                self.names.setdefault(plain_name(step.key), str(step))
                # `I'd` is no `id`: in a text, the apostrophe of a name counts.
                self.names.setdefault("".join(_TOKEN.findall(plain_text(step.key).casefold())), str(step))
            elif isinstance(step, Name):
                patterns[str(step)] = re.escape(step.key)
            else:
                patterns[str(step)] = _pattern(plain_pattern(step)).pattern
        self.written = {repr(label) for label in (*self.names.values(), *patterns)}
        self.globs = [plain_pattern(step) for step in steps if isinstance(step, Glob)]
        self.letters = {compact(name).encode("utf-8", "replace") for name in self.names}
        self.lengths = sorted({len(name) for name in self.names})
        self.firsts = frozenset(name[0] for name in self.names)
        self.labels = list(patterns)
        self.pattern = re.compile("|".join(f"({one})" for one in patterns.values()) or r"(?!)", re.IGNORECASE)
        self.is_label = lru_cache(maxsize=4096)(self._is_label)

    def _is_label(self, text: str) -> bool:
        """Return whether a text is the name of a private field, alone or with the names of what holds it."""
        if self.all:
            return True
        plain = plain_text(text)
        # Of a path, the last name counts: a file in a folder `email` is no e-mail address.
        last = _PATH_TO_LAST.sub("", _INDEXES.sub("", _ASIDE.sub("", plain)))
        asked = last.rstrip("? ").split() if last.rstrip().endswith("?") else ()  # `What is your salary?`
        names = (text, last, *names_in(last), *asked)
        return any(not self.names.keys().isdisjoint(spellings(name)) for name in names) or any(
            glob.fits(plain_text(name).casefold()) for glob in self.globs for name in names
        )

    def first_in(self, text: str) -> str | None:
        """Return a field that a text names, in plain letters, escapes, markup or base64."""
        plain = plain_text(text)
        for run in (text, *(run for run in _BASE64_RUN.findall(text) if run[:2] in _TEXT_STARTS)):
            if found := base64_text(run):
                plain += f"\n{plain_text(found)}"
        if not (self.all or self.labels or self._may_be_in(plain)):
            return None
        if "[withheld: " in plain:  # what this very rule has written
            plain = _MARK.sub(lambda mark: "" if mark[1] in self.written else mark[0], plain)
        if self.all and plain.strip():
            return "*"
        if self.labels and (match := self.pattern.search(plain)):
            return self.labels[(match.lastindex or 1) - 1]
        hit = self._first_name(plain)
        return hit or (self._first_name(TAG.sub(" ", plain)) if "<" in plain else None)

    def _may_be_in(self, plain: str) -> bool:
        """Look fast whether the letters of a name follow one another, wherever words begin and end."""
        if len(plain) < _WORTH_A_FAST_LOOK * len(self.letters):
            return True
        plain = f"{plain}\n{TAG.sub('', plain)}" if "<" in plain else plain
        if not plain.isascii():
            plain = plain.casefold()
            for sign in {one for one in set(plain) if not (one.isascii() or one.isalnum())}:
                plain = plain.replace(sign, "")
        joined = plain.encode("utf-8", "replace").translate(_SMALL, _SIGNS)
        return any(name in joined for name in self.letters)

    def _first_name(self, plain: str) -> str | None:
        """Return the first name whose letters follow one another, from the border of a word to another."""
        tokens = _TOKEN.findall(plain.casefold())
        joined, ends = "".join(tokens), None
        at = 0
        for token in tokens:
            if token[0] in self.firsts:
                for length in self.lengths:
                    end = at + length
                    if (name := self.names.get(joined[at:end])) is None:
                        continue
                    if joined[end - 1].isalpha() and joined[end : end + 1].isdigit():  # `SSN98765431`
                        return name
                    if ends is None:
                        ends = set(accumulate(map(len, tokens)))
                    if end in ends:
                        return name
            at += len(token)
        return None

    def is_bare(self, text: str) -> bool:
        """Return whether a text is a name and nothing else."""
        return compact(plain_text(text)) in self.names


private_names = lru_cache(maxsize=1024)(PrivateNames)


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
    return next(filter(_names, reversed(rest)), None)


def _names(step: Name | Glob | Deep) -> TypeGuard[Name | Glob]:
    return isinstance(step, Name) or (isinstance(step, Glob) and bool(step.pattern.strip("*")))


def _spelt(name: Name | Glob | None) -> str:
    """Return the pattern of a name: headings and prose spell it with other separators than code."""
    if name is None:
        return r"[^\n]+"
    if isinstance(name, Name):
        return r"[_ -]?".join(map(re.escape, name.key.translate(_SEPARATORS) or name.key))
    return r"[\w-]{0,40}".join(re.sub(r"\\?[_ -]", "[_ -]", re.escape(piece)) for piece in name.pattern.split("*"))


def _pattern(name: Name | Glob | None) -> re.Pattern[str]:
    if name is None:
        return re.compile(r"\S")
    return re.compile(rf"(?<![A-Za-z0-9]){_spelt(name)}(?![A-Za-z0-9])", re.IGNORECASE)


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


_NESTS = frozenset((dict, list))
_OPENING = frozenset('{[("')
