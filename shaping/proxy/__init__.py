"""The proxy in front of MCP servers; a server's process is started by this file alone, before anything is imported."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_PR_SET_PDEATHSIG = 1
# How Uvicorn, which is an extra, runs each of our HTTP servers.
LIMITS: dict[str, Any] = {
    "access_log": False,
    "log_level": "warning",
    "http": "shaping.proxy.http_limits:TimedProtocol",
    "ws": "none",
    "limit_concurrency": 1024,
}


def spawn(
    command: Sequence[str], env: Mapping[str, str] | None = None, cwd: str | None = None
) -> subprocess.Popen[bytes]:
    """Start a process in a group of its own, so that it can be ended with all that it starts, and ends with us."""
    pipe = subprocess.PIPE
    return subprocess.Popen(  # noqa: S603 (the user's own command)
        command,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        bufsize=0,
        env={**os.environ, **(env or {})},
        cwd=cwd,
        start_new_session=True,
        preexec_fn=end_with_parent(),  # noqa: PLW1509 (one system call whose function is looked up before the fork)
    )


def signal_group(pid: int, number: int) -> None:
    """Send a signal to a process that leads a group, and to all of its group; one that is gone needs none."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def spawn_early(command: Sequence[str]) -> subprocess.Popen[bytes] | None:
    """Start a process as the first thing of all; None where it cannot be started, which is told to whoever wants it.

    Until the event loop handles signals, one kills the child and exits.
    """
    started: list[subprocess.Popen[bytes]] = []

    def end(number: int, _: object) -> None:
        for process in started:
            signal_group(process.pid, signal.SIGKILL)
        os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    try:
        started.append(spawn(command))
    except (OSError, ValueError):
        return None
    return started[0]


def end_with_parent() -> Callable[[], None] | None:
    """Return what makes Linux end a process whose parent was killed."""
    if sys.platform != "linux":
        return None
    try:
        import ctypes  # noqa: PLC0415 (only on Linux: costs 5 ms)

        prctl = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return None
    return lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
