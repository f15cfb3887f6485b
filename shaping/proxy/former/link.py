"""One live connection from one client to one server behind the proxy, shared by the calls that are under way."""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import anyio
import mcp_types
from fastmcp.server.providers.proxy import PROXY_TRANSPORT_OPTIONS, ProxyClient
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from shaping.proxy.former.child import Child
from shaping.proxy.former.outage import ServerUnavailableError, is_hangup, refusal
from shaping.proxy.former.relay import Relay, progress_for
from shaping.proxy.former.rounds import driven

if TYPE_CHECKING:
    from types import TracebackType

    from fastmcp.client.transports import ClientTransport
    from fastmcp.server.dependencies import FastMCPRequestContext

    from shaping.proxy.former.backend import Backend

# How a server of the newer protocol alone says that it knows no handshake.
_REFUSALS = (
    mcp_types.UNSUPPORTED_PROTOCOL_VERSION,
    mcp_types.METHOD_NOT_FOUND,
    mcp_types.INVALID_PARAMS,
    mcp_types.INVALID_REQUEST,
)


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
            if not self.link.modern and is_newer(error):
                raise
            raise self.link.lost(error) from error
        return self

    @property
    def protocol_version(self) -> str | None:
        """The version in use; an older one for a client to whom a newer server's questions must be put one by one."""
        version = super().protocol_version
        bridged = version in MODERN_PROTOCOL_VERSIONS and not self.link.relay.front.modern
        return HANDSHAKE_PROTOCOL_VERSIONS[-1] if bridged else version

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()
        await super().__aexit__(kind, error, trace)  # type: ignore[no-untyped-call]  # the same
        if not isinstance(error, Exception):
            return
        if self.link.is_lost(error):
            raise self.link.lost(error) from error
        refused = refusal(self.link.backend.name, self.transport) if isinstance(error, MCPError) else None
        if refused is not None:
            raise ServerUnavailableError(refused) from error

    async def _drive_input_required(self, first: Any, retry: Any) -> Any:
        if not isinstance(first, mcp_types.InputRequiredResult):
            return first
        can = self.link.relay.front.capabilities
        return await driven(self.link.backend.name, first, can, super()._drive_input_required, retry)

    def _leave(self) -> None:
        if self.call is not None and self.call in self.link.relay.active:
            self.link.relay.active.remove(self.call)


@dataclass
class Link:
    """A live connection from one client to one server."""

    backend: Backend
    client: Borrowed
    relay: Relay
    modern: bool
    since: float | None = None
    used: float = field(default_factory=time.monotonic)
    dead: bool = False

    @classmethod
    def to(cls, backend: Backend, transport: ClientTransport, relay: Relay, *, modern: bool) -> Link:
        """Return a connection that is not open yet."""
        client = _client(transport, relay, modern=modern)
        link = client.link = cls(backend, client, relay, modern)
        return link

    async def open(self) -> None:
        """Connect."""
        await self.client.__aenter__()
        self.since = time.monotonic()

    def is_lost(self, error: Exception) -> bool:
        """Say whether an error means that the connection, not the call, has failed."""
        if isinstance(error, MCPError):
            return is_hangup(error, self.client.transport) or not self._alive()
        return isinstance(error, RuntimeError | OSError | anyio.ClosedResourceError | anyio.BrokenResourceError)

    def lost(self, error: Exception) -> ServerUnavailableError:
        """Take the connection out of use and say why."""
        return ServerUnavailableError(self.backend.failed(self, error))

    def _alive(self) -> bool:
        transport = self.client.transport
        return transport.alive if isinstance(transport, Child) else self.client.is_connected()

    @property
    def usable(self) -> bool:
        """Say whether a call may be sent."""
        return not self.dead and self._alive()

    def for_call(self, call: FastMCPRequestContext | None) -> Borrowed:
        """Return a client for one call: the connection is shared, the progress is not."""
        self.used = time.monotonic()
        client = copy.copy(self.client)
        client.call = call
        client._proxy_rc_ref = [None]  # noqa: SLF001 - FastMCP keeps one slot per client, which calls side by side would share
        client._progress_handler = progress_for(call)  # noqa: SLF001 - the same
        return client


def is_newer(error: Exception) -> bool:
    """Say whether a server refused the handshake as one that knows only what came after it."""
    return isinstance(error, MCPError) and error.error.code in _REFUSALS


def _client(transport: ClientTransport, relay: Relay, *, modern: bool) -> Borrowed:
    can = relay.front.capabilities
    client = Borrowed(
        transport, mode="auto" if modern else "legacy", message_handler=relay.news, client_info=relay.front.info
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
