"""Counting and writing away from the caller: a queue that drops and counts what it cannot hold, and never blocks."""

from __future__ import annotations

import atexit
import logging
import os
import queue
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Final

from shaping.ledger.database import LedgerDatabase, LedgerError, default_path
from shaping.ledger.entries import LedgerEntry, MeasuredCall
from shaping.ledger.totals import Totals, add_up
from shaping.tokens import counter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shaping.tokens import TokenCounter

logger = logging.getLogger("shaping")

_WAITING: Final = 256  # calls that may wait to be counted; each may hold the text of an answer
_REMEMBERED: Final = 10_000
_BATCH: Final = 128
_PAUSE_SECONDS: Final = 0.2
_EXIT_SECONDS: Final = 0.8  # how long a process whose ledger nobody closed may wait for it at its end
_STOP: Final = object()


class Ledger:
    """Takes calls, counts their tokens on its own thread, keeps the newest in memory and writes all to a file."""

    def __init__(self, database: LedgerDatabase | None = None, *, tokenizer: str = "o200k_base") -> None:
        self._database = database
        self._tokenizer = tokenizer
        self._queue: queue.Queue[MeasuredCall | object] = queue.Queue(_WAITING)
        self._recent: deque[LedgerEntry] = deque(maxlen=_REMEMBERED)
        self._totals = Totals()
        self._dropped = self._untold = 0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._warned = False

    def record(self, call: MeasuredCall) -> None:
        """Take a call; where too many wait already it is dropped, and that is counted."""
        self._start()
        try:
            self._queue.put_nowait(call)
        except queue.Full:
            with self._lock:
                self._dropped += 1
                self._untold += 1

    @property
    def dropped(self) -> int:
        """How many calls could not be counted."""
        return self._dropped

    def entries(self) -> list[LedgerEntry]:
        """Give the newest entries of this process."""
        return list(self._recent)

    def totals(self) -> Totals:
        """Return the sums over all that was recorded here and is counted."""
        return self._totals

    def flush(self, timeout: float = 10.0) -> bool:
        """Wait until what was recorded so far is counted and written; say whether it was in time."""
        if self._thread is None:
            return True
        deadline = time.monotonic() + timeout
        done = threading.Event()
        try:
            self._queue.put(done, timeout=timeout)
        except queue.Full:
            return False
        return done.wait(max(0.0, deadline - time.monotonic()))

    def close(self, timeout: float = 2.0) -> bool:
        """Write what is waiting, and stop; say whether that was done in time, else what is not written is given up."""
        thread = self._thread
        if thread is None:
            return True
        deadline = time.monotonic() + timeout
        atexit.unregister(self.close)
        written = self.flush(timeout)
        self._thread = None
        try:
            self._queue.put_nowait(_STOP)
        except queue.Full:
            return False  # the thread is a daemon: it ends with the process
        thread.join(max(0.0, deadline - time.monotonic()))
        return written

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="shaping-ledger", daemon=True)
                self._thread.start()
                atexit.register(self.close, _EXIT_SECONDS)

    def _run(self) -> None:
        count = counter(self._tokenizer)
        while True:
            batch = self._batch()
            entries = [entry for item in batch if isinstance(item, MeasuredCall) for entry in _counted(item, count)]
            self._recent.extend(entries)
            self._totals += add_up(entries)
            self._write(entries)
            for item in batch:
                if isinstance(item, threading.Event):
                    item.set()
            if _STOP in batch:
                return

    def _batch(self) -> list[object]:
        """Wait for calls and then for a pause between them, so that counting does not slow the next one down."""
        batch: list[object] = [self._queue.get()]
        while len(batch) < _BATCH and isinstance(batch[-1], MeasuredCall):
            try:
                batch.append(self._queue.get(timeout=_PAUSE_SECONDS))
            except queue.Empty:
                break
        return batch

    def _write(self, entries: list[LedgerEntry]) -> None:
        with self._lock:
            untold, self._untold = self._untold, 0
        if self._database is None or not (entries or untold):
            return
        try:
            self._database.add(entries, dropped=untold)
        except LedgerError as problem:
            if not self._warned:
                self._warned = True
                logger.warning("%s; savings are counted in memory only", problem)


def open_ledger(environ: Mapping[str, str] = os.environ, *, tokenizer: str = "o200k_base") -> Ledger | None:
    """Open the user's ledger, or give None where SHAPING_LEDGER switches it off."""
    path = default_path(environ)
    return None if path is None else Ledger(LedgerDatabase(path), tokenizer=tokenizer)


def _counted(call: MeasuredCall, count: TokenCounter) -> list[LedgerEntry]:
    """Count a call's texts; one that cannot be counted is left out, with a warning in the log."""
    try:
        before, after = count.count(call.before()), count.count(call.after())
        added = count.count(call.added()) if call.added is not None else 0
    except Exception:  # (whatever a text's maker raises, the ledger goes on)
        logger.warning("the ledger could not count a call of %r", call.tool, exc_info=True)
        return []
    return [
        LedgerEntry(
            time=time.time(),
            tool=call.tool,
            before=int(before),
            after=int(after),
            added=int(added),
            kind=call.kind,
            server=call.server,
            client=call.client,
            profile=call.profile,
            config=call.config,
            session=call.session,
            milliseconds=call.milliseconds,
            tokenizer=count.name,
            error_bound=max(before.error_bound, after.error_bound) / 100,  # counts have theirs in percent
            ref=call.ref,
        )
    ]
