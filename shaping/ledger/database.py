"""The ledger's file: one SQLite database of the user, private, bounded by age and size, shared by all processes."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import astuple, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shaping.ledger.entries import LedgerEntry, LedgerSum, Totals
from shaping.store.counting import wait_for_counting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

VERSION: Final = 1  # of the file's format; a test refuses a silent change
MAX_DAYS: Final = 180
MAX_ENTRIES: Final = 500_000  # about 100 MB

_COLUMNS: Final = tuple(field.name for field in fields(LedgerEntry))
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
    "SELECT CAST((time + ?) / ? AS INTEGER) AS stretch, server, tool, client, kind, tokenizer, sum(kind = 'call'), "
    "sum(kind IN ('expand', 'query')), sum(before), sum(after), sum(added), sum(milliseconds), "
    "sum(error_bound * (before + after)) FROM calls WHERE time >= ? GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1"
)


class LedgerError(Exception):
    """The ledger's file cannot be used; the message says which file and why."""


class LedgerDatabase:
    """Reads and writes one ledger file; each use opens it anew, so that a process holds no lock between calls."""

    def __init__(
        self, path: str | os.PathLike[str], *, max_days: float = MAX_DAYS, max_entries: int = MAX_ENTRIES
    ) -> None:
        self.path = Path(path)
        self._max_days, self._max_entries = max_days, max_entries

    def add(self, entries: Iterable[LedgerEntry], *, dropped: int = 0) -> None:
        """Write entries, tell how many calls could not be counted, and forget the oldest beyond the bounds."""
        rows = [astuple(entry) for entry in entries]
        try:
            self._prepare()
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

    def sums(self, *, since: float = 0.0, seconds: float = 86_400, shift: float = 0.0) -> list[LedgerSum]:
        """Add up the entries by server, tool, client, kind and stretches of so many seconds."""
        rows = self._read(_SUMS, (shift, seconds, since))
        return [
            LedgerSum(stretch, server, tool, client, kind, tokenizer, Totals(*sums))
            for stretch, server, tool, client, kind, tokenizer, *sums in rows
        ]

    def version(self) -> int:
        """Return a number that changes with every entry that is written."""
        rows = self._read("SELECT coalesce(max(rowid), 0) FROM calls", ())
        return int(rows[0][0]) if rows else 0

    def dropped(self, *, since: float = 0.0) -> int:
        """Count the calls that were not entered because too many came at once."""
        rows = self._read("SELECT coalesce(sum(calls), 0) FROM dropped WHERE time >= ?", (since,))
        return int(rows[0][0]) if rows else 0

    def _read(self, sql: str, arguments: Sequence[float]) -> list[tuple[Any, ...]]:
        wait_for_counting(self.path)
        if not self.path.exists():
            return []
        try:
            with closing(self._open()) as connection:
                return connection.execute(sql, tuple(arguments)).fetchall()
        except (sqlite3.Error, OSError) as problem:
            raise LedgerError(f"the ledger {self.path} cannot be read: {problem}") from None

    def _prepare(self) -> None:
        if self.path.exists():
            return
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Created by us and for the user alone, before SQLite could create it readable by everybody.
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), 0o600))

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
