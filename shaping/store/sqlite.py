"""A store in one file, for several processes: written in WAL mode and bounded in size.

A file that is not ours is left as it is: neither written to nor moved, and its rights stay. Ours have a mark in their
header, or the tables that stores had before there was one. No link is followed: it could lead to anybody's file. The
last functions are a lock beside the ledger: who reads it waits for processes that still count tokens.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar

from shaping.settings.files import counting_lock, create_private
from shaping.store.backends import Stored, StoreError, pack, unpack

try:
    import fcntl
except ImportError:  # pragma: no cover  not on Windows
    fcntl = None  # type: ignore[assignment]  # the other half of the import


T = TypeVar("T")

_MARK: Final = int.from_bytes(b"shpg", "big")  # SQLite's application_id
_WAIT: Final = 20.0  # seconds that a writer waits for the others; no caller waits with it
# Connections of the parent process: neither used nor closed here, only held, because letting them go would close them.
_CARRIED_OVER: Final[list[sqlite3.Connection | None]] = []
_KEPT: Final = (
    "CREATE TABLE kept (ref TEXT PRIMARY KEY, value BLOB NOT NULL, size INTEGER NOT NULL, expires REAL NOT NULL)"
)
_BY_TIME: Final = "CREATE INDEX by_time ON kept (expires)"
_HELD: Final = "CREATE TABLE held (bytes INTEGER NOT NULL, secret BLOB NOT NULL)"
_MORE: Final = "CREATE TRIGGER more AFTER INSERT ON kept BEGIN UPDATE held SET bytes = bytes + new.size; END"
_LESS: Final = "CREATE TRIGGER less AFTER DELETE ON kept BEGIN UPDATE held SET bytes = bytes - old.size; END"


class SqliteStore:
    """Keeps values in a file that only its owner can read."""

    at_hand = False
    local = True

    def __init__(self, path: str | os.PathLike[str], max_bytes: int) -> None:
        self._path = Path(path)
        self.max_bytes = max_bytes
        # Two connections, because a reader in WAL mode need not wait for the writer.
        self._reader, self._writer = _Line(self._path), _Line(self._path)

    @cached_property
    def secret(self) -> bytes:
        """The key that lies in the file, so that the next process reads this one's cursors."""
        found: bytes = self._tried(self._reader, lambda db: db.execute("SELECT secret FROM held").fetchone()[0])
        return found

    def put(self, ref: str, payload: bytes, *, meta: Mapping[str, str], ttl: float) -> None:
        """Keep the payload, making room by forgetting what would expire first."""
        packed = pack(payload, meta)
        if len(packed) > self.max_bytes:
            raise StoreError(f"{len(packed)} bytes do not fit into a store of {self.max_bytes}")
        self._tried(self._writer, lambda db: self._put(db, ref, packed, time.time() + ttl))

    def get(self, ref: str) -> Stored | None:
        """Return what is kept behind the ref while its time lasts."""
        query = "SELECT value FROM kept WHERE ref = ? AND expires > ?"
        row = self._tried(self._reader, lambda db: db.execute(query, (ref, time.time())).fetchone())
        return None if row is None else unpack(row[0])

    def close(self) -> None:
        """Close the file; what is kept stays."""
        for line in (self._reader, self._writer):
            with line.use():
                line.close()

    def _put(self, db: sqlite3.Connection, ref: str, packed: bytes, expires: float) -> None:
        with _writing(db):
            # Not REPLACE: it would not run the trigger that counts what goes.
            db.execute("DELETE FROM kept WHERE ref = ? OR expires <= ?", (ref, time.time()))
            db.execute("INSERT INTO kept VALUES (?, ?, ?, ?)", (ref, packed, len(packed), expires))
            over = db.execute("SELECT bytes FROM held").fetchone()[0] - self.max_bytes
            while over > 0:
                oldest = "SELECT ref, size FROM kept WHERE ref != ? ORDER BY expires LIMIT 1"
                first, size = db.execute(oldest, (ref,)).fetchone()
                db.execute("DELETE FROM kept WHERE ref = ?", (first,))
                over -= size

    def _tried(self, line: _Line, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do the work; a file that is locked, full, read-only or damaged is a StoreError."""
        with line.use():
            try:
                return work(line.connection())
            except StoreError:
                line.close()
                raise
            except (sqlite3.Error, OSError) as fault:
                line.close()
                raise StoreError(f"{self._path} cannot be used now: {fault}") from fault


class _Line:
    """A connection that one thread at a time uses, opened anew after a fork: SQLite forbids to carry one over."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None
        self._lock, self._pid = threading.Lock(), os.getpid()

    @contextmanager
    def use(self) -> Iterator[None]:
        if self._pid != os.getpid():
            # Not closed: that would take away the parent's locks on the file.
            _CARRIED_OVER.append(self._db)
            self._db, self._lock, self._pid = None, threading.Lock(), os.getpid()
        with self._lock:
            yield

    def connection(self) -> sqlite3.Connection:
        if self._db is None:
            self._db = _open(self._path)
        return self._db

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def __del__(self) -> None:
        # Python warns of a connection that is let go open; a store that nobody closed loses nothing by that.
        if self._pid == os.getpid():
            self.close()


def _open(path: Path) -> sqlite3.Connection:
    places = (path, *_side_files(path))
    for place in places:
        _refuse_strange(place)
    # SQLite gives its side files the same rights; the secret and the answers are nobody else's. A file that is there is
    # not opened: closing it would take away the locks of our other connection, and with them the file's soundness.
    create_private(path)
    db = sqlite3.connect(path, timeout=_WAIT, isolation_level=None, check_same_thread=False)
    try:
        _prepare(db, path)
    except BaseException:
        db.close()
        raise
    for place in places:
        with suppress(FileNotFoundError):
            if place.lstat().st_mode & 0o077:
                place.chmod(0o600)
    return db


def _refuse_strange(place: Path) -> None:
    """Refuse a link, what is no file, and the file of another user, who could know its secret."""
    try:
        found = place.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode):
        kind = "a link, which is not followed" if stat.S_ISLNK(found.st_mode) else "no file"
        raise StoreError(f"{place} is {kind}; name another file as the store")
    if hasattr(os, "getuid") and found.st_uid != os.getuid():
        raise StoreError(f"{place} belongs to another user; name another file as the store")


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    db.execute("PRAGMA synchronous = NORMAL")  # a crash of the process loses nothing, of the machine the last moments
    db.execute("PRAGMA journal_size_limit = 4194304")
    db.execute("PRAGMA trusted_schema = OFF")  # a file that others put there runs none of its functions
    if _prepared(db, path):
        return
    _use_log(db)
    with _writing(db):
        if not _prepared(db, path):
            db.execute(f"PRAGMA application_id = {_MARK}")
            for statement in (_KEPT, _BY_TIME, _HELD, _MORE, _LESS):
                db.execute(statement)
            db.execute("INSERT INTO held VALUES (0, ?)", (secrets.token_bytes(32),))


def _use_log(db: sqlite3.Connection) -> None:
    """Switch the file to a write-ahead log; SQLite itself does not wait where another connection is about to."""
    deadline = time.monotonic() + _WAIT
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as fault:
            if fault.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.005)
        else:
            return


def _prepared(db: sqlite3.Connection, path: Path) -> bool:
    """Return whether a database has our tables; raise StoreError where it is another program's."""
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    mark = db.execute("PRAGMA application_id").fetchone()[0]
    ours = mark == _MARK if mark else tables <= _OUR_TABLES
    if not ours:
        raise StoreError(f"{path} is another program's database; it is left as it is. Name another file as the store")
    return "held" in tables


@contextmanager
def _writing(db: sqlite3.Connection) -> Iterator[Any]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


_OUR_TABLES: Final = frozenset({"kept", "held"})


def _side_files(path: Path) -> tuple[Path, ...]:
    return tuple(path.with_name(path.name + end) for end in ("-wal", "-shm"))


_WAIT_SECONDS: Final = 3.0


def wait_for_counting(ledger: Path) -> None:
    """Wait until nobody counts, for a few seconds at most."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < deadline and _is_counting(ledger):
        time.sleep(0.02)


def _is_counting(ledger: Path) -> bool:
    try:
        lock = os.open(counting_lock(ledger), os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False
