"""The client in front of the proxy: who it is, what it can do, and how to reach it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mcp_types
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from mcp.server.connection import Connection
    from mcp.server.session import ServerSession

GREETING = "shaping.greeting"


@dataclass(frozen=True, slots=True)
class Front:
    """One client, as far as a server behind the proxy should be able to tell it from another."""

    key: Hashable
    modern: bool
    info: mcp_types.Implementation | None
    capabilities: mcp_types.ClientCapabilities
    connection: Connection | None = None


def of_session(session: ServerSession) -> Front:
    """Say who is behind a request; a client without sessions is known by its name and abilities."""
    connection: Connection = session._connection  # noqa: SLF001 - the SDK names no public way from a session to its connection
    # The handshake is recorded only once it is answered, and the servers behind us are greeted before that.
    params = connection.client_params or connection.state.get(GREETING)
    info = params.client_info if params else None
    capabilities = (params.capabilities if params else None) or connection.client_capabilities
    capabilities = capabilities or mcp_types.ClientCapabilities()
    modern = connection.protocol_version in MODERN_PROTOCOL_VERSIONS
    key = _key(info, capabilities) if modern else id(connection)
    return Front(key, modern, info, capabilities, connection)


def of_envelope(params: Mapping[str, Any] | None) -> Front:
    """Say who sends a request that carries its own introduction."""
    meta = (params or {}).get("_meta") or {}
    info = _typed(mcp_types.Implementation, meta.get(mcp_types.CLIENT_INFO_META_KEY))
    raw = meta.get(mcp_types.CLIENT_CAPABILITIES_META_KEY)
    capabilities = _typed(mcp_types.ClientCapabilities, raw) or mcp_types.ClientCapabilities()
    return Front(_key(info, capabilities), modern=True, info=info, capabilities=capabilities)


def _typed(model: Any, raw: Any) -> Any:
    try:
        return model.model_validate(raw, by_name=False)
    except ValueError:
        return None


def _key(info: mcp_types.Implementation | None, capabilities: mcp_types.ClientCapabilities) -> Hashable:
    return (info.model_dump_json() if info else "", capabilities.model_dump_json())
