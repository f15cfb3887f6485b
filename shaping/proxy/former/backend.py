"""A server behind the proxy: one live connection to it for each client, made when needed and made anew when lost."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

import anyio
import mcp_types
from fastmcp.server.dependencies import get_context
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from shaping.proxy.former.front import Front, of_session
from shaping.proxy.former.link import Borrowed, Link
from shaping.proxy.former.outage import (
    ServerUnavailableError,
    StillStartingError,
    left_alone,
    only_handshakes,
    reason,
    waiting,
)
from shaping.proxy.former.relay import Relay
from shaping.proxy.former.setbacks import Setbacks
from shaping.proxy.former.start import Start

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from fastmcp.client.transports import ClientTransport

    from shaping.errors import ErrorDetail

# A little under the minute for which clients wait, so that they hear the reason and not their own clock.
START_SECONDS = 55.0
# Clients without sessions never say goodbye, so only so many are remembered, and none that has long been silent.
_MOST_LINKS = 64
_IDLE_SECONDS = 1800.0
_NEWS = {
    "tools": mcp_types.ToolListChangedNotification,
    "prompts": mcp_types.PromptListChangedNotification,
    "resources": mcp_types.ResourceListChangedNotification,
}


class Backend:
    """One configured server and its connections."""

    def __init__(self, name: str, transport: Callable[[], ClientTransport], *, seconds: float = START_SECONDS) -> None:
        self.name = name
        self.seconds = seconds
        self.changed: Callable[[], None] = lambda: None
        # How long a request waits for a server that is starting; one that stands alone is worth the whole wait.
        self.patience: float | None = None
        self.setbacks = Setbacks()
        self.reached = False
        self.ended = False
        self._transport = transport
        self._links: dict[Hashable, Link] = {}
        self._starts: dict[Hashable, Start] = {}
        self._followed: set[Hashable] = set()
        self._admitted: set[Hashable] = set()
        self._missed: set[Hashable] = set()
        self._modern_only = False

    async def client(self) -> Borrowed:
        """Return a client for the request being served: FastMCP's proxy calls this for everything it passes on."""
        context = get_context()
        call = context.request_context
        link = await self.link(of_session(context.session))
        return link.for_call(call)

    async def link(self, front: Front) -> Link:
        """Return the connection that serves a client, made now if there is none."""
        link = self._found(front)
        if link is not None and link.usable:
            return link
        start = self._starts.get(front.key) or self._begin(front, link)
        if not await start.wait(self.patience):
            raise StillStartingError(waiting(self.name, start.seconds))
        if start.task.cancelled():
            raise ServerUnavailableError(left_alone(self.name, self.failure, self.setbacks.wait()))
        return start.task.result()

    @property
    def failure(self) -> ErrorDetail | None:
        """What keeps the server from being used now."""
        return self.setbacks.last

    @property
    def away(self) -> bool:
        """Say whether the server has failed or is still starting."""
        return self.failure is not None or bool(self._starts)

    def nudge(self, front: Front) -> None:
        """Begin to connect where that is due, without waiting for it."""
        link = self._found(front)
        if (link is None or not link.usable) and front.key not in self._starts:
            with contextlib.suppress(ServerUnavailableError):
                self._begin(front, link)

    def links_of(self, front: Front) -> list[Link]:
        """Return the connections in use by a client; none, or one."""
        link = self._links.get(front.key)
        return [link] if link is not None and link.usable else []

    def miss(self, front: Front) -> None:
        """Remember that a client was shown a list without this server, to tell it when that changes."""
        self._missed.add(front.key)

    def admit(self, front: Front) -> None:
        """Let a client use whatever generation this server will speak: it has been told which one to open."""
        self._admitted.add(front.key)

    def failed(self, link: Link, error: Exception) -> ErrorDetail:
        """Take a lost connection out of use, and describe and log what happened to it."""
        detail = reason(self.name, link.client.transport, error, seconds=self.seconds if link.since is None else None)
        self.bury(link)
        self.setbacks.note(detail)
        wait = round(self.setbacks.wait(), 1)
        return detail.model_copy(update={"retry_after": wait}) if wait and detail.retryable else detail

    def bury(self, link: Link) -> None:
        """Take a lost connection out of use; the next call makes a new one."""
        if not link.dead:
            link.dead = True
            self.setbacks.count(0.0 if link.since is None else time.monotonic() - link.since)

    async def close(self) -> None:
        """End every connection, all at once, and those in the making."""
        starts, self._starts = list(self._starts.values()), {}
        links, self._links = list(self._links.values()), {}
        async with anyio.create_task_group() as tasks:
            for start in starts:
                tasks.start_soon(start.stop)
            for link in links:
                tasks.start_soon(_close, link)

    def _found(self, front: Front) -> Link | None:
        link = self._links.get(front.key)
        return self._adopt(front) if link is None and not front.modern else link

    def _begin(self, front: Front, old: Link | None) -> Start:
        if self.ended or self.setbacks.wait() > 0:
            raise ServerUnavailableError(left_alone(self.name, self.failure, self.setbacks.wait()))
        task = asyncio.get_running_loop().create_task(self._connect(front, old))
        start = self._starts[front.key] = Start(task)
        self._follow(front)

        def settle(done: asyncio.Task[Link]) -> None:
            if self._starts.get(front.key) is start:
                del self._starts[front.key]
            # Looked at, because nobody may be waiting for it any more.
            _ = done.cancelled() or done.exception()

        task.add_done_callback(settle)
        return start

    async def _connect(self, front: Front, old: Link | None) -> Link:
        if old is not None:
            self.bury(old)
            await _close(old)
        link = self._links[front.key] = await self._opened(front)
        self.setbacks.over()
        self.reached = True
        if front.modern and front.key not in self._admitted:
            self._check_generation(front, link)
        await self._drop_idle(front.key)
        await self._tell_late(front, link)
        return link

    async def _opened(self, front: Front) -> Link:
        modern = front.modern or self._modern_only
        try:
            transport = self._transport()
        except ServerUnavailableError as problem:
            self.setbacks.note(problem.detail)
            raise
        link = Link.to(self, transport, Relay(front, self._changed), modern=modern)
        try:
            with anyio.fail_after(self.seconds):
                await link.open()
        except TimeoutError as silence:
            raise link.lost(silence) from None
        except ServerUnavailableError:
            raise
        except MCPError:
            # It knows no handshake: spoken to as it wants, its questions are put to the client one by one.
            self._modern_only = True
            return await self._opened(front)
        return link

    def _check_generation(self, front: Front, link: Link) -> None:
        if link.client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return
        # Kept for the handshake that follows, or the server would have to be started twice.
        self._links[("spare", front.key)] = self._links.pop(front.key)
        raise only_handshakes()

    def _adopt(self, front: Front) -> Link | None:
        for key, link in self._links.items():
            seen = link.relay.front
            if isinstance(key, tuple) and key[0] == "spare" and seen.capabilities == front.capabilities:
                link.relay.bind(front)
                self._links[front.key] = self._links.pop(key)
                self._follow(front)
                return link
        return None

    def _follow(self, front: Front) -> None:
        """See to it that what a client uses ends with it, where it says goodbye."""
        if front.connection is None or front.modern or front.key in self._followed:
            return
        self._followed.add(front.key)
        front.connection.exit_stack.push_async_callback(self._leave, front.key)

    async def _drop_idle(self, newest: Hashable) -> None:
        silent = {key: link for key, link in self._links.items() if link.relay.front.modern and not link.relay.active}
        idle = {key: link for key, link in silent.items() if key != newest}
        long_ago = time.monotonic() - _IDLE_SECONDS
        surplus = len(self._links) - _MOST_LINKS
        for place, (key, link) in enumerate(sorted(idle.items(), key=lambda item: item[1].used)):
            if place < surplus or link.used < long_ago:
                await self._leave(key)

    async def _tell_late(self, front: Front, link: Link) -> None:
        if front.key not in self._missed:
            return
        self._missed.discard(front.key)
        offered = link.client.server_capabilities or mcp_types.ServerCapabilities()
        for ability, news in _NEWS.items():
            if getattr(offered, ability) is not None:
                await link.relay.news(news())

    def _changed(self) -> None:
        self.changed()

    async def _leave(self, key: Hashable) -> None:
        for keys in (self._followed, self._admitted, self._missed):
            keys.discard(key)
        start, link = self._starts.pop(key, None), self._links.pop(key, None)
        if start is not None:
            await start.stop()
        if link is not None:
            await _close(link)


async def _close(link: Link) -> None:
    link.dead = True
    with anyio.CancelScope(shield=True), contextlib.suppress(Exception):
        await link.client.close()  # type: ignore[no-untyped-call]  # FastMCP does not annotate it
