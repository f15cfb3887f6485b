"""Names in any spelling: one normal form for the names of keys, labels, headers and texts.

A name is its letters and digits, without case, accents and what stands between them; a text names a field where those
follow one another from one border of a word to another.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from base64 import b64decode
from functools import lru_cache
from html import unescape
from typing import Final
from urllib.parse import unquote

_MOST_ESCAPES = 4  # kinds of escapes inside each other
# What shows nothing: controls, and what Unicode lets a font ignore. Half of a surrogate pair is a half of such a sign.
INVISIBLE: Final = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
BLANKS: Final = "\x0b\x0c\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
# Sequences for a terminal: their parameters, and the texts that it does not show (ECMA-48), in 7 bits and in 8.
_PARAMETERS: Final = r"[0-9;:?<=>]{0,40}[ -/]?[@-~]"
_HIDDEN_TEXT: Final = r"[^\x07\x1b\x9c\\\n]{0,400}+(?:\x07|\x9c|\x1b['\\])?+"
_AFTER_ESC: Final = rf"\[{_PARAMETERS}|[]PX^_]{_HIDDEN_TEXT}|[#%(-/][0-~]|[6-9=>DEHMNOZclno|}}~]"
CONTROL: Final = re.compile(r"\x1b[]PX^_]?|[\x90-\x9f]")  # what begins one, with the letter of a hidden text
_EIGHT_BIT: Final = tuple(map(chr, range(0x90, 0xA0)))
# Escapes of JSON and of programs, of URLs and of HTML, nested ones too (`\\\\\\/`, `%252B`, `&amp;quot;`), each read as
# what it stands for, and what a reader does not see as nothing. Their first characters come first because the engine
# skips to the next of them; a run of backslashes is tried at its start only, or a long one would take minutes.
OF_URL: Final = (
    r"(?:(?:25)*([0-7][0-9a-fA-F])|u([0-9a-fA-F]{4})|((?:25)*[c-fC-F][0-9a-fA-F](?:%(?:25)*[89abAB][0-9a-fA-F]){1,3}))"
)
OF_HTML: Final = r"(?:amp;)*(\#[xX][0-9a-fA-F]{1,8};?|\#[0-9]{1,8};?|[A-Za-z][A-Za-z0-9]{1,31};)"
_ESCAPED: Final = (
    r"""(?:(?<=\\)(?<!\\\\)\\*+(?:u\{([0-9a-fA-F]{1,8})\}|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})"""
    r"""|([0-3][0-7]{2})|([nrtbf/"'&]))"""
    rf"""|(?<=%){OF_URL}|(?<=&){OF_HTML}"""
    rf"""|(?<=\x1b)(?:{_AFTER_ESC})?+|(?<=\x9b)(?:{_PARAMETERS})?+|(?<=[\x90\x98\x9d-\x9f]){_HIDDEN_TEXT}"""
    rf"""|(?<=[{INVISIBLE}\ud800-\udfff])|(?<=([{BLANKS}])))"""
)
ESCAPE: Final = re.compile(rf"[\\%&{INVISIBLE}\ud800-\udfff{BLANKS}]{_ESCAPED}")
_SHOWN_ESCAPE: Final = re.compile(rf"[\\%&]{_ESCAPED}")  # the same for a text without what shows nothing: twice as fast
# And for one with a single kind, of which most texts have no other: one character is found at the speed of memory.
_ONE_ESCAPE: Final = {sign: re.compile(f"{re.escape(sign)}{_ESCAPED}") for sign in "\\%&"}
_OCTAL, _LETTER_CODE, _OCTETS, _ENTITY, _BLANK = 5, 6, 9, 10, 11
_LETTERS: Final = {"n": "\n", "r": "\n", "t": "\t", "b": "", "f": " "}
_HIDDEN: Final = re.compile(rf"\x1b(?:{_AFTER_ESC})|\x9b{_PARAMETERS}|[\x90\x98\x9d-\x9f]{_HIDDEN_TEXT}|[{INVISIBLE}]")
_FILLERS: Final = "\u115f\u1160\u3164\uffa0\u17b4\u17b5"  # letters that show nothing
# Letters that Unicode does not take apart, by their names: small capitals, white on black, with a stroke.
_LETTER: Final = re.compile(
    r"(?:LATIN LETTER SMALL CAPITAL|NEGATIVE (?:SQUARED|CIRCLED) LATIN CAPITAL LETTER|REGIONAL INDICATOR SYMBOL LETTER"
    r"|LATIN (?:SMALL|CAPITAL) LETTER(?: DOTLESS)?) ([A-Z])(?: WITH [A-Z ]+)?"
)
_ALNUM: Final = re.compile(r"[^\W_]+")
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[^\W_a-zA-Z0-9]+")
# Markup that stands in or around a word, and the number of a footnote.
TAG: Final = re.compile(r"<su[pb]>[\d*]{1,3}</su[pb]>|</?[a-zA-Z][^<>]{0,200}>|<!--[^<>]{0,200}-->")
_BINARY: Final = re.compile(r'\{"\$base64":"((?:[A-Za-z0-9+/=]{4})*)"\}')  # a key of bytes, as it is written
_BYTES: Final = re.compile(r"\Ab(['\"])(.*)\1\Z", re.DOTALL)
_LINK: Final = re.compile(r"\[([^\[\]]{1,200})\]\([^()\s]{0,400}\)")
# `Error: no name` is a sentence.
_BETWEEN_NAMES: Final = re.compile(r"[^\w\s:'\u2019-]|_{2,}|-{2,}|\n|\s{2,}|\s-\s|['\u2019]s\s|:(?!\s+\S)")
_INNER: Final = re.compile(r"[^\W_](?s:.*[^\W_])?")  # from the first letter or digit to the last
# Words around a name that leave it the same field: whose it is or of what time, and in which unit.
_BEFORE: Final = re.compile(
    r"data|the|a|my|your|his|her|its|our|their|s|employee|user|customer|person|client|member|patient"
    r"|annual|yearly|monthly|weekly|daily|hourly|current|gross|net|total"
)
_BEHIND: Final = re.compile(
    r"in|per|of|a|an|the|usd|eur|gbp|jpy|chf|cny|inr|cad|aud|sek|nok|dkk|pln|brl|mxn|dollars?|euros?|pounds|yen|cents|k|m"
    r"|year|yr|y|annum|month|mo|week|day|hour|hr|h|pa|annual|yearly|monthly|weekly|daily|hourly|amount|total|value|gross|net"
)
_MOST_WORDS = 12  # of a key or label: a longer one is a sentence


def visible_text(text: str) -> str:
    """Return the text as a reader sees it."""
    return text if text.isascii() and text.isprintable() else _HIDDEN.sub("", text)


def has_controls(text: str) -> bool:
    """Return whether a text has sequences for a terminal."""
    # One search for each character is several times faster than a pattern for all of them.
    return "\x1b" in text or (not text.isascii() and any(map(text.__contains__, _EIGHT_BIT)))


def without_controls(text: str) -> str:
    """Return a text without what begins the sequences for a terminal, but with what they hold."""
    return CONTROL.sub("", text)


def is_escaped(text: str) -> bool:
    """Return whether a text has a character that escapes begin with."""
    return "\\" in text or "%" in text or "&" in text


def shown_escape(text: str) -> re.Pattern[str] | None:
    """Return the pattern of the escapes that a text without what shows nothing may have, if any."""
    signs = [sign for sign in _ONE_ESCAPE if sign in text]
    return None if not signs else _ONE_ESCAPE[signs[0]] if len(signs) == 1 else _SHOWN_ESCAPE


def plain_text(text: str) -> str:
    """Return a text in plain letters, without the escapes of URLs, of HTML and of JSON, one inside the other."""
    for _ in range(_MOST_ESCAPES):
        # Of a text in ASCII the names stand out whatever is invisible in it, but for colours.
        text = plain_letters(visible_text(text) if has_controls(text) else text)
        if not is_escaped(text) or (plain := ESCAPE.sub(unescaped, text)) == text:
            break
        text = plain
    return text


def unescaped(found: re.Match[str]) -> str:
    """Return what an escape stands for."""
    group = found.lastindex
    if group is None:
        return ""
    said = found[group]
    if group == _LETTER_CODE:
        return _LETTERS.get(said, said)
    if group == _OCTETS:
        return unquote(re.sub("%(?:25)+", "%", f"%{said}"))
    if group == _ENTITY:
        return unescape(f"&{said}")
    code = ord(" ") if group == _BLANK else int(said, 8 if group == _OCTAL else 16)
    return chr(code) if code <= sys.maxunicode else ""


def plain_letters(text: str) -> str:
    """Return a text without accents, styles and what has no width."""
    if text.isascii():
        return text
    plain = text.translate({ord(one): _plain_letter(one) for one in set(text) if not one.isascii()})
    return unicodedata.normalize("NFC", plain)  # Hangul, which has been taken apart too


@lru_cache(maxsize=4096)
def _plain_letter(letter: str) -> str:
    """Return a letter without accents and style; nothing for what is not seen, and for the number of a footnote."""
    if letter.isdigit() and unicodedata.decomposition(letter).startswith(("<super>", "<sub>")):
        return ""
    return "".join(
        found[1].lower() if (found := _LETTER.fullmatch(unicodedata.name(one, ""))) else one
        for one in unicodedata.normalize("NFKD", letter)
        if one.isascii()
        or not (unicodedata.category(one)[0] == "M" or unicodedata.category(one) in {"Cf", "Cs"} or one in _FILLERS)
    )


def compact(text: str) -> str:
    """Return the letters and digits of a plain text, without case."""
    return text.casefold() if text.isalnum() else "".join(_ALNUM.findall(text)).casefold()


@lru_cache(maxsize=8192)
def plain_name(name: str) -> str:
    """Return the normal form of a name; one without letters and digits is its own."""
    return compact(plain_text(name)) or name


def pattern_forms(text: str) -> tuple[str, str]:
    """Return a name as patterns are compared with it: in plain letters, and with underscores between its words."""
    plain = plain_text(text)
    return plain.casefold(), "_".join(_WORD.findall(plain)).casefold()


@lru_cache(maxsize=8192)
def spellings(text: str) -> frozenset[str]:
    """Return the normal forms of the names that a key or a label may stand for: alone, with a unit or an owner."""
    whole = plain_text(text)
    plain = TAG.sub("", _LINK.sub(r"\1", whole))
    words = [word.casefold() for word in _WORD.findall(plain)]
    found = {compact(plain) or text, compact(whole)}  # what looks like markup may be the name
    if 1 < len(words) <= _MOST_WORDS:
        first = next((at for at, word in enumerate(words) if not _BEFORE.fullmatch(word)), len(words) - 1)
        last = next((at for at in range(len(words), 0, -1) if not _BEHIND.fullmatch(words[at - 1])), 1)
        for start in range(first + 1):
            found |= {"".join(words[start:end]) for end in range(max(last, start + 1), len(words) + 1)}
    return frozenset(found)


@lru_cache(maxsize=4096)
def names_in(text: str) -> tuple[str, ...]:
    """Return the names that a key, a heading or a path is made of, without markup and what a reader does not see."""
    if text.isidentifier() and text.isascii() and "__" not in text:
        return (text,)
    if found := _BINARY.fullmatch(text):
        text = b64decode(found[1]).decode(errors="replace")
    whole = _BYTES.sub(r"\2", plain_text(text))
    bare = TAG.sub("", _LINK.sub(r"\1", whole))
    # What looks like markup may be the name.
    parts = (part for form in dict.fromkeys((bare, whole)) for part in _BETWEEN_NAMES.split(form))
    return tuple(name[0] for part in parts if (name := _INNER.search(part)))
