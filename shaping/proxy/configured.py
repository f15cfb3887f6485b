"""The servers to put behind a proxy, from a command, an address, or a client's list of servers."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from shaping.clients.wrap import HEADER_VARIABLE, has_credentials, server_entries, unwrap, wants_sign_in
from shaping.errors import make_error
from shaping.proxy.child import command_server
from shaping.proxy.upstream import (
    START_SECONDS,
    Log,
    ServerFactory,
    ServerUnavailableError,
    Upstream,
    UpstreamTransport,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shaping.proxy.router import Router

_UNFILLED = re.compile(r"\$\{([\w:.-]+)\}")
_VARIABLE = re.compile(r"\$\{(?:env:)?(\w+)(?::-([^}]*))?\}")


class ServersError(ValueError):
    """A list of servers that cannot be used, and why."""


def url_server(
    url: str,
    name: str | None = None,
    *,
    transport: str | None = None,
    headers: Mapping[str, str] | None = None,
    oauth: bool = False,
    seconds: float | None = None,
) -> ServerFactory:
    """Make the upstream server that is reached by HTTP; an address that ends in `/sse` means the older transport."""
    from shaping.proxy.remote import bare_address, remote_transport  # noqa: PLC0415 (an extra)

    own_name = name or bare_address(url)
    unfilled = next(filter(None, map(_UNFILLED.search, [url, *(headers or {}).values()])), None)
    # One for all sessions: signing in for one of them is enough.
    auth, patience = _sign_in(url) if oauth else (None, START_SECONDS)

    def connect() -> UpstreamTransport:
        if unfilled is not None:
            raise _unfilled_error(own_name, unfilled)
        return remote_transport(url, name=own_name, kind=transport, headers=headers, auth=auth)

    return lambda _: Upstream(own_name, connect, seconds or patience, named=name is not None)


def listed_servers(
    text: str, environ: Mapping[str, str] = os.environ, *, oauth: bool = False, seconds: float | None = None
) -> list[ServerFactory]:
    """Make the upstream servers of a client's list, those that are wrapped already without their wrapping."""
    servers = server_entries(unwrap(text).text)
    if not servers:
        raise ServersError("there is no server in it; expected them under mcpServers, servers, context_servers or mcp")
    return [_listed(name, _expanded(server, environ), oauth=oauth, seconds=seconds) for name, server in servers.items()]


def combined_server(servers: Sequence[ServerFactory]) -> Callable[[Log], Upstream | Router]:
    """Make one upstream server of several."""
    if len(servers) == 1:
        return servers[0]
    from shaping.proxy.router import Router as ManyServers  # noqa: PLC0415 (only where there are several: costs 100 ms)

    return lambda log: ManyServers([make(log) for make in servers])


def headers_of(lines: Sequence[str], environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Read headers as `Name: value`, those of the environment after those of the command line."""
    given = [value for key, value in sorted(environ.items()) if key.startswith(HEADER_VARIABLE)]
    headers: dict[str, str] = {}
    for line in (*lines, *given):
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            # Its first word alone: the rest may be a token.
            raise ServersError(f"{(line.split() or [''])[0]!r} begins no header; expected 'Name: value'")
        headers[name.strip()] = str(_expanded(value.strip(), environ))
    return headers


def address_of(url: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return an address, or the one in the variable of `env:NAME`, which keeps it out of the list of processes."""
    if not url.startswith("env:"):
        return url
    found = environ.get(url.removeprefix("env:"))
    if found is None:
        raise ServersError(f"the variable {url.removeprefix('env:')!r} is not set; expected an address in it")
    return str(_expanded(found, environ))


def _listed(name: str, server: Any, *, oauth: bool, seconds: float | None) -> ServerFactory:
    if isinstance(server, dict) and isinstance(server.get("command"), str):
        command = [server["command"], *server.get("args", [])]
        return command_server(command, name, env=server.get("env"), cwd=server.get("cwd"), seconds=seconds)
    if isinstance(server, dict) and isinstance(server.get("url"), str):
        kind = server.get("type") or server.get("transport")
        headers = server.get("headers") or {}
        signs = (oauth or wants_sign_in(server)) and not has_credentials(server)
        return url_server(server["url"], name, transport=kind, headers=headers, oauth=signs, seconds=seconds)
    raise ServersError(f"the server {name!r} has neither a command nor a url")


def _sign_in(url: str) -> tuple[Any, float]:
    from shaping.proxy.sign_in import SIGN_IN_SECONDS, sign_in  # noqa: PLC0415 (an extra, only for OAuth: costs 1 s)

    return sign_in(url), SIGN_IN_SECONDS


def _unfilled_error(name: str, unfilled: re.Match[str]) -> ServerUnavailableError:
    """Refuse what was to be filled in and was not: a server would be sent the name of a secret for the secret."""
    if unfilled[1].startswith("input:"):
        message = f"the server {name!r} needs {unfilled[0]}, which only the client that asks for it can fill in"
        hint = "Put the value into a variable of the environment and write ${NAME}."
    else:
        message = f"the server {name!r} needs {unfilled[0]}, which is not set"
        hint = "Set it where the proxy is started, or write ${NAME:-default}."
    return ServerUnavailableError(make_error("PRECONDITION", message, hint=hint))


def _expanded(value: Any, environ: Mapping[str, str]) -> Any:
    """Fill in `${NAME}` and `${NAME:-default}` from the environment, as the clients do that write such lists."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: environ.get(found[1], found[2] if found[2] is not None else found[0]), value)
    if isinstance(value, dict):
        return {key: _expanded(item, environ) for key, item in value.items()}
    return [_expanded(item, environ) for item in value] if isinstance(value, list) else value
