"""The servers to put behind a proxy, from a command, an address, or a client's list of servers."""

from __future__ import annotations

import os
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from shaping.surfaces import jsonc
from shaping.surfaces.backend import Backend
from shaping.surfaces.child import Child
from shaping.surfaces.remote import bare, remote_transport
from shaping.surfaces.wrap import HEADER_VARIABLE, unwrap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_VARIABLE = re.compile(r"\$\{(?:env:)?(\w+)(?::-([^}]*))?\}")


class ServersError(ValueError):
    """A list of servers that cannot be used, and why."""


def command_backend(command: Sequence[str], name: str | None = None, **options: Any) -> Backend:
    """Return a server that is started as a child process."""
    called = name or PurePath(command[0]).stem
    return Backend(called, lambda: Child(command, name=called, **options))


def url_backend(
    url: str, name: str | None = None, *, transport: str | None = None, headers: Mapping[str, str] | None = None
) -> Backend:
    """Return a server that is reached by HTTP; an address that ends in `/sse` means the older transport."""
    return Backend(name or bare(url), lambda: remote_transport(url, kind=transport, headers=headers))


def listed_backends(text: str, environ: Mapping[str, str] = os.environ) -> list[Backend]:
    """Return the servers of a client's list, those that are wrapped already without their wrapping."""
    root = jsonc.read(unwrap(text).text).value
    servers = (root.get("mcpServers") or root.get("servers")) if isinstance(root, dict) else None
    if not isinstance(servers, dict) or not servers:
        raise ServersError("there is no server in it; expected an object `mcpServers` or `servers` that names them")
    return [_listed(name, _expanded(server, environ)) for name, server in servers.items()]


def headers_of(lines: Sequence[str], environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Read headers as `Name: value`, those of the environment after those of the command line."""
    given = [value for key, value in sorted(environ.items()) if key.startswith(HEADER_VARIABLE)]
    headers: dict[str, str] = {}
    for line in (*lines, *given):
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise ServersError(f"{line!r} is not a header; expected 'Name: value'")
        headers[name.strip()] = value.strip()
    return headers


def _listed(name: str, server: Any) -> Backend:
    if isinstance(server, dict) and isinstance(server.get("command"), str):
        command = [server["command"], *server.get("args", [])]
        return command_backend(command, name, env=server.get("env"), cwd=server.get("cwd"))
    if isinstance(server, dict) and isinstance(server.get("url"), str):
        kind = server.get("type") or server.get("transport")
        return url_backend(server["url"], name, transport=kind, headers=server.get("headers"))
    raise ServersError(f"the server {name!r} has neither a command nor a url")


def _expanded(value: Any, environ: Mapping[str, str]) -> Any:
    """Fill in `${NAME}` and `${NAME:-default}` from the environment, as the clients do that write such lists."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: environ.get(found[1], found[2] if found[2] is not None else found[0]), value)
    if isinstance(value, dict):
        return {key: _expanded(item, environ) for key, item in value.items()}
    return [_expanded(item, environ) for item in value] if isinstance(value, list) else value
