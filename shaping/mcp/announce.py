"""News of a changed list of tools, told to live sessions as soon as the config says so."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shaping.mcp.adapter import Adapter

_LOOK_SECONDS = 0.25


class Announcer:
    """Looks after the sessions of an adapter while there are any, where the config wants changes announced."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self._task: asyncio.Task[None] | None = None

    def look_after(self) -> None:
        """Begin to look, unless somebody does already or nobody wants it."""
        if self.adapter.shaper.generation.config.tools_changed != "announce":
            return
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        while self.adapter.sessions.live():
            await asyncio.sleep(_LOOK_SECONDS)
            for channel, session in self.adapter.sessions.live():
                if self.adapter.refresh(session):
                    await _tell(channel)


async def _tell(channel: Any) -> None:
    # A pipe of the newer protocol takes such news only by subscription, and drops it without harm.
    await channel.notify("notifications/tools/list_changed", None)
