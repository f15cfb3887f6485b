"""Records as columns, and their values as cells: bare where that cannot be misread, JSON where it could."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import lru_cache
from itertools import chain
from operator import eq, itemgetter
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.parsers.json import read_json
from shaping.response import ABSENT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from shaping.response import Json


class Missing:
    """The type of `MISSING`: a record has no such member, which is not the same as null."""


MISSING: Final = Missing()
KEY = "(key)"  # the column of a table made of an object: the members' names
VALUE = "(value)"  # and of an object of scalars: the members' values
ONLY = "[only]"  # after a name: the only element of the list that it names
BELOW = "below"  # the cell of a value that stands on lines of its own below its row; as a string it is quoted
EMPTY = "-"  # a row without any cell; as a value it is always quoted

# Possessive throughout: a date or a version begins like a number, and nothing is gained by reading it twice.
_LITERAL = r"true|false|null|-?+(?>0|[1-9]\d*+)(?>\.\d++)?+(?>[eE][+-]?+\d++)?+"
_LITERALS = re.compile(_LITERAL, re.ASCII)
# Strings that look like another type, or like one of our own marks, are quoted.
_ALIKE = r"true|false|null|None|True|False|NaN|below|#[1-9]\d{0,4}+|[+-]?+\d++(?>\.\d*+)?+(?>[eE][+-]?+\d++)?+|-"
_ALIKES = re.compile(_ALIKE, re.ASCII)
# A bare cell has no comma or brace, no control character, and no edge that is a space or opens JSON.
_ODD_INSIDE = re.compile(r"[,{}\x00-\x1f\x7f]")
_ODD_WHOLE = re.compile(rf"[ =\"\[…]|#[1-9]\d*+ |(?:{_ALIKE})?+$", re.ASCII)
# The same of a column between commas: most columns are cleared by the first of these, which is by far the quickest.
_SUSPECT = re.compile(r",[ =,\"\[…\-+#0-9tfnbNTF]")
_ODD_START = re.compile(r",(?:[ =,\"\[…]|#[1-9]\d*+ )", re.ASCII)
_ODD_BETWEEN = re.compile(rf",(?:{_ALIKE}),", re.ASCII)
_ALIKE_ENDS = frozenset("0123456789.elNw-")
_NUMBERS = frozenset({int, float, bool, Missing})
_SCALARS = frozenset({int, float, bool, type(None), str})
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_CELL_STARTS = frozenset(' ="[…') | {""}
_PLAIN = re.compile(r"[\w.:/+-]*+", re.ASCII)
_MARKS = re.compile(r"below|-|#[1-9]\d{0,4}", re.ASCII)
_LINE_STARTS = frozenset(' "[{') | {""}
_ODD_NAME = re.compile(r"[,{}\[\]=\".:\x00-\x1f\x7f]|^[ (#]|^(?:-|" + ABSENT + ")$|^all with | $|^$")
_NOTED = frozenset({"null", "empty"})  # with which the line begins that names what records lack
_last = itemgetter(-1)


def quoted(value: Json) -> str:
    """Compact JSON."""
    return orjson.dumps(value).decode()


def cell(value: Any) -> str:
    """Return one value as a cell; a missing one is empty."""
    if type(value) is str:
        return quoted(value) if _is_odd(value) else value
    return "" if value is MISSING else quoted(value)


def bare(text: str) -> str:
    """Return a string as a cell of a column that holds nothing else, so that a number needs no quotes."""
    odd = _ODD_INSIDE.search(text) or text[:1] in _CELL_STARTS or text[-1] == " " or _MARKS.fullmatch(text)
    return quoted(text) if odd else text


def bares(column: list[str]) -> list[str]:
    """Return a column of such strings, none of them empty, as cells."""
    plain = _PLAIN.fullmatch("".join(column)) and BELOW not in column and EMPTY not in column
    return column if plain else list(map(bare, column))


def line(text: str) -> str:
    """Return a string as the rest of a line: bare unless it could be misread."""
    # Each test by itself: one pattern for all of them would be tried at every character of a long line.
    odd = text[:1] in _LINE_STARTS or text[-1] == " " or (not text.isprintable() and _CONTROL.search(text))
    return quoted(text) if odd or _ALIKES.fullmatch(text) else text


@lru_cache(maxsize=4096)
def name(key: str) -> str:
    """Return a member's name as it stands in headers and before colons."""
    plain = key.isidentifier() and key not in _NOTED
    return key if plain or not _ODD_NAME.search(key) else quoted(key)


def texts(column: list[str], distinct: set[str] | None = None) -> list[str]:
    """Return a column of strings as cells; `distinct` are its different ones, where they are known."""
    different = distinct or set(column)
    if _all_bare(different, f",{','.join(different)},"):
        return column
    odd = [text for text in different if _is_odd(text)]
    # No string has a line break in JSON, so that those between them tell them apart.
    known = dict(zip(odd, orjson.dumps(odd, option=orjson.OPT_INDENT_2).decode()[4:-2].split(",\n  "), strict=False))
    return [known.get(text, text) for text in column]


def cells(column: list[Any], kinds: set[type]) -> list[str]:
    """Return a column of anything of these types as cells."""
    if kinds <= _NUMBERS:
        return _numbers(column)
    if Missing in kinds:
        present = [value for value in column if value is not MISSING]
        done = iter(cells(present, kinds - {Missing}) if present else ())
        return ["" if value is MISSING else next(done) for value in column]
    if str not in kinds:
        return _json(column, kinds)
    if len(kinds) == 1:
        return texts(column)
    strings = [value for value in column if type(value) is str]
    bare = iter(texts(strings))
    rest = iter(_json([value for value in column if type(value) is not str], kinds))
    return [next(bare) if type(value) is str else next(rest) for value in column]


def _numbers(column: list[Any]) -> list[str]:
    """Return a column of numbers as cells, empty where one is missing: null is no number."""
    return dumped(column)[1:-1].decode().replace("null", "").split(",")


def dumped(value: Any) -> bytes:
    """Compact JSON with null for what is missing."""
    return orjson.dumps(value, default=_null)


def _null(_missing: Missing) -> None:
    return None


def _json(column: list[Any], kinds: set[type]) -> list[str]:
    if kinds <= _SCALARS:
        return orjson.dumps(column)[1:-1].decode().split(",")
    return b"\n".join(map(orjson.dumps, column)).decode().split("\n")


def _is_odd(text: str) -> bool:
    """Return whether a string would be misread as a bare cell."""
    return bool("," in text or _ODD_WHOLE.match(text) or text[-1] == " " or _ODD_INSIDE.search(text))


def _all_bare(column: Collection[str], joined: str) -> bool:
    """Return whether no cell needs quotes, in a few searches of the whole column; in doubt, say no."""
    if joined.count(",") > len(column) + 1 or (" " in joined and " ," in joined):
        return False
    if "{" in joined or "}" in joined or "\x7f" in joined:
        return False
    # What JSON would escape is what must not be there: this is the quickest way to see that nothing is.
    if not (joined.isascii() and len(orjson.dumps(joined)) == len(joined) + 2) and _CONTROL.search(joined):
        return False
    if not _SUSPECT.search(joined):
        return True
    if _ODD_START.search(joined):
        return False
    return _ALIKE_ENDS.isdisjoint(map(_last, column)) or not _ODD_BETWEEN.search(joined)


def read_cell(text: str) -> Any:
    """Read a cell or a line back."""
    if not text:
        return MISSING
    if text[0] in '"[{' or _LITERALS.fullmatch(text):
        return read_json(text)
    return text


# How a string writes its JSON, by the words that say so.
FORMS: dict[str, Callable[[Any], str]] = {
    "JSON in a string": quoted,
    "spaced JSON in a string": lambda value: json.dumps(value, ensure_ascii=False),
    "indented JSON in a string": lambda value: json.dumps(value, ensure_ascii=False, indent=2),
}


def opened(column: list[str], *, exact: bool = True) -> tuple[str, list[Any]] | None:
    """Return the objects or lists that strings hold, and how all of them are written, or None.

    Where it need not be `exact`, one that has other blanks is taken for compact.
    """
    if len({text[:1] for text in column}) > 1:  # objects and lists
        return None
    try:
        values = list(map(read_json, column))
    except orjson.JSONDecodeError:
        return None
    if not all(values):
        return None
    alike = eq if exact else _differ_in_blanks
    try:
        return next(
            ((form, values) for form, write in FORMS.items() if all(map(alike, map(write, values), column))), None
        )
    except TypeError:  # a number beyond 64 bits
        return None


def _differ_in_blanks(text: str, other: str) -> bool:
    """Return whether two texts differ in nothing but blanks."""
    return text == other or "".join(text.split()) == "".join(other.split())


# Records with more different members than this, mostly absent, are maps; fewer are enough where all hold records.
_WIDE, _MANY = 24, 8
_COMMON = 0.55  # of the cells that records of one kind fill
_FEW = 5  # columns that most rows leave empty and that a reader still counts right
_SELDOM, _RARELY = 0.5, 0.25  # of the rows
_LONG = 300  # characters of a string that is too long to stand beside a name in brackets


class Members:
    """Records, and how many of them have each member, looked at once."""

    __slots__ = ("_columns", "_filled", "_is_uniform", "counts", "rows")

    def __init__(self, rows: Sequence[dict[str, Json]]) -> None:
        self.rows = rows
        self._columns: dict[str, list[Any]] = {}
        first, size = rows[0], len(rows)
        self._is_uniform = bool(first) and set(map(len, rows)) == {len(first)}
        if self._is_uniform:
            try:
                # With one more, because of a single member there would be no tuples.
                values = map(itemgetter(*first, next(iter(first))), rows)
                self._columns = dict(zip(first, map(list, zip(*values, strict=True)), strict=False))
            except KeyError:  # as many members, but others
                self._is_uniform = False
        counts = dict.fromkeys(first, size) if self._is_uniform else Counter(chain.from_iterable(rows))
        self.counts: dict[str, int] = counts
        self._filled = size if self._is_uniform else sum(map(bool, rows))

    def columns(self, without: Collection[str] = ()) -> dict[str, list[Any]]:
        """Return each member's values, MISSING where a record has none."""
        known, rows = self._columns, self.rows
        if not self._is_uniform:
            new = [key for key in self.counts if key not in known and key not in without]
            known |= {key: [row.get(key, MISSING) for row in rows] for key in new}
        return {key: known[key] for key in self.counts if key not in without} if without else known

    def are_ragged(self, rarely: float = _RARELY) -> bool:
        """Return whether they have little in common: as columns, most cells of members that are not rare are empty."""
        if self._is_uniform or len(self.counts) <= _MANY:
            return False
        often = [times for times in self.counts.values() if times >= rarely * self._filled]
        return not often or sum(often) < _COMMON * len(often) * self._filled

    def rare(self) -> set[str]:
        """Return the members that so few records have that they are better written with their names."""
        rows, counts = self.rows, self.counts
        if len(rows) <= _FEW or self._is_uniform:
            return set()
        seldom = {key for key, times in counts.items() if times < _SELDOM * len(rows)}
        if len(seldom) <= _FEW:
            return set()
        nested = _nested_or_long(rows, seldom)
        # So many kinds of nested records would each need a column: they are no worse to read as JSON.
        short = seldom - nested if len(nested) <= _WIDE else seldom
        rarely = {key for key in short if counts[key] < _RARELY * len(rows)}
        return rarely if len(seldom) - len(rarely) <= _FEW else short


def _nested_or_long(rows: Sequence[dict[str, Json]], keys: set[str]) -> set[str]:
    """Return the members that have records below them, or long strings; all others fit into a line."""
    return {
        key
        for row in rows
        for key, value in row.items()
        if key in keys
        and (
            (type(value) is dict and value)
            or (type(value) is list and value and type(value[0]) is dict)
            or (type(value) is str and len(value) > _LONG)
        )
    }
