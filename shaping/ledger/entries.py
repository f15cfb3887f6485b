"""One line of the ledger, a call that is still to be counted, and what lines come to in all."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from datetime import datetime
from operator import add, attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from shaping.errors.codes import CodedError
from shaping.response import counted
from shaping.settings.files import create_private
from shaping.store.sqlite import wait_for_counting

if TYPE_CHECKING:
    import os

Kind = Literal[
    "call",  # a tool's answer
    "expand",  # something asked back, charged to the tool that it came from
    "query",  # the same, asked in SQL
    "definition",  # the extra tool that a client is shown, once a session
]

Entry = TypeVar("Entry", "LedgerEntry", "LedgerSum", "LedgerEntry | LedgerSum")
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What one call cost: never a payload, only names and numbers."""

    time: float  # seconds since 1970
    tool: str
    before: int  # tokens that the client would have shown its model without shaping
    after: int  # tokens that it was shown
    added: int = 0  # tokens of `after` that no tool sent: expansions, queries, notices, the extra tool's definition
    kind: Kind = "call"
    server: str = ""
    client: str = ""
    profile: str = ""
    config: str = ""
    session: str = ""
    milliseconds: float = 0.0
    tokenizer: str = ""
    error_bound: float = 0.0  # the largest relative error of the two counts; 0 where both are exact
    ref: str | None = None  # by which the store may still have what was sent and what was read (`ledger.call_texts`)

    @property
    def saved(self) -> int:
        """Tokens that a model did not read, less what shaping gave it to read besides."""
        return self.before - self.after

    @property
    def totals(self) -> Totals:
        """What this entry adds to sums."""
        calls, asked = self.kind == "call", self.kind in {"expand", "query"}
        error = self.error_bound * (self.before + self.after)
        return Totals(calls, asked, self.before, self.after, self.added, self.milliseconds, error)


@dataclass(frozen=True, slots=True)
class MeasuredCall:
    """A call whose texts are counted later, on the ledger's thread: `before` and `after` return what a model reads."""

    tool: str
    before: Callable[[], str]
    after: Callable[[], str]
    added: Callable[[], str] | None = None
    kind: Kind = "call"
    server: str = ""
    client: str = ""
    profile: str = ""
    config: str = ""
    session: str = ""
    milliseconds: float = 0.0
    keep: Callable[[str], str | None] | None = None  # keeps what the model read, given here, and returns its ref
    time: float = field(default_factory=time.time)
    trace: Any = None  # the W3C trace context that came with the call; then OpenTelemetry's, for its span


def _tool_label(entry: LedgerEntry | LedgerSum) -> str:
    if entry.kind == "definition":
        return f"(definition of {entry.tool})"
    return f"{entry.server}/{entry.tool}" if entry.server else entry.tool


GROUPS: Final[dict[str, Callable[[LedgerEntry | LedgerSum], str]]] = {
    "tool": _tool_label,
    "server": lambda entry: entry.server,
    "client": lambda entry: entry.client,
    "profile": lambda entry: entry.profile,
    "session": lambda entry: entry.session,
    "day": lambda entry: datetime.fromtimestamp(entry.time).astimezone().date().isoformat(),
}


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over entries: `saved` is net of everything that shaping gave a model to read."""

    calls: int = 0
    expansions: int = 0  # what was asked back, by expand or by a query
    before: int = 0
    after: int = 0
    added: int = 0
    milliseconds: float = 0.0
    error: float = 0.0  # tokens by which the sums may be wrong, where texts were counted by samples

    @property
    def saved(self) -> int:
        """Tokens that models did not read."""
        return self.before - self.after

    @property
    def share(self) -> float:
        """The part of what would have been read that was saved, from 0 to 1; below 0 where shaping cost more."""
        return self.saved / self.before if self.before else 0.0

    def __add__(self, other: Totals) -> Totals:
        return Totals(*map(add, _SUMMED(self), _SUMMED(other)))

    def __str__(self) -> str:
        asked = f"; {counted(self.expansions, 'expansion')}" if self.expansions else ""
        calls = counted(self.calls, "call")
        if self.saved < 0:
            # Short sessions of short answers save less than our own tool's definition costs.
            own = f"; shaping added {self.added:,} of its own"
            cost = f"cost {-self.saved:,} tokens more than the {self.before:,} without shaping"
            return f"{cost}, net in {calls}{asked}{own if self.added else ''}"
        return f"saved {self.saved:,} of {self.before:,} tokens net in {calls}{asked}"


_SUMMED: Final = attrgetter(*(field.name for field in fields(Totals)))


@dataclass(frozen=True, slots=True)
class LedgerSum:
    """The sums of one tool, session and kind in one stretch of time, as the database adds them up."""

    stretch: int  # the time in units of the stretch's length
    time: float  # of the first entry
    server: str
    tool: str
    client: str
    profile: str
    session: str
    kind: str
    tokenizer: str
    totals: Totals


def add_up(found: Iterable[LedgerEntry | LedgerSum]) -> Totals:
    """Add up entries, or sums, of every kind."""
    return sum((one.totals for one in found), Totals())


def sum_by(found: Iterable[Entry], key: Callable[[Entry], Key]) -> dict[Key, Totals]:
    """Add up by a key; the largest saving comes first."""
    sums: dict[Key, Totals] = {}
    for one in found:
        sums[key(one)] = sums.get(key(one), Totals()) + one.totals
    return dict(sorted(sums.items(), key=lambda pair: -pair[1].saved))


def group(found: Iterable[LedgerEntry | LedgerSum], by: str) -> dict[str, Totals]:
    """Add up by tool, server, client, profile, session or day; the group that saved most comes first, days in order."""
    sums = sum_by(found, GROUPS[by])
    return dict(sorted(sums.items())) if by == "day" else sums


VERSION: Final = 1  # of the file's format; a test refuses a silent change
MAX_DAYS: Final = 180
MAX_ENTRIES: Final = 500_000  # about 100 MB

_COLUMNS: Final = tuple(field.name for field in fields(LedgerEntry))
_ROW: Final = attrgetter(*_COLUMNS)
_CREATE: Final = f"CREATE TABLE IF NOT EXISTS calls ({', '.join(_COLUMNS)})"
_INDEX: Final = "CREATE INDEX IF NOT EXISTS calls_by_time ON calls (time)"
_DROPPED: Final = "CREATE TABLE IF NOT EXISTS dropped (time, calls)"
_INSERT: Final = f"INSERT INTO calls VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608 (nothing but marks)
_SELECT: Final = f"SELECT {', '.join(_COLUMNS)} FROM calls WHERE time >= ? ORDER BY time"  # noqa: S608 (our own names)
_NEWEST: Final = (
    f"SELECT {', '.join(_COLUMNS)} FROM calls WHERE time >= ? AND kind != 'definition' "  # noqa: S608 (our own names)
    "ORDER BY time DESC, rowid DESC LIMIT ?"
)
_SUMS: Final = (
    "SELECT CAST((time + ?) / ? AS INTEGER), min(time), server, tool, client, {profile}, {session}, kind, tokenizer, "
    "sum(kind = 'call'), sum(kind IN ('expand', 'query')), sum(before), sum(after), sum(added), sum(milliseconds), "
    "sum(error_bound * (before + after)) FROM calls WHERE time >= ? GROUP BY 1, 3, 4, 5, 6, 7, 8, 9 ORDER BY 1"
)


_NAMED: Final = len(fields(LedgerSum)) - 1  # columns before the sums


class LedgerError(CodedError):
    """The ledger's file cannot be used; the message says which file and why."""

    code = "UNAVAILABLE"


class LedgerDatabase:
    """Reads and writes one ledger file; each use opens it anew, so that a process holds no lock between calls."""

    def __init__(
        self, path: str | os.PathLike[str], *, max_days: float = MAX_DAYS, max_entries: int = MAX_ENTRIES
    ) -> None:
        self.path = Path(path)
        self._max_days, self._max_entries = max_days, max_entries

    def add(self, entries: Iterable[LedgerEntry], *, dropped: int = 0) -> None:
        """Write entries, tell how many calls could not be counted, and forget the oldest beyond the bounds."""
        rows = [_ROW(entry) for entry in entries]
        try:
            create_private(self.path)  # before SQLite could create it readable by everybody
            with closing(self._open()) as connection, connection:
                connection.executemany(_INSERT, rows)
                if dropped:
                    connection.execute("INSERT INTO dropped VALUES (?, ?)", (time.time(), dropped))
                connection.execute("DELETE FROM calls WHERE time < ?", (time.time() - self._max_days * 86_400,))
                last = connection.execute("SELECT max(rowid) FROM calls").fetchone()[0] or 0
                connection.execute("DELETE FROM calls WHERE rowid <= ?", (last - self._max_entries,))
        except (sqlite3.Error, OSError) as problem:
            raise LedgerError(f"the ledger {self.path} cannot be written: {problem}") from None

    def entries(self, *, since: float = 0.0) -> list[LedgerEntry]:
        """Read the entries from a time on, oldest first; a ledger that does not exist yet is empty."""
        return [LedgerEntry(*row) for row in self._read(_SELECT, (since,))]

    def newest(self, count: int, *, since: float = 0.0) -> list[LedgerEntry]:
        """Read the newest entries that are no definitions of tools, the newest first."""
        return [LedgerEntry(*row) for row in self._read(_NEWEST, (since, count))]

    def times(self, *, since: float = 0.0) -> tuple[float, float] | None:
        """Return the time of the first and of the last entry; None where there is none."""
        rows = self._read("SELECT min(time), max(time) FROM calls WHERE time >= ?", (since,))
        return None if not rows or rows[0][0] is None else (float(rows[0][0]), float(rows[0][1]))

    def sums(
        self, *, since: float = 0.0, seconds: float = 86_400, shift: float = 0.0, by: str = "tool"
    ) -> list[LedgerSum]:
        """Add up the entries by server, tool, client, kind and stretches of so many seconds.

        Profiles and sessions are told apart where they are asked for: there may be as many as calls.
        """
        sql = _SUMS.format(**{name: name if by == name else "''" for name in ("profile", "session")})
        rows = self._read(sql, (shift, seconds, since))
        return [LedgerSum(*(*row[:_NAMED], Totals(*row[_NAMED:]))) for row in rows]

    def version(self) -> int:
        """Return a number that changes with every entry that is written."""
        return self._number("max(rowid) FROM calls", ())

    def dropped(self, *, since: float = 0.0) -> int:
        """Count the calls that were not entered because too many came at once."""
        return self._number("sum(calls) FROM dropped WHERE time >= ?", (since,))

    def _number(self, what: str, arguments: Sequence[float]) -> int:
        rows = self._read(f"SELECT {what}", arguments)
        return int(rows[0][0] or 0) if rows else 0

    def _read(self, sql: str, arguments: Sequence[float]) -> list[tuple[Any, ...]]:
        wait_for_counting(self.path)
        if not self.path.exists():
            return []
        try:
            with closing(self._open()) as connection:
                return connection.execute(sql, tuple(arguments)).fetchall()
        except (sqlite3.Error, OSError) as problem:
            raise LedgerError(f"the ledger {self.path} cannot be read: {problem}") from None

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=10)
        connection.execute("PRAGMA journal_mode = WAL")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            with connection:
                for statement in (_CREATE, _INDEX, _DROPPED):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {VERSION}")
        elif version != VERSION:
            connection.close()
            raise LedgerError(
                f"the ledger {self.path} has format {version}, and this version of shaping reads format {VERSION}; "
                "move it away, or set SHAPING_LEDGER to another file"
            )
        return connection
