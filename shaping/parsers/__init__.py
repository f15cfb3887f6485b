"""Text to data, for every surface: one function a format, and one entrance.

A format's function returns the data of a text that is surely of this format, else None. To add a format, write it and
name it in `Format`, and its module in `_MODULES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Any, Final, Literal, TypeAlias, get_args

from shaping.encoders import encode, encode_lines
from shaping.parsers.sections import is_diff
from shaping.parsers.snapshot import is_tree
from shaping.tokens import cheap, count

Format: TypeAlias = Literal[
    "json",
    "lines",
    "python",
    "xml",
    "pipes",
    "csv",
    "commits",
    "files",
    "grep",
    "sections",
    "log",
    "table",
    "pairs",
    "yaml",
]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)  # in the order in which they are tried, the strictest first
# Their data says all that the text says; of the others the layout is lost.
EXACT: Final[tuple[Format, ...]] = ("json", "lines", "python")
# The modules of their functions, `parse_` and the format's name, where they are not called as the format is.
_MODULES: Final[dict[str, str]] = {
    **dict.fromkeys(("lines", "python"), "json"),
    **dict.fromkeys(("pipes", "csv", "table"), "rows"),
    **dict.fromkeys(("commits", "files", "grep", "sections"), "listings"),
}

_FENCE = re.compile(r"```(?:json|JSON|python|xml|yaml|csv)?\n((?:.*\n)+?)```")
_FIRST_LINE = re.compile(r"\n(?=[\[{])")
_INTRODUCTION = re.compile(r"[^\n]{1,200}:\n+")
# From the start of a line alone: from every letter of a line without end it would take hours.
_PARAGRAPH = re.compile(r"^[^\n]++(?:\n[^\n]++)++", re.MULTILINE)
_ROWS: Final[tuple[Format, ...]] = ("pipes", "csv", "commits", "files", "log", "table")
_OUTLINES: Final[tuple[Format, ...]] = ("pairs", "yaml")  # whose beginning is of the same format
_DOCUMENTS: Final[tuple[Format, ...]] = ("xml", "yaml")
_TABLES: Final[tuple[Format, ...]] = ("pipes", "log", "table")  # that stand in a text about something else
_LEAST_TABLE = 300  # characters of such a table
_VALUES: Final[tuple[Format, ...]] = ("pairs",)  # of rows, one a line
_PAIRS = 6  # of a name and a value, fewer than which are no records
_SURE, _SURE_OF_OUTLINES = 0.1, 0.3  # by which a guess may be wrong, or too dear: it makes indentation too cheap
_WORTH = 0.85  # of the tokens of a text is what it may cost written as data
_CLEARLY = 0.85  # of the price of rows is that of short lines that are preferred to them: rows have names
_SHORT = 50_000  # characters of a text that fits most budgets; a larger one is cut better as rows than as lines
_LONGEST_LOG = 150_000  # characters; a longer one is cut anyway, and as text, so that its errors stay
_LARGEST = 4_000_000  # characters; a larger file of rows is text to page through
_LONG = 60_000  # characters by which an outline is known
_HEAD = 16_000  # characters of a long text by which it is judged, half of them at its end
_BODY = 0.3  # of a text is JSON that it ends with, from which it is what the text is about
_LEAST, _MOST = 600, 0.8  # characters of data, and its part of the text: in a page of prose, JSON is an example


@dataclass(frozen=True, slots=True)
class Parsed:
    """The data of a text, its format, and the text before and after it."""

    value: Any
    format: str
    before: str = ""
    after: str = ""
    text: str = field(default="", compare=False, repr=False)  # that the data was read from

    @property
    def exact(self) -> bool:
        """Whether the data says all that the text said, its layout included."""
        return self.format in EXACT

    @property
    def is_log(self) -> bool:
        """Whether the data are the records of a log: those of a log's lines, or JSON lines that have a level."""
        first = self.value[0] if self.format == "lines" else None
        return self.format == "log" or (type(first) is dict and "level" in first)


def parse(text: str, formats: Collection[str] = FORMATS) -> Parsed | None:
    """Return the list or object that a whole text holds in one of these formats, or None where it is just text."""
    text = text.removeprefix("\ufeff")  # by which programs of Windows mark the encoding
    for name in FORMATS if len(text) <= _LARGEST else EXACT:
        if name in formats and (value := _parser(name)(text)) is not None:
            return Parsed(value, name, text=text)
    return None


def parse_to_ask(text: str) -> Parsed | None:
    """Return the data of a text that somebody asks about, however long: one of rows is read as its ends are."""
    found = parse(text)
    if found is not None or len(text) <= _LARGEST or (ends := parse(head_of(text))) is None:
        return found
    value = _parser(ends.format)(text)
    return None if value is None else Parsed(value, ends.format, text=text)


def _parser(name: str) -> Callable[[str], Any]:
    """Return the function of a format."""
    return _loaded(_MODULES.get(name, name), f"parse_{name}")


@cache
def _loaded(module: str, name: str) -> Callable[[str], Any]:
    """Return a function of a module, loaded with the first text that needs it: all together cost 20 ms."""
    function: Callable[[str], Any] = getattr(import_module(f"shaping.parsers.{module}"), name)
    return function


def parse_if_cheaper(
    text: str,
    formats: Collection[str] = FORMATS,
    *,
    as_lines: bool = True,
    quieten: Callable[[Any], Any] | None = None,
) -> Parsed | None:
    """Return the data of a text, unless writing it as data saves less than 15% of its tokens.

    A text that may be written `as_lines` instead (`encoders/lines.py`) is no data where that saves more. Of a document
    is written what `quieten` leaves.
    """
    if exact := parse(text, [name for name in EXACT if name in formats]):
        return exact
    if is_diff(text) or is_tree(head_of(text)):
        return None
    # Lines below the path of their file are plainer than rows in which code is quoted.
    formats = [name for name in formats if name not in EXACT and name != "grep"]
    tried = _worth_trying(text, formats, as_lines=as_lines) or ()
    parsed = parse(text, tried)
    if parsed is None:
        return None
    judged = parsed.format in _ROWS and tried is not formats  # by the first rows of a long text
    quiet = quieten(parsed.value) if quieten is not None and parsed.format in _DOCUMENTS else parsed.value
    return parsed if judged or _pays(replace(parsed, value=quiet), as_lines=as_lines) else None


def _worth_trying(text: str, formats: Collection[str], *, as_lines: bool = True) -> Collection[str] | None:
    """Return which formats a long text may be of, by its beginning and its end; None of rows that are not worth it."""
    if (head := head_of(text)) is text:
        return formats
    # In a long text of rows every line is a row, so the first ones tell what it is and whether it is worth it.
    first = parse(head, [name for name in formats if name not in _OUTLINES])
    if first is not None and first.format == "log" and len(text) > _LONGEST_LOG:
        return None
    if first is not None and first.format in _ROWS:
        return (first.format,) if _pays(first, as_lines=as_lines and len(text) <= _SHORT) else None
    by_beginning: tuple[str, ...] = _ROWS
    outlines = [name for name in _OUTLINES if name in formats] if len(text) > _LONG else ()
    if outlines and parse(text[: text.rfind("\n", 0, _LONG)], outlines) is None:
        by_beginning = (*_ROWS, *_OUTLINES)
    return [name for name in formats if name not in by_beginning]


def head_of(text: str) -> str:
    """Return the first and the last lines of a long text, or all of one that is not long."""
    end = text.rfind("\n", 0, _HEAD // 2) + 1 if len(text) > 2 * _HEAD else 0
    return text[:end] + text[text.find("\n", len(text) - _HEAD // 2) + 1 :] if end else text


def _pays(parsed: Parsed, *, as_lines: bool) -> bool:
    """Whether data, or rows by the first and the last of them, is cheaper than its text."""
    as_lines = as_lines and len(parsed.text) <= _SHORT
    if parsed.format in _ROWS and (head := head_of(parsed.text)) is not parsed.text:
        parsed = parse(head, (parsed.format,)) or parsed
    return is_cheaper(parsed, encode(parsed.value).text, as_lines=as_lines)


def is_cheaper(parsed: Parsed, written: str, *, as_lines: bool = True) -> bool:
    """Whether a text written as the data it holds costs 15% fewer tokens, and not clearly more than as short lines.

    Of an exact format no layout is lost, so that it only has to cost less.
    """
    text = parsed.text
    if parsed.exact:
        return count(written) < count(text)
    guess = cheap(written) / cheap(text)
    sure = _SURE_OF_OUTLINES if parsed.format in _DOCUMENTS else _SURE
    if guess > _WORTH - _SURE and (guess > _WORTH + sure or count(written) > _WORTH * count(text)):
        return False
    as_lines = as_lines and parsed.format in _ROWS and len(text) <= _SHORT
    short = encode_lines(text) if as_lines else text
    return short == text or count(written) <= count(short) / _CLEARLY


def parse_within(text: str) -> Parsed | None:
    """Return the data that a text is mostly made of, with the sentences or the fence around it."""
    if len(text) < _LEAST:
        return None
    least = max(_LEAST, _MOST * len(text))
    fences = [(found.start(1), found.end(1) - 1) for found in _FENCE.finditer(text)]
    starts = [found.end() for found in _FIRST_LINE.finditer(text)] if not fences else []
    # A body can follow its headers and a log, and lines of a log can follow it.
    end = len(text) if text.rstrip()[-1:] in {"}", "]"} else max(text.rfind("}\n"), text.rfind("]\n")) + 1
    for start in dict.fromkeys([*starts[:1], *starts[-1:]]):
        if parsed := _parse_span(text, (start, end), max(_LEAST, _BODY * len(text)), EXACT):
            return parsed
    intro = _INTRODUCTION.match(text)
    if intro and (parsed := _parse_span(text, (intro.end(), len(text)), least, FORMATS)):
        return parsed
    if not fences and text.count(": ") + text.count(":** ") >= _PAIRS:
        span = _loaded("listings", "sections_span")(text)
        if parsed := _parse_span(text, span, least, ("sections",)):
            return parsed
    spans = fences or [_paragraph_at(text, len(text) // 2)]
    if len(spans) == 1 and (parsed := _parse_span(text, spans[0], least, FORMATS)):
        return parsed
    return None if fences else _parse_trimmed(text, least)


def _paragraph_at(text: str, place: int) -> tuple[int, int]:
    """Return where the paragraph around a place begins and ends."""
    before, after = text.rfind("\n\n", 0, place), text.find("\n\n", place)
    return before + 2 if before >= 0 else 0, after if after >= 0 else len(text.rstrip("\n"))


def parse_tables(text: str) -> list[Parsed]:
    """Return the tables that stand between sentences, each with the text before it, the last with the rest."""
    found: list[Parsed] = []
    end = 0
    for paragraph in _PARAGRAPH.finditer(text) if len(text) >= _LEAST else ():
        # What is most of a text was looked for in it before.
        if not _LEAST_TABLE <= len(paragraph[0]) < _MOST * len(text):
            continue
        if parsed := parse(paragraph[0], _worth_trying(paragraph[0], _TABLES) or ()):
            found.append(replace(parsed, before=text[end : paragraph.start()]))
            end = paragraph.end()
    return [*found[:-1], replace(found[-1], after=text[end:])] if found else []


def _parse_trimmed(text: str, least: float) -> Parsed | None:
    """Return the rows of a text that has a line of another kind before or after them, or both."""
    formats: Collection[str] = _VALUES if text.startswith("1. row\n") else _ROWS
    second = text.find("\n") + 1
    end = len(text[: text.rstrip("\n").rfind("\n")].rstrip("\n"))
    for start, stop in ((second, len(text)), (0, end), (second, end)):
        tried = _worth_trying(text[start:stop], formats) if stop - start >= least else ()
        if tried is None:  # rows that are not worth it are not with one more or less
            return None
        if tried and (parsed := parse(text[start:stop], tried)):
            return replace(parsed, before=text[:start], after=text[stop:])
    return None


def _parse_span(text: str, span: tuple[int, int], least: float, formats: Collection[str]) -> Parsed | None:
    start, end = span
    if end - start < least or (formats is FORMATS and not (text[:start].strip() or text[end:].strip())):
        return None  # too little, or the whole text, which the caller has tried
    piece = text[start:end]
    parsed = parse(piece, _worth_trying(piece, formats) or ())
    return None if parsed is None else replace(parsed, before=text[:start], after=text[end:])
