"""`shaping proxy`: stand in front of an MCP server and shape what its tools return."""

from __future__ import annotations

import os
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path  # noqa: TC003 (Typer reads the annotations)
from typing import TYPE_CHECKING, Annotated, Any, NoReturn
from urllib.parse import urlsplit

import typer

from shaping.cli.serving import run, settle
from shaping.cli.support.listen import free_address
from shaping.cli.support.output import Stopped, config_error_detail, stopped

if TYPE_CHECKING:
    from shaping.proxy.former.backend import Backend
    from shaping.proxy.former.head_start import HeadStart
    from shaping.proxy.former.proxy import Proxy

COMMAND = typer.Argument(metavar="COMMAND...", help="The server's command, after --: shaping proxy -- python server.py")
URL = typer.Option(help="The address of a server to reach by HTTP instead of starting one.")
TRANSPORT = typer.Option(metavar="http|sse", help="With --url: http or sse, where the address does not tell.")
HEADER = typer.Option(metavar="'NAME: VALUE'", help="With --url: a header to send; may be repeated.")
OAUTH = typer.Option(
    "--oauth", help="Sign in to remote servers in your browser; tokens are kept in your cache directory."
)
SERVERS = typer.Option(
    metavar="FILE", help="A file with mcpServers: put all of them behind this one proxy.", exists=True
)
START_TIMEOUT = typer.Option(metavar="SECONDS", min=1, help="How long a server may take to start. (default: 55)")
HTTP = typer.Option(
    metavar="HOST:PORT",
    help="Serve streamable HTTP at HOST:PORT instead of this process's pipes; PORT alone is loopback.",
)
SSE = typer.Option(metavar="HOST:PORT", help="Serve the older SSE transport at HOST:PORT.")
ALLOW_HOST = typer.Option(
    metavar="HOST", help="With --http: a Host header to accept besides the address itself; may be repeated."
)
ALLOW_ORIGIN = typer.Option(metavar="ORIGIN", help="With --http: a browser origin to accept; may be repeated.")
CONFIG = typer.Option(
    metavar="FILE", help="The config to use instead of the one that is found.", exists=True, dir_okay=False
)
PROFILE = typer.Option(metavar="NAME", help="The profile to use for every tool.")
EXPAND = typer.Option(help="Offer the tool by which a model asks for what was left out, or not. (default: offer)")


def proxy(
    command: Annotated[list[str] | None, COMMAND] = None,
    *,
    url: Annotated[str | None, URL] = None,
    transport: Annotated[str | None, TRANSPORT] = None,
    header: Annotated[list[str] | None, HEADER] = None,
    oauth: Annotated[bool, OAUTH] = False,
    servers: Annotated[Path | None, SERVERS] = None,
    start_timeout: Annotated[float | None, START_TIMEOUT] = None,
    http: Annotated[str | None, HTTP] = None,
    sse: Annotated[str | None, SSE] = None,
    allow_host: Annotated[list[str] | None, ALLOW_HOST] = None,
    allow_origin: Annotated[list[str] | None, ALLOW_ORIGIN] = None,
    config: Annotated[Path | None, CONFIG] = None,
    profile: Annotated[str | None, PROFILE] = None,
    expand: Annotated[bool, EXPAND] = True,
) -> None:
    """Put this in front of any MCP server, in any language: its tools' results reach the model shaped."""
    piped = http is None and sse is None
    if command and piped and url is None and servers is None and not oauth:
        _relay(command, config, profile, start_timeout, expand=expand)
    need_extra()
    asked = partial(backends_of, command or [], url, transport, header or [], servers, oauth=oauth)

    def build(early: HeadStart) -> tuple[Proxy, Any]:
        backends = asked(early=early)
        allow_time(backends, start_timeout)
        built = _proxy(backends, config, profile, expand=expand)
        settle()
        if piped:
            return built, built.serve_pipes
        return built, _over_http(built, http, sse, allow_host, allow_origin)

    # Over HTTP each client has a server of its own, which is started when it comes.
    run(build, command if piped and url is None and servers is None else None)


def _relay(
    command: list[str], config: Path | None, profile: str | None, start_timeout: float | None, *, expand: bool
) -> NoReturn:
    from shaping.proxy.loading import Options, UnknownProfileError  # noqa: PLC0415 (help must not wait for it)
    from shaping.proxy.stdio import run_command  # noqa: PLC0415 (help must not wait for it)
    from shaping.settings import ConfigError  # noqa: PLC0415 (help must not wait for it)

    options = Options(None if config is None else str(config), profile, expand=expand)
    try:
        raise typer.Exit(run_command(command, options, start_seconds=start_timeout))
    except UnknownProfileError as problem:
        raise stopped(str(problem)) from None
    except ConfigError as problem:
        typer.echo(str(problem), err=True)
        raise Stopped(config_error_detail(problem), 1) from None


def _over_http(
    built: Proxy, http: str | None, sse: str | None, allow_host: list[str] | None, allow_origin: list[str] | None
) -> Any:
    host, port = free_address(http or sse or "")
    options: dict[str, Any] = {
        "transport": "http" if http is not None else "sse",
        "host": host,
        "port": port,
        # Not "auto": a page in a browser must not reach a server only because it is bound to more than loopback.
        "host_origin_protection": True,
        "allowed_hosts": allow_host or None,
        "allowed_origins": allow_origin or None,
        "uvicorn_config": {"timeout_graceful_shutdown": 0, "access_log": False, "log_level": "warning"},
    }
    typer.echo(f"serving http://{host}:{port}/{'mcp' if http is not None else 'sse'}", err=True)
    return partial(built.run_http_async, show_banner=False, **options)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(proxy)


def need_extra() -> None:
    """End with an instruction where the packages for MCP are not installed."""
    if find_spec("fastmcp") is None:
        raise stopped('MCP needs an extra: pip install "shaping[mcp]"', code="DEPENDENCY_UNAVAILABLE")


def backends_of(
    command: list[str],
    url: str | None,
    transport: str | None,
    header: list[str],
    servers: Path | None,
    *,
    oauth: bool = False,
    early: HeadStart | None = None,
) -> list[Backend]:
    """Return the servers that a command line names, or end with what is wrong with it."""
    from shaping.proxy.former.configured import (  # noqa: PLC0415 (an extra)
        ServersError,
        address_of,
        command_backend,
        headers_of,
        listed_backends,
        url_backend,
    )
    from shaping.settings.jsonc import JsoncError  # noqa: PLC0415 (the same)

    if sum((bool(command), url is not None, servers is not None)) != 1:
        raise stopped("give one of: a command after --, --url, or --servers")
    if oauth and command:
        raise stopped("--oauth is for --url and --servers; a command signs in by itself")
    try:
        if servers is not None:
            return listed_backends(servers.read_text(), oauth=oauth)
        if url is not None:
            address = address_of(url)
            _need_url(address)
            return [url_backend(address, transport=transport, headers=headers_of(header), oauth=oauth)]
    except OSError as problem:
        raise stopped(f"cannot read {servers}: {problem.strerror}") from None
    except (ServersError, JsoncError, UnicodeDecodeError) as problem:
        raise stopped(f"{servers or '--url'}: {problem}") from None
    return [command_backend(command, early=early)]


def allow_time(backends: list[Backend], seconds: float | None) -> None:
    """Let servers take so long to start."""
    for backend in backends:
        backend.seconds = seconds or backend.seconds


def _need_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise stopped(f"{url!r} is not a server's address; expected one like https://example.com/mcp")


def _proxy(backends: list[Backend], config: Path | None, profile: str | None, *, expand: bool) -> Proxy:
    import logging  # noqa: PLC0415 (the same)

    import fastmcp  # noqa: PLC0415 (an extra)

    from shaping.mcp.fastmcp import ShapingMiddleware  # noqa: PLC0415 (an extra)
    from shaping.proxy.former.proxy import Proxy  # noqa: PLC0415 (the same)
    from shaping.settings import ConfigError  # noqa: PLC0415 (the same)
    from shaping.shaper import Shaper  # noqa: PLC0415 (the same)

    # A dozen spans a call cost as much as filtering does; trace ids still pass from client to server.
    if "FASTMCP_TELEMETRY_MODE" not in os.environ:
        fastmcp.settings.telemetry_mode = "propagation_only"
    # FastMCP prints a trace for every failed call; the client is told in its own channel.
    logging.getLogger("fastmcp").setLevel(logging.CRITICAL)
    logging.basicConfig(stream=sys.stderr, format="shaping: %(message)s", level=logging.WARNING)
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    environ = dict(os.environ) | ({"SHAPING_PROFILE": profile} if profile else {})
    try:
        shaper = Shaper(config, expandable=expand, environ=environ)
    except ConfigError as problem:
        typer.echo(str(problem), err=True)
        raise Stopped(config_error_detail(problem), 1) from None
    if profile is not None and profile not in shaper.generation.profiles:
        raise stopped(f"there is no profile {profile!r}; there are {', '.join(shaper.generation.profiles)}")
    shaping = ShapingMiddleware(shaper=shaper, expand=expand, relay=True)
    # Its client has not said a word yet, and its server may take a while to start.
    shaping.messages.warm_up()
    return Proxy(backends, [shaping])
