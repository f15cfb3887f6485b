"""A child process: in a group of its own, to be ended with all that it starts, and ended with us.

The proxy starts its server by this file alone, before anything else is imported.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial

_PR_SET_PDEATHSIG = 1


def spawn(
    command: Sequence[str],
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    stdin: int | None = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """Start a process in a group of its own, so that it can be ended with all that it starts, and ends with us."""
    return subprocess.Popen(  # noqa: S603 (the user's own command, without a shell)
        command,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        cwd=cwd,
        start_new_session=True,
        preexec_fn=_end_with_parent(),  # noqa: PLW1509 (one system call whose function is looked up before the fork)
    )


def signal_group(pid: int, number: int) -> None:
    """Send a signal to a process that leads a group, and to all of its group; one that is gone needs none."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _end_with_parent() -> Callable[[], None] | None:
    """Return what makes Linux end a process whose parent was killed."""
    if sys.platform != "linux":
        return None
    try:
        import ctypes  # noqa: PLC0415 (only on Linux: costs 5 ms)

        prctl = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return None
    # No code of Python's in the child: it could wait for a lock that another thread held at the fork.
    return partial(prctl, _PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
