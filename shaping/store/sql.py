"""One SELECT over kept data, in an SQLite database that holds nothing else and is bounded in time, rows and memory."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice, zip_longest
from typing import Any, Final

from shaping.errors import ToolError
from shaping.nearest import did_you_mean, nearest
from shaping.response import counted, cut_end
from shaping.store.search import TooLargeError, compile_pattern
from shaping.store.tables import SqlTable, find_tables, load, quote, text_among_numbers

SCHEMA: Final = "schema"  # asked for instead of a query, it gives tables and columns

_SECONDS: Final = 2.0
_PATTERN_SECONDS: Final = 0.2
_DISTINCT: Final = 1_000  # different characters that trim takes away
_ROWS: Final = 1_000
_BYTES: Final = 4_000_000  # characters of all values of an answer together
_STEPS: Final = 1_000  # of SQLite's virtual machine, between two looks at the clock
_ALLOWED: Final = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
# Functions that compute something from their arguments and touch nothing else; random ones would make answers differ,
# and printf, format and json_group_array make texts without a bound.
_FUNCTIONS: Final = """
    abs avg char coalesce concat concat_ws count cume_dist date datetime dense_rank first_value glob
    group_concat hex if ifnull iif instr json json_array json_array_length json_each json_extract
    json_object json_quote json_tree json_type json_valid julianday lag last_value lead length
    like likelihood likely lower ltrim max median min nth_value ntile nullif octet_length percent_rank percentile
    quote rank regexp replace round row_number rtrim sign strftime string_agg substr substring sum time
    timediff total trim typeof unicode unixepoch unlikely upper acos acosh asin asinh atan atan2 atanh ceil
    ceiling cos cosh degrees exp floor ln log log10 log2 mod pi pow power radians sin sinh sqrt tan tanh trunc ->>
    ->
"""
_COMPUTE: Final = frozenset(_FUNCTIONS.split())
_LIMITS: Final = {
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 20_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
# A value that a query makes is no longer than this, or twice the longest that there is; and a result has no more such
# columns than fit into memory.
_VALUE, _ROW = 200_000, 64_000_000
_TOKEN: Final = re.compile(
    r"""(?P<text>'(?:[^']|'')*') | (?P<quoted>"(?:[^"]|"")*") | (?P<other>`[^`]*`|\[[^\]]*\]|--[^\n]*|/\*.*?(?:\*/|$))
      | (?P<dotted>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+) | (?P<word>\w+) | (?P<sign><>|[<>!=]=?|\S)""",
    re.VERBOSE | re.DOTALL,
)
_NAMES: Final = frozenset({"quoted", "dotted", "word"})
_BEFORE_TABLE: Final = frozenset({"from", "join"})
_CLAUSES: Final = """
    where group order having limit join inner left right full outer cross natural on using union except intersect
    window indexed not
"""
_AFTER_TABLE: Final = frozenset(_CLAUSES.split())
_CTE: Final = re.compile(r"(?:\bwith|\brecursive|,)\s+([A-Za-z_]\w*)\s*(?:\([^)]*\)\s*)?as\s*\(", re.IGNORECASE)
_FLAGS: Final = {"'true'": "1", "'false'": "0"}
_IS: Final = {"=": "IS", "==": "IS", "!=": "IS NOT", "<>": "IS NOT"}
_COMPARES: Final = frozenset({"=", "==", "!=", "<>", "<", ">", "<=", ">=", "like", "glob", "regexp"})
_SUMS: Final = frozenset({"sum", "total", "avg"})
_SUMMED: Final = "sum, total and avg take only the digits that such a text begins with, or 0"
# A column inside one of these functions, unless it is compared with something there.
_AGGREGATE: Final = re.compile(
    r"""\b(sum|total|avg|min|max)\s*\(\s*(?:distinct\s+)?(?:[`"]?\w++[`"]?\.)?[`"]?(\w++)"""
    r"""(?![`"]?\s*(?:[(=<>!]|(?:in|is|not|like|between)\b))""",
    re.IGNORECASE,
)
_EXAMPLE: Final = 30  # characters
_EXPLAIN: Final = re.compile(r"\s*(?:--[^\n]*\s*|/\*.*?\*/\s*)*explain\b", re.IGNORECASE | re.DOTALL)
_SPACE: Final = re.compile(r"\s+")
_HINT: Final = f"`{SCHEMA}` in place of the SELECT lists the tables and columns."


@dataclass(frozen=True, slots=True)
class Rows:
    """The answer to a query: records by column name, whether there were more of them, and what to know about them."""

    records: list[dict[str, Any]]
    more: bool = False
    notes: tuple[str, ...] = ()


class Database:
    """The tables of one kept value, ready to be asked; it can be asked from one thread at a time."""

    def __init__(self, data: Any) -> None:
        self.tables: list[SqlTable] = find_tables(data)
        self._connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        for limit, most in _LIMITS.items():
            self._connection.setlimit(limit, most)
        for pragma in ("journal_mode = OFF", "synchronous = OFF"):
            self._connection.execute(f"PRAGMA {pragma}")  # nothing to come back to: it is in memory, and written once
        self._connection.execute("BEGIN")
        load(self._connection, self.tables)
        self._connection.execute("COMMIT")
        self._limit_values()
        self._deadline = 0.0
        _add_functions(self._connection, lambda: self._deadline)
        # From here on nothing can be written: tables are complete before anybody asks.
        self._connection.set_authorizer(self._authorize)

    def close(self) -> None:
        """Free the memory of the tables."""
        self._connection.close()

    def schema(self) -> Rows:
        """List tables and their columns."""
        return Rows([table.schema() for table in self.tables])

    def query(self, sql: str, *, max_rows: int = _ROWS, seconds: float = _SECONDS) -> Rows:
        """Run one SELECT; a wrong one raises a ToolError that names the nearest table or column."""
        if sql.strip().strip(";").lower() == SCHEMA:
            return self.schema()
        if _EXPLAIN.match(sql):
            raise _refused()
        if not self.tables:
            raise ToolError(
                "BAD_ARGUMENT",
                "there is no list of records in this answer to query",
                hint="Ask by a path, or search for a text in it.",
            )
        self._deadline = time.monotonic() + seconds
        self._connection.set_progress_handler(lambda: time.monotonic() > self._deadline, _STEPS)
        try:
            rewritten = self._rewritten(sql)
            with closing(self._connection.execute(rewritten)) as cursor:
                if cursor.description is None:
                    raise _refused()
                names = _unique(column[0] for column in cursor.description)
                rows = list(_first(cursor, max_rows))
                more = len(rows) > max_rows or cursor.fetchone() is not None
        except (sqlite3.Error, sqlite3.Warning, OverflowError, MemoryError) as problem:
            late = time.monotonic() > self._deadline
            raise self._explained("interrupted" if late else str(problem), seconds) from None
        finally:
            self._connection.set_progress_handler(None, 0)
        records = [dict(zip(names, map(_plain, row), strict=True)) for row in rows[:max_rows]]
        return Rows(records, more, tuple(self._notes(rewritten)))

    def _notes(self, sql: str) -> Iterator[str]:
        """Name the columns that a query adds up or compares as numbers and that hold text."""
        aggregated = {(function.lower() in _SUMS, name.lower()) for function, name in _AGGREGATE.findall(sql)}
        asked = [table for table in self.tables if aggregated and table.name.lower() in sql.lower()]
        for summed, name in sorted(aggregated):
            for table, column in ((one, column) for one in asked for column in one.columns):
                found = text_among_numbers(table, column) if column.name.lower() == name else None
                if found is None or (summed and not found.texts):
                    continue
                texts = f"text in {found.texts:,} of {counted(len(table.rows), 'row')}"
                example = cut_end(found.example, _EXAMPLE)
                why = _SUMMED if summed else "min and max compare it as text"
                yield (
                    f"{column.name} holds {texts if found.texts else 'numbers as text'}, as {example!r}: {why};"
                    " use replace and CAST"
                )

    def _limit_values(self) -> None:
        """Bound what a query can make in memory by what there is already."""
        longest = max((table.longest for table in self.tables), default=0)
        length = max(_VALUE, 2 * longest)
        widest = max((len(table.columns) + 1 for table in self.tables), default=1)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, length)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, max(3 * widest, min(_ROW // length, 2000)))

    def _authorize(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action == sqlite3.SQLITE_FUNCTION:
            return sqlite3.SQLITE_OK if (second or "").lower() in _COMPUTE else sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_READ and (first or "").lower().startswith("sqlite_"):
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY

    def _rewritten(self, sql: str) -> str:
        """Write paths as column names, and identifiers so that a misspelt one is an error and never a string."""
        columns = {column.dotted.lower(): column.name for table in self.tables for column in table.columns}
        known = {name.lower() for name in self._names()}
        known |= {found.lower() for found in re.findall(r'(?i)\bas\s+"([^"]+)"', sql)}
        named = frozenset(found.lower() for found in _CTE.findall(sql))
        parts, earlier, before, end = [], "", "", 0
        tokens = list(_TOKEN.finditer(sql))
        for token, after in zip_longest(tokens, tokens[1:]):
            parts.append(sql[end : token.start()])
            end = token.end()
            text = token.group()
            if before in _BEFORE_TABLE and text.lower() not in named and token.lastgroup in _NAMES:
                follows = after is not None and after.lastgroup in _NAMES and after.group().lower() not in _AFTER_TABLE
                text = self._table(text, aliased=follows)
            elif token.lastgroup == "quoted":
                text = _identifier(text[1:-1].replace('""', '"'), columns, known, before)
            elif token.lastgroup == "dotted":
                text = _by_path(text, columns)
            elif token.lastgroup == "text" and before in _COMPARES and _last_name(earlier) in self._flags:
                text = _FLAGS.get(text.lower(), text)
            elif text == "''" and before in _IS and _last_name(earlier) in self._numeric:
                parts[-2:], text = [f" {_IS[before]} "], "NULL"
            parts.append(text)
            earlier, before = before, text.lower()
        return "".join((*parts, sql[end:]))

    def _table(self, text: str, *, aliased: bool) -> str:
        """Write a table by its name: its path, the end of it, or `items` for the largest list are understood too."""
        asked = text.strip('"').lower().replace(".", "_")
        names = [table.name for table in self.tables]
        if asked in map(str.lower, names):
            return quote(names[[*map(str.lower, names)].index(asked)])
        ends = [name for name in names if name.lower().endswith(f"_{asked}")]
        if not ends and asked == "items":
            lists = sorted((table for table in self.tables if table.parent is None), key=lambda one: -len(one.rows))
            ends = [table.name for table in lists[:1]]
        if len(ends) != 1:
            return text
        return quote(ends[0]) if aliased else f"{quote(ends[0])} AS {quote(asked)}"

    @cached_property
    def _numeric(self) -> frozenset[str]:
        """The columns that hold numbers which stood as text: their empty cells are null."""
        columns = [column for table in self.tables for column in table.columns]
        texts = {column.name.lower() for column in columns if not column.numeric}
        return frozenset(column.name.lower() for column in columns) - texts

    @cached_property
    def _flags(self) -> frozenset[str]:
        """The columns that hold true and false alone, which SQLite has as 1 and 0."""
        return frozenset(column.name.lower() for table in self.tables for column in table.columns if column.is_flag)

    def _names(self) -> Iterable[str]:
        for table in self.tables:
            yield table.name
            if table.parent:
                yield table.parent
            yield from (column.name for column in table.columns)

    def _explained(self, problem: str, seconds: float) -> ToolError:
        if problem == "interrupted":
            message = f"the query took longer than {seconds:g} seconds"
            return ToolError("TIMEOUT", message, hint="Filter first, or join fewer rows.", retryable=False)
        if "one statement at a time" in problem or "not authorized" in problem or "prohibited" in problem:
            return _refused()
        if "user-defined" in problem:
            message = "a text, a pattern or a width is larger than a query may make, or the pattern cannot be read"
            return ToolError("BAD_ARGUMENT", message, hint=_HINT)
        missing = re.search(r"no such (table|column): (\S+)", problem)
        if missing is None:
            return ToolError("BAD_ARGUMENT", f"SQLite says: {_SPACE.sub(' ', problem)}", hint=_HINT)
        kind, name = missing.groups()
        last = name.rpartition(".")[2]
        names = [table.name for table in self.tables] if kind == "table" else list(self._names())
        similar = nearest(last, names)
        # A list inside records has a table of its own and no column.
        inside = [table.name for table in self.tables if table.name.lower().endswith(f"_{last.lower()}")]
        if kind == "column" and inside:
            child = next(table for table in self.tables if table.name == inside[0])
            hint = f"{last} is a list: join the table {child.name} by its column {child.parent}."
            return ToolError("BAD_ARGUMENT", f"no such column: {name}", similar=tuple(inside), hint=hint)
        listed = ", ".join(table.name for table in self.tables[:8])
        message = f"no such {kind}: {name}.{did_you_mean(similar)} The tables are: {listed}."
        return ToolError("BAD_ARGUMENT", message, hint=_HINT)


def _last_name(text: str) -> str:
    return text.rpartition(".")[2].strip('"`')


def _refused() -> ToolError:
    return ToolError(
        "BAD_ARGUMENT",
        "only one SELECT is run, over the tables of this answer and with functions that compute",
        hint=_HINT,
    )


def _identifier(name: str, columns: dict[str, str], known: set[str], before: str) -> str:
    if name.lower() in columns:
        return quote(columns[name.lower()])
    if name.lower() not in known and before in _COMPARES:
        # Many write text in double quotes; behind a comparison, what names nothing is meant as text.
        return "'" + name.replace("'", "''") + "'"
    return quote(name)


def _by_path(text: str, columns: dict[str, str]) -> str:
    """Write `user.login` as its column, and `items.user.login` or `i.user.login` as that column of its table."""
    if text.lower() in columns:
        return quote(columns[text.lower()])
    table, _, rest = text.partition(".")
    if rest.lower() in columns and "." in rest:
        return f"{table}.{quote(columns[rest.lower()])}"
    return text


def _unique(names: Iterable[str]) -> Sequence[str]:
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return out


def _first(cursor: sqlite3.Cursor, most: int) -> Iterator[tuple[Any, ...]]:
    """Yield rows up to a number, and up to a size of all their values together."""
    size = 0
    for row in islice(cursor, most):
        yield row
        size += sum(len(value) for value in row if isinstance(value, (str, bytes)))
        if size > _BYTES:
            return


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def _add_functions(connection: sqlite3.Connection, deadline: Callable[[], float]) -> None:
    """Put our own in the place of SQLite's, for which searching in a long text is quadratic."""

    def timely(function: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*arguments: Any) -> Any:
            if time.monotonic() > deadline():
                raise TimeoutError
            return None if None in arguments else function(*map(_text, arguments))

        return checked

    trims = {"trim": str.strip, "ltrim": str.lstrip, "rtrim": str.rstrip}
    functions: dict[tuple[str, int], Callable[..., Any]] = {
        ("regexp", 2): _regexp,
        ("instr", 2): lambda text, wanted: text.find(wanted) + 1,
        ("replace", 3): lambda text, old, new: text.replace(old, new) if old else text,
        **{(name, count): partial(_trim, strip) for name, strip in trims.items() for count in (1, 2)},
    }
    for (name, count), function in functions.items():
        connection.create_function(name, count, timely(function), deterministic=True)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _trim(strip: Callable[[str, str], str], text: str, characters: str = " ") -> str:
    distinct = "".join(set(characters))
    if len(distinct) > _DISTINCT:
        raise TooLargeError
    return strip(text, distinct)


def _regexp(pattern: str, text: str) -> bool:
    """Match as SQLite's REGEXP operator does: anywhere in the text."""
    return compile_pattern(pattern).search(text, timeout=_PATTERN_SECONDS) is not None
