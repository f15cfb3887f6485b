"""Work that goes on beside what is being done."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine


class BackgroundTasks(set["asyncio.Task[None]"]):
    """Tasks that are under way; each is held here until it is done, because the event loop does not hold it."""

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begin a piece of work."""
        task = asyncio.create_task(work)
        self.add(task)
        task.add_done_callback(self.discard)
        return task

    def cancel(self) -> None:
        """Cancel all but the task that asks for it."""
        for task in self:
            if task is not asyncio.current_task():
                task.cancel()
