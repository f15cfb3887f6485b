"""A server's process, begun while what will talk to it is still being imported."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyio.abc import Process


async def opened(command: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None) -> Process:
    """Start a process in a group of its own, so that it can be ended with all that it starts."""
    return await anyio.open_process(command, env={**os.environ, **(env or {})}, cwd=cwd, start_new_session=True)


class HeadStart:
    """A process that waits for whoever is to talk to it."""

    def __init__(self) -> None:
        self._process: Process | None = None

    async def begin(self, command: Sequence[str]) -> None:
        """Start the process; what keeps it from starting is told to who wants to talk to it, and tries again."""
        with contextlib.suppress(OSError, ValueError):
            self._process = await opened(command)

    def take(self) -> Process | None:
        """Hand the process over, once."""
        process, self._process = self._process, None
        return process

    async def stop(self) -> None:
        """End the process where nobody took it."""
        process = self.take()
        if process is None:
            return
        from shaping.proxy.former.child import stop  # noqa: PLC0415 (what that needs takes longer than the process)

        with anyio.CancelScope(shield=True):
            await stop(process)
