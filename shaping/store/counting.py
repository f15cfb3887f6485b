"""A lock for processes that still count the tokens of a command that has ended: who reads the ledger waits for them."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

try:
    import fcntl
except ImportError:  # pragma: no cover  not on Windows, where no command is run
    fcntl = None  # type: ignore[assignment]  # the other half of the import

if TYPE_CHECKING:
    from pathlib import Path

_WAIT_SECONDS: Final = 3.0


def begin_counting(ledger: Path) -> int | None:
    """Take the lock, which is held until this process and those that it forks have closed it."""
    with suppress(OSError):
        ledger.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(_lock(ledger), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_SH)
        return lock
    return None


def wait_for_counting(ledger: Path) -> None:
    """Wait until nobody counts, for a few seconds at most."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < deadline and _is_counting(ledger):
        time.sleep(0.02)


def _is_counting(ledger: Path) -> bool:
    try:
        lock = os.open(_lock(ledger), os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _lock(ledger: Path) -> Path:
    return ledger.with_name(f"{ledger.name}.lock")
