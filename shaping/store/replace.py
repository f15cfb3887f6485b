"""A damaged store file makes way for a new one; what it held is lost, and a warning says so."""

from __future__ import annotations

import logging
import sqlite3
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

try:
    import fcntl
except ImportError:  # pragma: no cover  not on Windows
    fcntl = None  # type: ignore[assignment]  # the other half of the import

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

logger = logging.getLogger("shaping.store")

_SIDE_FILES: Final = ("-wal", "-shm")


def replace_damaged(path: Path, damage: Exception) -> None:
    """Move the file aside unless another process has done so already."""
    with _alone(path):
        if not path.exists() or _sound(path):
            return
        aside = path.with_name(f"{path.name}.damaged-{time.time_ns()}")
        path.rename(aside)
        for side in _SIDE_FILES:
            path.with_name(path.name + side).unlink(missing_ok=True)
        logger.warning("%s is damaged (%s); it was moved to %s and a new store begun", path, damage, aside.name)


def _sound(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(path)) as db:
            return bool(db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    except sqlite3.DatabaseError:
        return False


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.with_name(path.name + ".lock").open("w") as lock:
        if fcntl is not None:  # pragma: no branch  the same
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
