"""The names of private fields, to be found in keys, labels and texts."""

from __future__ import annotations

import re
from base64 import b64decode
from codecs import getincrementaldecoder
from functools import lru_cache
from itertools import accumulate
from string import ascii_lowercase, ascii_uppercase, digits
from typing import TypeAlias, TypeGuard

from shaping.paths.grammar import Deep, Glob, Name
from shaping.paths.spelling import (
    TAG,
    compact,
    has_controls,
    names_in,
    pattern_forms,
    plain_name,
    plain_text,
    spellings,
    without_controls,
)

Rest: TypeAlias = "tuple[Name | Glob | Deep, ...]"  # what is left to match of a path

SHORTEST_BASE64 = 6  # characters: fewer hold no name and its value
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
_TOKEN = re.compile(r"[a-z0-9]+|(?<=[a-z])['\u2019](?=[a-z])|[^\W_]")
_ASIDE = re.compile(r"</[a-zA-Z][^<>]{0,200}>|(?<=\w)\s*\([^()]*\)\s*$")  # closing tags, and units
_INDEXES = re.compile(r"(?:/(?:\d+|-)?)+$")
_PATH_TO_LAST = re.compile(r"^.*/(?=[^/\s])", re.DOTALL)
_MOST_WORDS = 4  # of a key: a longer one is a sentence
_HAS_DIGIT = re.compile(r"\d")
_HOLDS_MORE = re.compile(r"[\d<\[]")  # a number, markup or a link
_NO_NAME = re.compile(r"[^\w.-]")
_ANY_WORDS = r"[\w-]{0,40}"  # what a star in a name stands for


class PrivateNames:
    """The names of private fields, to be found in labels and texts."""

    def __init__(self, rests: frozenset[Rest]) -> None:
        last = {last_name(rest) for rest in rests}
        self.all = None in last
        steps = sorted((step for step in last if step), key=str)
        self.names: dict[str, str] = {}
        # What is looked for as a pattern, with the longest of its letters that a text must have.
        self.patterns: dict[Name | Glob, str] = {}
        for step in steps:
            if isinstance(step, Name) and any(map(str.isalnum, plain_name(step.key))):
                self.names.setdefault(plain_name(step.key), str(step))
                # `I'd` is no `id`: in a text, the apostrophe of a name counts.
                self.names.setdefault("".join(_TOKEN.findall(plain_text(step.key).casefold())), str(step))
            else:
                pieces = map(compact, plain_text(step.pattern).split("*") if isinstance(step, Glob) else ())
                self.patterns[step] = max(pieces, key=len, default="")
        self.globs = [plain_pattern(step) for step in steps if isinstance(step, Glob)]
        self.letters = {compact(name).encode("utf-8", "replace") for name in self.names}
        self.lengths = sorted({len(name) for name in self.names})
        self.firsts = frozenset(name[0] for name in self.names)
        self.is_label = lru_cache(maxsize=4096)(self._is_label)

    def _is_label(self, text: str) -> bool:
        """Return whether a text is the name of a private field, alone or with the names of what holds it."""
        if self.all:
            return True
        plain = plain_text(text)
        # Of a path, the last name counts: a file in a folder `email` is no e-mail address.
        whole, last = (_PATH_TO_LAST.sub("", _INDEXES.sub("", one)) for one in (plain, _ASIDE.sub("", plain)))
        asked = last.rstrip("? ").split() if last.rstrip().endswith("?") else ()  # `What is your salary?`
        names = {text, last, *names_in(last), *names_in(whole), *asked}
        return any(not self.names.keys().isdisjoint(spellings(name)) for name in names) or any(
            fits_either(glob, forms) for forms in map(pattern_forms, names if self.globs else ()) for glob in self.globs
        )

    def is_in_key(self, key: str) -> bool:
        """Return whether a key is a text that names a private field: a sentence, a name with its value, base64."""
        if has_controls(key) or len(key.split()) > _MOST_WORDS or (_HAS_DIGIT.search(key) and _NO_NAME.search(key)):
            return self.first_in(key) is not None
        return bool((found := base64_text(key)) and self.first_in(found))

    def says_more(self, key: str) -> bool:
        """Return whether a key holds the name of a private field and may hold its value too."""
        is_name = key.isidentifier() and "__" not in key and not _HAS_DIGIT.search(key)
        return not is_name and plain_name(key) not in self.names and (self.is_label(key) or bool(self.first_in(key)))

    def first_in(self, text: str) -> str | None:
        """Return a field that a text names, in plain letters, escapes, markup or base64."""
        plain = plain_text(text)
        if has_controls(text):  # some readers are shown what a terminal hides
            plain += f"\n{plain_text(without_controls(text))}"
        for run in (text, *(run for run in _BASE64_RUN.findall(text) if run[:2] in _TEXT_STARTS)):
            if found := base64_text(run):
                plain += f"\n{plain_text(found)}"
        if not (self.all or self.patterns or self._may_be_in(plain)):
            return None
        if self.all and plain.strip():
            return "*"
        letters = compact(plain) if self.patterns else ""
        for step, piece in self.patterns.items():
            if piece in letters and _in_texts(step).search(plain):
                return str(step)
        hit = self._first_name(plain)
        return hit or (self._first_name(f"{TAG.sub(' ', plain)}\n{TAG.sub('', plain)}") if "<" in plain else None)

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
        """Return whether a text is a name and nothing else but an owner or a unit, which hold no value."""
        if compact(plain_text(text)) in self.names:
            return True
        return _HOLDS_MORE.search(text) is None and not self.names.keys().isdisjoint(spellings(text))


private_names = lru_cache(maxsize=1024)(PrivateNames)


def plain_pattern(step: Glob) -> Glob:
    """Return a pattern in plain letters."""
    return Glob(plain_text(step.pattern).casefold())


@lru_cache(maxsize=1024)
def _joined(pattern: Glob) -> Glob:
    return Glob(re.sub(r"[\s-]+", "_", pattern.pattern))


def fits_either(pattern: Glob, forms: tuple[str, str]) -> bool:
    """Return whether a plain pattern fits one of the forms of a name."""
    return pattern.fits(forms[0]) or _joined(pattern).fits(forms[1])


def last_name(rest: Rest) -> Name | Glob | None:
    """Return the last name or pattern of a path."""
    return next(filter(names_one, reversed(rest)), None)


def names_one(step: Name | Glob | Deep) -> TypeGuard[Name | Glob]:
    """Return whether a step names something, and not just anything."""
    return isinstance(step, Name) or (isinstance(step, Glob) and bool(step.pattern.strip("*")))


@lru_cache(maxsize=16384)
def _in_texts(step: Name | Glob) -> re.Pattern[str]:
    """Return the pattern of a name of signs alone, or of the words that fit a glob, however they are joined."""
    if isinstance(step, Name):
        return re.compile(re.escape(step.key), re.IGNORECASE)
    pieces = (re.sub(r"\\?[_ -]", "[_ -]", re.escape(piece)) for piece in plain_pattern(step).pattern.split("*"))
    return re.compile(rf"(?<![A-Za-z0-9]){_ANY_WORDS.join(pieces)}(?![A-Za-z0-9])", re.IGNORECASE)


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
