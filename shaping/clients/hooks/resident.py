"""The resident process behind clients' hooks: one for each user, started by the first call, ended when idle."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shaping.clients.hooks.service import HookService

IDLE_SECONDS: Final = 1800.0
_TICK: Final = 1.0  # seconds between looks at the transcripts while results are waited for
_LARGEST: Final = 16 * 1024 * 1024  # bytes of a request


def main(directory: Path, idle: float = IDLE_SECONDS) -> None:
    """Serve requests on the directory's socket, unless another process does so already."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.chdir(directory)
    lock = os.open("lock", os.O_CREAT | os.O_RDWR, 0o600)
    if not _locked(lock):
        return
    from shaping.clients.hooks.service import HookService  # noqa: PLC0415 (costs 400 ms, and the lock comes first)

    service = HookService()
    service.warm()
    with socket.socket(socket.AF_UNIX) as listening:
        place = directory.absolute() / "socket"
        place.unlink(missing_ok=True)
        os.umask(0o077)
        listening.bind("socket")
        listening.listen(64)
        try:
            _serve(listening, service, idle)
        finally:
            place.unlink(missing_ok=True)
            service.close()


def _serve(listening: socket.socket, service: HookService, idle: float) -> None:
    version, last = _version(), monotonic()
    while monotonic() - last < idle and _version() == version:
        listening.settimeout(_TICK if service.shown.is_waiting else min(idle, 60.0))
        try:
            connection, _ = listening.accept()
        except TimeoutError:
            service.shown.look()
            continue
        last = monotonic()
        with connection, suppress(OSError, ValueError):
            connection.settimeout(_TICK)
            request = _request(connection)
            # The line's end tells a whole answer, which may be empty, from one that this process did not come to give.
            if request:
                connection.sendall(service.answer(request) + b"\n")


def _request(connection: socket.socket) -> bytes:
    """Read a request: lines up to an empty one, the first of which ends with the size of what comes after them."""
    received = b""
    while part := connection.recv(1 << 16):
        received += part
        head, found, body = received.partition(b"\n\n")
        size = int(head.split(b"\n", 1)[0].rpartition(b" ")[2]) if found else _LARGEST
        if found and len(body) >= size:
            return received
        if len(received) > _LARGEST:
            break
    return b""


def _locked(lock: int) -> bool:
    """Take the lock that this process holds as long as it lives; whoever does not get it ends."""
    import fcntl  # noqa: PLC0415 (not on Windows, where there are no hooks)

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _version() -> int:
    """Tell one installation of this package from the next: a resident process ends where its code was replaced."""
    try:
        return Path(__file__).stat().st_mtime_ns
    except OSError:
        return 0


if __name__ == "__main__":
    main(Path(sys.argv[1]))
