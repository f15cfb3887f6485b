"""Secrets in one text: plain, escaped for JSON, HTML or a URL, in base64, or known only by the name of its field."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from shaping.paths.spelling import (
    BLANKS,
    CONTROL,
    ESCAPE,
    INVISIBLE,
    OF_HTML,
    OF_URL,
    has_controls,
    is_escaped,
    shown_escape,
    unescaped,
    without_controls,
)
from shaping.redaction.credentials import BARE, BY_NAME, CREDENTIALS, GENERIC, names_next_page
from shaping.redaction.engine import SHORT, Rule, Ruleset, Span, Test, encodable, has_one, mark, unbase64
from shaping.redaction.names import Named, assignments, sensitive

_HIDES: Final = has_one([f"[{INVISIBLE}{BLANKS}]"])
_SHOWN: Final = bytes((9, 10, 13, *range(32, 127)))
# One by one: a pattern that begins with one character is found at the speed of memory.
_ESCAPES: Final = tuple(map(re.compile, (f"%{OF_URL}", f"&{OF_HTML}")))
_HIDDEN: Final = re.compile(f"[{INVISIBLE}\ud800-\udfff{BLANKS}]")
_BLOCK: Final = 1024  # characters of which the fast engine says at once that none is hidden
_MOST_ESCAPES: Final = 4  # kinds of escapes inside each other
# Base64 of printable ASCII has few characters in three places of four; 18 such bytes are no word.
QUADS: Final = "(?:[I-Za-f][C-HS-Xi-ny-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]){6}"
_BASE64: Final = re.compile(QUADS)
_HAS_BASE64: Final = has_one([QUADS])
_SHORTEST_BASE64: Final = 24
_FEW_RUNS: Final = 256  # characters of which the fast engine says at once that no run of base64 in them is text
_BEFORE_TEXT: Final = 64  # characters of base64 before those that are text for sure
_OF_BASE64: Final = r"A-Za-z0-9+/_\-"
_KINDS: Final = bytes(ord("a" if re.match(f"[{_OF_BASE64}]", chr(code)) else " ") for code in range(256))
# What stands between two lines of base64: quotes, indents, what quotes a mail, the number of a line. A sign before a
# line may be that of a diff or of the base64 itself, so both are tried. Words of a sentence are no such line.
_BETWEEN: Final = rf"(?:[^{_OF_BASE64}=\n(\[{{]|[+-](?![{_OF_BASE64}]))"
_NEXT_LINE: Final = (
    rf"(?:{_BETWEEN}|\n){{0,60}}(?:[0-9]{{1,6}}[^{_OF_BASE64}=\n]{{1,8}})?"
    rf"(?=[{_OF_BASE64}]{{16}}|[{_OF_BASE64}]++(?:[=\r\n\"'`\\,;<|]|\Z))"
)
_WRAPS: Final = {end: [re.compile(end + sign + _NEXT_LINE) for sign in ("", "[+-]")] for end in (r"\n", r"[\r\n]")}
_WRAPPED: Final = re.compile(rf"(?<=[{_OF_BASE64}]{{16}})(?:[^{_OF_BASE64}=\n]{_BETWEEN}{{0,12}})?\Z")
_LONGEST_END: Final = 29  # characters before the end of a line that are looked at
_CODE: Final = re.compile(
    r"u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|U00([0-9a-fA-F]{6})|x([0-9a-fA-F]{2})|(?P<octal>[0-3][0-7]{2})"
)
_AFTER_BACKSLASH: Final = {
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "b": "\b",
    "f": "\f",
    '"': "'\"",
    **{one: one for one in "/'&"},
}
_END_OF_LINK: Final = re.compile(r"(?:\x1b|(?<!\\)\\++u001b)\\++(?!u00)")  # of a terminal: its backslash is no escape
_AROUND: Final = 500  # characters on either side of an escape that a credential may have
# A mark of ours says nothing; of any other text that looks like one, what it holds is looked at.
_MARK: Final = re.compile(r"\[redacted:(?:([^\[\]\n]{0,200})(\]))?")
# What breaks a line, but stands in the middle of a token: a rule looks over it.
_BREAKS: Final = "\r\x0b\x0c\x85"
_IN_WORD: Final = r"(?<=[A-Za-z0-9_-].)(?=[A-Za-z0-9_-])"
_BREAK: Final = re.compile(f"[{_BREAKS}]{_IN_WORD}")
_EACH_BREAK: Final = {sign: re.compile(sign + _IN_WORD) for sign in _BREAKS}
MARKED: Final = "[redacted:"
# A word is found by the fast engine ten times as fast as by Python.
_HAS_MARK: Final = has_one([re.escape(MARKED)])
_IS_ODD: Final = has_one([re.escape(MARKED), rf"[\\%&\r{INVISIBLE}{BLANKS}]"])
_HAS_ESC: Final = has_one([r"001b\\"])
_APART: Final = frozenset(" \t\r\n\"'`,;:&@=()[]{}<>|\\")  # what stands between a value and other things
_OURS: Final = frozenset({"field-name", "path", "unreadable", "header", *(rule.name for rule in CREDENTIALS.rules)})


class View(NamedTuple):
    """A text as somebody who decodes it reads it, with what is needed to find a place of it in the original."""

    text: str
    decoded: list[int]  # where each escape ends in the view
    written: list[int]  # where it ends in the original
    outer: View | None = None  # of which the original is this one, where escapes stand in escapes

    def original(self, at: int) -> int:
        """Return the place in the original of a place in the view."""
        number = bisect_right(self.decoded, at) - 1
        place = at if number < 0 else self.written[number] + at - self.decoded[number]
        return place if self.outer is None else self.outer.original(place)


def views(text: str) -> Iterator[View]:
    """Yield the text, and what it says without its escapes, colours and the like where it has any."""
    yield View(text, [], [])
    if may_be_decoded(text):
        yield from (view for view in (_decode(text, form=form) for form in _ways(text)) if view.decoded)
    for has_one_of, sign in ((has_controls, CONTROL), (_breaks, _BREAK)):
        if has_one_of(text):
            yield _without(text, [match.span() for match in sign.finditer(text)])


def _ways(text: str) -> tuple[bool, ...]:
    """Return whether to read a text as it is, as a form, or both."""
    return (False, True) if "%" in text and "+" in text else (False,)


def has_invisible(text: str) -> bool:
    """Return whether a text has characters that show nothing, or a blank of another kind."""
    seen = encodable(text)
    rest = seen.encode().translate(None, _SHOWN)  # what shows in ASCII is taken away at the speed of memory
    return seen is not text or bool(rest and _HIDES(rest.decode()))  # half of a surrogate pair shows nothing, too


@lru_cache(maxsize=4096)
def normal_name(name: str) -> str:
    """Return the name of a field without its escapes and what shows nothing."""
    return _decode(name).text if may_be_decoded(name) else name


def is_mark(text: str) -> bool:
    """Return whether a text is a mark that a rule writes, and nothing else: such a text in an answer hides nothing."""
    found = _MARK.fullmatch(text)
    return found is not None and found[1] in _OURS


def may_be_decoded(text: str) -> bool:
    """Return whether a text has anything that somebody who decodes it reads otherwise."""
    return is_escaped(text) or MARKED in text or has_invisible(text)


def _breaks(text: str) -> bool:
    return any(sign in text and pattern.search(text) for sign, pattern in _EACH_BREAK.items())


def _decode(text: str, *, form: bool = False) -> View:
    view = View(text, [], [])
    for _ in range(_MOST_ESCAPES):
        escape = ESCAPE if has_invisible(view.text) else shown_escape(view.text)
        if escape is None:
            break
        # A form writes a blank as a plus sign, and a plus sign as an escape.
        inner = _decode_once(view.text.replace("+", " ") if form and "%" in view.text else view.text, escape)
        if not inner.decoded:
            break
        view = inner._replace(outer=view if view.decoded else None)
    if MARKED in view.text and (inner := _without_marks(view.text)).decoded:
        view = inner._replace(outer=view if view.decoded else None)
    return view


def _without_marks(text: str) -> View:
    """Read a text without what looks like marks inside its values: a rule that stops at them would miss the value."""
    gone: list[tuple[int, int]] = []
    for match in _MARK.finditer(text):
        before, after = text[max(match.start() - 1, 0) : match.start()], text[match.end() : match.end() + 1]
        if match[1] not in _OURS:
            gone.append((match.start(), match.start() + len(MARKED)))
            gone += [match.span(2)] if match[2] else []
        elif not {before, after} <= _APART | {""}:
            gone.append(match.span())
    return _without(text, gone)


def _without(text: str, gone: list[tuple[int, int]]) -> View:
    """Read a text without some of its parts, which are in order."""
    ends = [0, *(end for _, end in gone)]
    pieces = [text[end:start] for end, (start, _) in zip(ends, gone, strict=False)]
    return View("".join((*pieces, text[ends[-1] :])), list(accumulate(map(len, pieces))), ends[1:])


def _decode_once(text: str, escape: re.Pattern[str]) -> View:
    pieces: list[str] = []
    decoded: list[int] = []
    written: list[int] = []
    last = size = 0
    for match in escape.finditer(text):
        character = unescaped(match)
        if character == match[0]:
            continue
        pieces += (text[last : match.start()], character)
        size += match.start() - last + len(character)
        last = match.end()
        decoded.append(size)
        written.append(last)
    return View("".join((*pieces, text[last:])), decoded, written)


def candidates(text: str) -> tuple[Ruleset, list[str]]:
    """Return the rules that may find something in a text or any part of it, mostly none, and the text as it was read.

    It is read without its escapes, and once more without what breaks or hides its words.
    """
    plain = _without_backslashes(text)
    read = [plain]
    hidden = has_invisible(plain)
    if _breaks(plain):
        read.append(_BREAK.sub("", plain))
    if hidden and has_controls(plain):
        read.append(without_controls(plain))
    if _HAS_MARK(encodable(plain)):
        read.append(_decode(plain).text)
    if hidden or "%" in plain or "&" in plain:
        # Backslashes that are left are no escapes.
        parts = _escaped_parts(plain.replace("\\", "'"), hidden=hidden)
        decoded = ([_decode(part, form=form).text for part in parts if form in _ways(part)] for form in (False, True))
        read += ["\n".join(one) for one in decoded if one]
    return CREDENTIALS.only({rule for one in read for rule in _matching(one)}), read


def _matching(text: str) -> list[Rule]:
    seen = encodable(text)
    found = CREDENTIALS.matching(seen)
    if _HAS_BASE64(seen):
        said = {run.text for run in _base64_texts(text)}  # many stand in every record
        found += CREDENTIALS.matching(encodable("\n".join(view.text for one in said for view in views(one))))
    return found


def _without_backslashes(text: str) -> str:
    """Decode the escapes of JSON roughly: a quote that was escaped gets another before it, which all rules allow."""
    if "\\" not in text:  # one letter is searched for many times faster than two
        return text
    if "\x1b" in text or _HAS_ESC(encodable(text)):
        text = _END_OF_LINK.sub("\x07", text)
    first, *parts = text.split("\\")
    if not parts:
        return text
    # A run of backslashes is one: between them stands nothing.
    known = _AFTER_BACKSLASH.get
    after = [f"{sign}{part[1:]}" if (sign := known(part[0])) else _coded(part) for part in parts if part]
    return "".join((first, *after, "" if parts[-1] else "'"))


def _coded(part: str) -> str:
    code = _CODE.match(part)
    if code is None:
        return f"\\{part}"
    number = int(code[code.lastindex or 0], 8 if code["octal"] else 16)
    # What is neither half of a pair nor beyond all characters.
    character = chr(number) if number <= sys.maxunicode and number >> 11 != 0xD800 >> 11 else ""
    return character + part[code.end() :]


def _escaped_parts(text: str, *, hidden: bool) -> list[str]:
    """Return what stands around escapes, without the rest."""
    parts: list[str] = []
    start = end = 0
    spans = [match.span() for escape in _ESCAPES for match in escape.finditer(text)]
    for block in range(0, len(text), _BLOCK) if hidden else ():
        if has_invisible(text[block : block + _BLOCK]):
            spans += [match.span() for match in _HIDDEN.finditer(text, block, block + _BLOCK)]
    for first, last in sorted(spans):
        if first > end:
            parts.append(text[start:end])
            start = max(first - _AROUND, end)
        end = min(last + _AROUND, len(text))
    return list(filter(None, (*parts, text[start:end])))


def secrets(text: str, rules: Ruleset = CREDENTIALS, context: str = "", rest: int = 0) -> list[Span]:
    """Return the secrets in a text, in order and apart, knowing the name of the field that it stands in.

    Its first `rest` characters are the rest of a private key that began in another text.
    """
    is_named = context and rules.knows(context)
    if not (rest or is_named or _may_hold(text, rules)):
        return []
    found = [Span(0, rest, "private-key")] if rest else []
    for view in views(text):
        # In an address that stands encoded in a link, a token is no page of that link.
        spare = BARE if not view.decoded and context and BARE in rules.rules and names_next_page(context) else None
        spans = (*_plain(view.text, rules, context, spare), *_base64(view.text, rules))
        found += [Span(view.original(span.start), view.original(span.end), span.rule) for span in spans]
    # What has a rule of its own is reported by it, in whatever form it was read.
    return _apart(text, sorted(found, key=lambda span: span.rule == GENERIC)) if found else found


@lru_cache(maxsize=256)
def prefilter(rules: Ruleset) -> Test:
    """Return a test that is false, as for most short texts, only where none of the rules finds anything."""
    tests = (*rules.prefilters, _HAS_BASE64, _IS_ODD)
    return lambda text: any(is_in(text) for is_in in tests)


def _may_hold(text: str, rules: Ruleset) -> bool:
    seen = encodable(text)
    if len(text) < SHORT and seen is text:  # a half of a surrogate pair is no longer there to be found
        return bool(prefilter(rules)(seen))
    return may_be_decoded(text) or _breaks(text) or bool(rules.matching(seen) or _HAS_BASE64(seen))


def assigned(text: str, named: Named = sensitive, rule: str = "field-name") -> list[Span]:
    """Return the values that a text assigns to names of secrets: `password=…`, a header, a column of a table."""
    found = [
        Span(view.original(start), view.original(end), rule)
        for view in views(text)
        for start, end in assignments(view.text, named)
    ]
    return _apart(text, found)


def _plain(text: str, rules: Ruleset, context: str, spare: Rule | None) -> list[Span]:
    found = rules.spans(text, spare)
    if context and rules.knows(context):
        before = len(context) + 1
        spans = BY_NAME.only(rules.rules).spans(f"{context}={text}")
        found += [Span(max(start - before, 0), end - before, rule) for start, end, rule in spans if start >= before - 1]
    return found


def _base64(text: str, rules: Ruleset) -> Iterator[Span]:
    """Yield the runs of base64 that are the encoding of a text with a secret in it."""
    if len(text) < _SHORTEST_BASE64 or not _HAS_BASE64(encodable(text)):
        return
    for said in _base64_texts(text):
        for view in views(said.text):
            if spans := rules.spans(view.text):
                yield Span(*said.place, spans[0].rule)
                break


class Base64Text(NamedTuple):
    """What a run of base64 says, and where it stands."""

    text: str
    place: tuple[int, int]


def _base64_texts(text: str) -> Iterator[Base64Text]:
    """Yield what long runs of base64 characters say, each alone and with those in the lines that it goes on in."""
    wraps = _WRAPS[r"[\r\n]" if "\r" in text else r"\n"]
    for view in (View(text, [], []), *(_without(text, gaps) for wrap in wraps if (gaps := _gaps(text, wrap)))):
        for start, end in _runs(view.text):
            if found := _BASE64.search(view.text, start, end):
                # What can be nothing else but text may begin within a secret.
                begin = max(found.start() - _BEFORE_TEXT, start + (found.start() - start) % 4)
                padding = view.text[end : end + 2]
                stop = end + len(padding) - len(padding.lstrip("="))
                said = unbase64(view.text[begin:stop]).decode("utf-8", "replace")
                yield Base64Text(said, (view.original(begin), view.original(stop)))


def _runs(text: str) -> Iterator[tuple[int, int]]:
    """Yield where long runs of base64 characters stand; most are addresses and names, which the fast engine skips."""
    seen = encodable(text)
    kinds = text.encode("ascii", "replace").translate(_KINDS)
    border = 0
    while border < len(text):
        block, border = border, _end(kinds, border + _FEW_RUNS)
        if not _HAS_BASE64(seen[block:border]):
            continue
        start = kinds.find(b"a" * _SHORTEST_BASE64, block, border)
        while start >= 0:
            end = _end(kinds, start)
            if _HAS_BASE64(text[start:end]):
                yield start, end
            start = kinds.find(b"a" * _SHORTEST_BASE64, end, border)


def _gaps(text: str, wrap: re.Pattern[str]) -> list[tuple[int, int]]:
    """Return what stands between lines that may be lines of base64."""
    found = []
    for match in wrap.finditer(text):
        before = max(match.start() - _LONGEST_END, 0)
        if end := _WRAPPED.search(text[before : match.start()]):
            found.append((before + end.start(), match.end()))
    return found


def _end(kinds: bytes, start: int) -> int:
    end = kinds.find(b" ", start)
    return len(kinds) if end < 0 else end


def _says_more(text: str, span: Span, marks: list[tuple[int, int]]) -> bool:
    """Return whether a span holds more than marks, which are in order, and what stands between them."""
    at = span.start
    for number in range(max(bisect_right(marks, (at, len(text))) - 1, 0), len(marks)):
        start, end = marks[number]
        if start >= span.end or not _APART.issuperset(text[at:start]):
            break
        at = max(at, end)
    return not _APART.issuperset(text[at : span.end])


def _apart(text: str, spans: Iterable[Span]) -> list[Span]:
    """Join spans that overlap under the rule that was named first, and put them in order; leave our marks alone."""
    given = list(spans)
    if given and MARKED in text:
        marks = [match.span() for match in _MARK.finditer(text) if match[1] in _OURS]
        given = [one for one in given if _says_more(text, one, marks)]
    if len(given) < 2:
        return given
    joined: list[Span] = []
    priority: list[int] = []
    for number in sorted(range(len(given)), key=lambda number: given[number][:2]):
        span = given[number]
        if joined and span.start < joined[-1].end:
            before, first = joined[-1], min(priority[-1], number)
            joined[-1] = Span(before.start, max(before.end, span.end), given[first].rule)
            priority[-1] = first
        else:
            joined.append(span)
            priority.append(number)
    return joined


def replace(text: str, spans: list[Span]) -> str:
    """Put a mark where each span stands; spans are in order and apart."""
    pieces: list[str] = []
    last = 0
    for span in spans:
        pieces += (text[last : span.start], mark(span.rule))
        last = span.end
    return "".join((*pieces, text[last:])) if spans else text
