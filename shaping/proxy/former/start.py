"""A connection in the making, which goes on when the request that wanted it is answered without it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from shaping.proxy.former.link import Link


@dataclass(frozen=True, slots=True)
class Start:
    """The task that connects, and since when."""

    task: asyncio.Task[Link]
    since: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """How long it has been going on."""
        return time.monotonic() - self.since

    async def wait(self, patience: float | None) -> bool:
        """Wait until it is made or has failed, but no longer than `patience` seconds after it was begun."""
        left = None if patience is None else max(0.0, patience - self.seconds)
        done, _ = await asyncio.wait({self.task}, timeout=left)
        return bool(done)

    async def stop(self) -> None:
        """Give it up, and return when nothing is left of it."""
        self.task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait({self.task})
