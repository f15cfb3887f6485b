"""Something that listens on a transport while it is entered, and stops with everything it started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import anyio

if TYPE_CHECKING:
    from types import TracebackType

    from anyio.abc import TaskGroup, TaskStatus


class Listening:
    """An async context in which `_listen` runs; leaving it cancels whatever is still under way."""

    _tasks: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        await self._tasks.start(self._listen)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        tasks, self._tasks = self._tasks, None
        if tasks is None:
            return None
        tasks.cancel_scope.cancel()
        return await tasks.__aexit__(kind, fault, trace)

    async def _listen(self, *, task_status: TaskStatus[None]) -> None:
        raise NotImplementedError
