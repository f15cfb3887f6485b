"""`shaping proxy`: stand in front of an MCP server and shape what its tools return.

A plain `shaping proxy -- COMMAND` never comes here: `__main__.py` starts it without loading Typer.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from functools import partial
from importlib.util import find_spec
from pathlib import Path  # noqa: TC003 (Typer reads the annotations)
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from shaping.cli.output import CONFIG, HTTP, PROFILE, RECORD, free_address, need_posix, page_address, stopped
from shaping.clients.wrap import HEADER_VARIABLE, has_credentials, server_entries, unwrap, wants_sign_in
from shaping.errors import make_error
from shaping.proxy.serving import Options, ShaperLoader, UnknownProfileError, run_relay, serve_stdio
from shaping.proxy.upstream import (
    START_SECONDS,
    ServerFactory,
    ServerUnavailableError,
    Upstream,
    UpstreamTransport,
    command_server,
)
from shaping.settings.jsonc import JsoncError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shaping.proxy.router import Router

_SHORTEST_TOKEN = 16  # characters
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_UNFILLED = re.compile(r"\$\{([\w:.-]+)\}")
_VARIABLE = re.compile(r"\$\{(?:env:)?(\w+)(?::-([^}]*))?\}")


COMMAND = typer.Argument(metavar="COMMAND...", help="The server's command, after --, as in: -- python server.py")
URL = typer.Option(metavar="URL", help="The address of a server to reach by HTTP instead of starting one.")
TRANSPORT = typer.Option(metavar="http|sse", help="With --url: the transport, where the address does not tell it.")
HEADER = typer.Option(metavar="'NAME: VALUE'", help="With --url: a header to send; may be repeated.")
OAUTH = typer.Option(
    "--oauth", help="Sign in to remote servers in your browser; tokens are kept in your cache directory."
)
SERVERS = typer.Option(metavar="FILE", help="A file with mcpServers: take all of its servers together.", exists=True)
NAME = typer.Option(
    metavar="NAME",
    help="What you call the server: the config's rules for NAME/tool apply, and the ledger names it so."
    " (default: its own name)",
)
START_TIMEOUT = typer.Option(metavar="SECONDS", min=1, help="How long a server may take to start. (default: 55)")
ALLOW_HOST = typer.Option(
    metavar="HOST[:PORT]", help="With --http: a Host header to accept besides the address itself; may be repeated."
)
BEARER = typer.Option(
    metavar="VARIABLE",
    help="With --http: the environment variable that holds the token which clients must send as"
    " `Authorization: Bearer`. Not the token itself: every user can read arguments.",
)
ALLOW_ORIGIN = typer.Option(metavar="ORIGIN", help="With --http: a browser origin to accept; may be repeated.")
UI = typer.Option(
    "--ui", help="With --http on loopback: also serve the page of `shaping ui` at /; its address has a token."
)
EXPAND = typer.Option(
    help="Offer the model a tool to ask for what was left out, or not. (default: offer) Over stdio it is kept in"
    " store.sqlite in your cache directory, where `shaping expand` finds it too."
)


def proxy(
    command: Annotated[list[str] | None, COMMAND] = None,
    *,
    url: Annotated[str | None, URL] = None,
    transport: Annotated[str | None, TRANSPORT] = None,
    header: Annotated[list[str] | None, HEADER] = None,
    oauth: Annotated[bool, OAUTH] = False,
    servers: Annotated[Path | None, SERVERS] = None,
    name: Annotated[str | None, NAME] = None,
    start_timeout: Annotated[float | None, START_TIMEOUT] = None,
    http: Annotated[str | None, HTTP] = None,
    allow_host: Annotated[list[str] | None, ALLOW_HOST] = None,
    allow_origin: Annotated[list[str] | None, ALLOW_ORIGIN] = None,
    bearer: Annotated[str | None, BEARER] = None,
    ui: Annotated[bool, UI] = False,
    config: Annotated[Path | None, CONFIG] = None,
    profile: Annotated[str | None, PROFILE] = None,
    expand: Annotated[bool, EXPAND] = True,
    record: Annotated[Path | None, RECORD] = None,
) -> None:
    """Run any MCP server, in any language, behind a proxy that shapes what its tools return to the model."""
    need_posix("shaping proxy")
    found = servers_of(
        command or [], url, transport, header or [], servers, name=name, oauth=oauth, seconds=start_timeout
    )
    piped = http is None
    if ui and piped:
        raise stopped("--ui is for --http; for a proxy over pipes, run `shaping ui` in another terminal")
    token = _bearer_token(bearer, piped=piped)
    paths = [None if path is None else str(path) for path in (config, record)]
    unnamed = name is None and servers is None
    options = Options(paths[0], profile, expand=expand, for_user=piped, record=paths[1], names_itself=unnamed)
    upstream = combined_server(found)
    rules = {"allowed_hosts": allow_host or (), "allowed_origins": allow_origin or (), "bearer": token}
    try:
        serve = partial(serve_stdio, upstream) if http is None else _served(upstream, http, rules, ui)
        code = asyncio.run(run_relay(serve, options))
    except UnknownProfileError as problem:
        raise stopped(str(problem)) from None
    raise typer.Exit(code)


def _served(make_upstream: Any, http: str, rules: dict[str, Any], ui: bool) -> Any:
    """Return what serves over HTTP, after saying where."""
    need_extra()
    host, port = free_address(http)
    page, token = page_address(host, port) if ui else ("", None)
    typer.echo(f"serving http://{host}:{port}/mcp", err=True)
    if ui:
        typer.echo(f"page {page}", err=True)
    if rules["bearer"] is None and host not in _LOOPBACK:
        typer.echo(f"warning: whoever reaches {host}:{port} can call these tools; --bearer asks for a token", err=True)

    from shaping.page.app import proxy_routes  # noqa: PLC0415 (an extra)
    from shaping.proxy.http_server import serve_http  # noqa: PLC0415 (an extra)

    async def serve(loader: ShaperLoader) -> int:
        if token is not None:
            rules["pages"] = proxy_routes(loader.get, token)
        return await serve_http(make_upstream, loader, host, port, **rules)

    return serve


def _bearer_token(variable: str | None, *, piped: bool) -> str | None:
    if variable is None:
        return None
    if piped:
        raise stopped("--bearer needs --http: over stdio only the client that started the proxy can talk to it")
    token = os.environ.get(variable, "")
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        holds = f"must hold {_SHORTEST_TOKEN} printable characters or more"
        raise stopped(f"--bearer names an environment variable, and ${variable} {holds}")
    return token


def need_extra() -> None:
    """End with an instruction where the packages for MCP are not installed."""
    if find_spec("fastmcp") is None:
        raise stopped('MCP needs an extra: pip install "shaping[mcp]"', code="DEPENDENCY_UNAVAILABLE")


def quiet_logs() -> None:
    """Keep the libraries quiet, and ourselves: what goes wrong with a server is told once, at the end."""
    for name in ("fastmcp", "mcp"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    logging.getLogger("shaping").addHandler(logging.NullHandler())


def servers_of(
    command: list[str],
    url: str | None,
    transport: str | None,
    header: list[str],
    servers: Path | None,
    *,
    name: str | None = None,
    oauth: bool = False,
    seconds: float | None = None,
) -> list[ServerFactory]:
    """Return the servers that a command line names, or end with what is wrong with it."""
    if sum((bool(command), url is not None, servers is not None)) != 1:
        raise stopped("give one of: a command after --, --url, or --servers")
    if oauth and command:
        raise stopped("--oauth is for --url and --servers; a command signs in by itself")
    if url is None and (transport is not None or header):
        raise stopped(f"{'--header' if transport is None else '--transport'} is for --url")
    if name is not None and servers is not None:
        raise stopped("--name is for one server; those of --servers have their names there")
    if command:
        return [command_server(command, name, seconds=seconds)]
    need_extra()
    try:
        if servers is not None:
            return listed_servers(servers.read_text(), oauth=oauth, seconds=seconds)
        address = address_of(url or "")
        _need_url(address)
        headers = headers_of(header)
        return [url_server(address, name, transport=transport, headers=headers, oauth=oauth, seconds=seconds)]
    except OSError as problem:
        raise stopped(f"cannot read {servers}: {problem.strerror}") from None
    except (ServersError, JsoncError, UnicodeDecodeError) as problem:
        raise stopped(str(problem) if servers is None else f"{servers}: {problem}") from None


def _need_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise stopped(f"{url!r} is not a server's address; expected one like https://example.com/mcp")


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

    label = name or bare_address(url)
    unfilled = next(filter(None, map(_UNFILLED.search, [url, *(headers or {}).values()])), None)
    auth, patience = None, START_SECONDS
    if oauth:
        from shaping.proxy.sign_in import SIGN_IN_SECONDS, sign_in  # noqa: PLC0415 (an extra, only for OAuth: costs 1 s)

        # One for all sessions: signing in for one of them is enough.
        auth, patience = sign_in(url), SIGN_IN_SECONDS

    def connect() -> UpstreamTransport:
        if unfilled is not None:
            raise _unfilled_error(label, unfilled)
        return remote_transport(url, name=label, kind=transport, headers=headers, auth=auth)

    return partial(Upstream, label, connect, seconds or patience, names_itself=name is None)


def listed_servers(text: str, *, oauth: bool = False, seconds: float | None = None) -> list[ServerFactory]:
    """Make the upstream servers of a client's list, those that are wrapped already without their wrapping."""
    servers = server_entries(unwrap(text).text)
    if not servers:
        raise ServersError("there is no server in it; expected them under mcpServers, servers, context_servers or mcp")
    return [_listed(name, _expanded(server), oauth=oauth, seconds=seconds) for name, server in servers.items()]


def combined_server(servers: Sequence[ServerFactory]) -> Callable[[], Upstream | Router]:
    """Make one upstream server of several."""
    if len(servers) == 1:
        return servers[0]
    from shaping.proxy.router import Router as ManyServers  # noqa: PLC0415 (only where there are several: costs 100 ms)

    return lambda: ManyServers([make() for make in servers])


def headers_of(lines: Sequence[str]) -> dict[str, str]:
    """Read headers as `Name: value`, those of the environment after those of the command line."""
    given = [value for key, value in sorted(os.environ.items()) if key.startswith(HEADER_VARIABLE)]
    headers: dict[str, str] = {}
    for line in (*lines, *given):
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            # Its first word alone: the rest may be a token.
            raise ServersError(f"{(line.split() or [''])[0]!r} in --header begins no header; expected 'Name: value'")
        headers[name.strip()] = str(_expanded(value.strip()))
    return headers


def address_of(url: str) -> str:
    """Return an address, or the one in the variable of `env:NAME`, which keeps it out of the list of processes."""
    if not url.startswith("env:"):
        return url
    found = os.environ.get(url.removeprefix("env:"))
    if found is None:
        raise ServersError(f"--url: the variable {url.removeprefix('env:')!r} is not set; expected an address in it")
    return str(_expanded(found))


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


def _unfilled_error(name: str, unfilled: re.Match[str]) -> ServerUnavailableError:
    """Refuse what was to be filled in and was not: a server would be sent the name of a secret for the secret."""
    if unfilled[1].startswith("input:"):
        message = f"the server {name!r} needs {unfilled[0]}, which only the client that asks for it can fill in"
        hint = "Put the value into a variable of the environment and write ${NAME}."
    else:
        message = f"the server {name!r} needs {unfilled[0]}, which is not set"
        hint = "Set it where the proxy is started, or write ${NAME:-default}."
    return ServerUnavailableError(make_error("PRECONDITION", message, hint=hint))


def _expanded(value: Any) -> Any:
    """Fill in `${NAME}` and `${NAME:-default}` from the environment, as the clients do that write such lists."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: os.environ.get(found[1], found[0] if found[2] is None else found[2]), value)
    if isinstance(value, dict):
        return {key: _expanded(item) for key, item in value.items()}
    return [_expanded(item) for item in value] if isinstance(value, list) else value
