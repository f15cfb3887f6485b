"""A server behind the proxy: one live connection to it for each client, made when needed and made anew when lost."""

from __future__ import annotations

import contextlib
import copy
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import anyio
import mcp_types
from fastmcp.server.dependencies import get_context
from fastmcp.server.providers.proxy import PROXY_TRANSPORT_OPTIONS, ProxyClient
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from shaping.surfaces.child import Child
from shaping.surfaces.front import Front, of_session
from shaping.surfaces.relay import Relay, progress_for

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from types import TracebackType

    from fastmcp.client.transports import ClientTransport
    from fastmcp.server.dependencies import FastMCPRequestContext

_LONGEST_WAIT = 30.0
# Clients without sessions never say goodbye, so only so many are remembered.
_MOST_LINKS = 64


class ServerUnavailableError(MCPError):
    """The server behind the proxy is gone; `retry_after` says when it is worth another try."""

    def __init__(self, message: str, retry_after: float = 0.0) -> None:
        super().__init__(code=mcp_types.INTERNAL_ERROR, message=message)
        self.retry_after = retry_after


class Borrowed(ProxyClient[Any]):
    """FastMCP's proxy client over a connection that outlives the call, knowing which call it serves."""

    link: Link
    call: FastMCPRequestContext | None = None

    async def __aenter__(self) -> Self:
        if self.call is not None:
            self.link.relay.active.append(self.call)
        try:
            await super().__aenter__()  # type: ignore[no-untyped-call]  # FastMCP does not annotate it
        except Exception as error:
            self._leave()
            raise self.link.lost(error) from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()
        await super().__aexit__(kind, error, trace)  # type: ignore[no-untyped-call]  # the same
        if isinstance(error, Exception) and self.link.is_lost(error):
            raise self.link.lost(error) from error

    def _leave(self) -> None:
        if self.call is not None and self.call in self.link.relay.active:
            self.link.relay.active.remove(self.call)


@dataclass
class Link:
    """A live connection from one client to one server."""

    backend: Backend
    client: Borrowed
    relay: Relay
    since: float = field(default_factory=time.monotonic)
    dead: bool = False

    def is_lost(self, error: Exception) -> bool:
        """Say whether an error means that the connection, not the call, has failed."""
        if isinstance(error, MCPError):
            return error.error.code == mcp_types.CONNECTION_CLOSED or not self._alive()
        return isinstance(error, RuntimeError | OSError | anyio.ClosedResourceError | anyio.BrokenResourceError)

    def lost(self, error: Exception) -> ServerUnavailableError:
        """Take the connection out of use and say why."""
        self.backend.bury(self)
        transport = self.client.transport
        reason = transport.obituary if isinstance(transport, Child) else f"{self.backend.name}: {error}"
        return ServerUnavailableError(reason, self.backend.wait())

    def _alive(self) -> bool:
        transport = self.client.transport
        return transport.alive if isinstance(transport, Child) else self.client.is_connected()

    @property
    def usable(self) -> bool:
        """Say whether a call may be sent."""
        return not self.dead and self._alive()

    def for_call(self, call: FastMCPRequestContext | None) -> Borrowed:
        """Return a client for one call: the connection is shared, the progress is not."""
        client = copy.copy(self.client)
        client.call = call
        client._proxy_rc_ref = [None]  # noqa: SLF001 - FastMCP keeps one slot per client, which calls side by side would share
        client._progress_handler = progress_for(call)  # noqa: SLF001 - the same
        return client


class Backend:
    """One configured server and its connections."""

    def __init__(self, name: str, transport: Callable[[], ClientTransport]) -> None:
        self.name = name
        self.changed: Callable[[], None] = lambda: None
        self.handshake_only = False
        self._transport = transport
        self._links: dict[Hashable, Link] = {}
        self._locks: dict[Hashable, anyio.Lock] = {}
        self._failures = 0
        self._not_before = 0.0

    async def client(self) -> Borrowed:
        """Return a client for the request being served: FastMCP's proxy calls this for everything it passes on."""
        context = get_context()
        call = context.request_context
        link = await self.link(of_session(context.session))
        return link.for_call(call)

    async def link(self, front: Front) -> Link:
        """Return the connection that serves a client, made now if there is none."""
        async with self._locks.setdefault(front.key, anyio.Lock()):
            link = self._links.get(front.key)
            if link is None and not front.modern:
                link = self._adopt(front)
            if link is not None and link.usable:
                return link
            if link is not None:
                self.bury(link)
                await self._close(link)
            return await self._connect(front)

    def links_of(self, front: Front) -> list[Link]:
        """Return the connections in use by a client; none, or one."""
        link = self._links.get(front.key)
        return [link] if link is not None and link.usable else []

    def bury(self, link: Link) -> None:
        """Take a lost connection out of use; the next call makes a new one, later and later while that fails."""
        if link.dead:
            return
        link.dead = True
        self._failures = 0 if time.monotonic() - link.since > _LONGEST_WAIT else self._failures + 1
        pause = 0.0 if self._failures <= 1 else min(0.25 * 2**self._failures, _LONGEST_WAIT)
        self._not_before = time.monotonic() + pause

    def wait(self) -> float:
        """Say how many seconds to leave the server alone."""
        return max(0.0, self._not_before - time.monotonic())

    async def close(self) -> None:
        """End every connection, all at once."""
        links, self._links = list(self._links.values()), {}
        async with anyio.create_task_group() as tasks:
            for link in links:
                tasks.start_soon(self._close, link)

    async def _connect(self, front: Front) -> Link:
        if self.wait() > 0:
            raise ServerUnavailableError(f"the server {self.name!r} has failed and is left alone", self.wait())
        relay = Relay(front, self._changed)
        client = _client(self._transport(), front, relay)
        link = client.link = Link(self, client, relay)
        await client.__aenter__()
        self._links[front.key] = link
        if front.connection is not None and not front.modern:
            front.connection.exit_stack.push_async_callback(self._leave, front.key)
        if front.modern:
            await self._check_generation(front, link)
        while len(self._links) > _MOST_LINKS:
            await self._leave(next(iter(self._links)))
        return link

    async def _check_generation(self, front: Front, link: Link) -> None:
        if link.client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return
        # Kept for the handshake that follows, or the server would have to be started twice.
        self.handshake_only = True
        self._links[("spare", front.key)] = self._links.pop(front.key)
        raise only_handshakes()

    def _adopt(self, front: Front) -> Link | None:
        for key, link in self._links.items():
            seen = link.relay.front
            if isinstance(key, tuple) and key[0] == "spare" and seen.capabilities == front.capabilities:
                link.relay.bind(front)
                self._links[front.key] = self._links.pop(key)
                if front.connection is not None:
                    front.connection.exit_stack.push_async_callback(self._leave, front.key)
                return link
        return None

    def _changed(self) -> None:
        self.changed()

    async def _leave(self, key: Hashable) -> None:
        self._locks.pop(key, None)
        link = self._links.pop(key, None)
        if link is not None:
            await self._close(link)

    async def _close(self, link: Link) -> None:
        link.dead = True
        with anyio.CancelScope(shield=True), contextlib.suppress(Exception):
            await link.client.close()  # type: ignore[no-untyped-call]  # FastMCP does not annotate it


def only_handshakes() -> MCPError:
    """Return the refusal that makes a client of the newer protocol open the older one."""
    return MCPError(
        code=mcp_types.UNSUPPORTED_PROTOCOL_VERSION,
        message="the server behind this proxy speaks the initialize handshake only",
        data={"supported": list(HANDSHAKE_PROTOCOL_VERSIONS), "requested": MODERN_PROTOCOL_VERSIONS[-1]},
    )


def _client(transport: ClientTransport, front: Front, relay: Relay) -> Borrowed:
    can = front.capabilities
    client = Borrowed(
        transport, mode="auto" if front.modern else "legacy", message_handler=relay.news, client_info=front.info
    )
    kwargs = client._session_kwargs  # noqa: SLF001 - the public handlers rewrite requests and drop images, so the SDK's own are set
    kwargs["sampling_callback"] = relay.sample if can.sampling else None
    kwargs["elicitation_callback"] = relay.elicit if can.elicitation else None
    kwargs["list_roots_callback"] = relay.roots if can.roots else None
    kwargs["logging_callback"] = relay.log
    # Headers of the client in front are not forwarded: its token for us is not meant for the servers behind us.
    options = replace(PROXY_TRANSPORT_OPTIONS, session_class=_session_class(can), forward_incoming_headers=False)
    client._transport_options = options  # noqa: SLF001 - the same
    return client


def _session_class(can: mcp_types.ClientCapabilities) -> type[Any]:
    class Mirrored(PROXY_TRANSPORT_OPTIONS.session_class):  # type: ignore[name-defined,misc]  # the base is chosen at run time
        """A session that says it can do what the client in front can do: servers list their tools by that."""

        def _build_capabilities(self, _: str) -> mcp_types.ClientCapabilities:
            return can

    return Mirrored
