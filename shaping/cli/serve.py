"""`shaping serve`: turn an HTTP API, or your own functions, into a server whose answers are already shaped."""

from __future__ import annotations

import os
import sys
from pathlib import Path  # noqa: TC003 (Typer reads the annotations)
from secrets import token_urlsafe
from typing import Any, Literal

import typer

from shaping.cli.output import Answer, free_address, stopped
from shaping.learning.record import Recorder
from shaping.operations.openapi import Auth, DocumentError, HttpConfig, from_openapi_file, from_openapi_url
from shaping.operations.registry import RegistrationError, Registry, scan
from shaping.operations.spec import OperationFilter, Spec, TooManyError, listing_tokens, select_operations
from shaping.proxy import LIMITS
from shaping.response import counted
from shaping.shaper import Shaper


def serve(
    *,
    openapi: list[str] | None = None,
    scan: list[Path] | None = None,
    base_url: str | None = None,
    namespace: str = "",
    header: list[str] | None = None,
    bearer: str | None = None,
    api_key: str | None = None,
    basic: str | None = None,
    tag: list[str] | None = None,
    method: list[str] | None = None,
    path: list[str] | None = None,
    id: list[str] | None = None,  # noqa: A002 (the option's name)
    read_only: bool = False,
    max_tool_tokens: int = 25_000,
    only_list: bool = False,
    http: str | None = None,
    api: str | None = None,
    no_token: bool = False,
    typed: bool = False,
    allow_eval: bool = False,
    config: Path | None = None,
    record: Path | None = None,
) -> Answer | None:
    """Serve an HTTP API as MCP tools, and shape what they return to the model."""
    _need_extras()
    if not openapi and not scan:
        raise stopped("give --openapi or --scan: there is nothing to serve")
    address = http if api is None else api
    place = None if address is None or only_list else free_address(address)
    recorder = None if record is None else Recorder(record)
    registry = _registry(config, allow_eval=allow_eval, recorder=recorder if api is not None else None)
    about = _http_config(namespace, base_url, header or [], {"bearer": bearer, "api_key": api_key, "basic": basic})
    _fill(registry, openapi or [], scan or [], about)
    choice = OperationFilter(tuple(tag or ()), tuple(method or ()), tuple(path or ()), tuple(id or ()), read_only)
    specs = _chosen(registry, choice, None if only_list else max_tool_tokens)
    if only_list:
        return _list(specs, max_tool_tokens)
    if api is not None and place is not None:
        _serve_api(registry, specs, place, no_token=no_token)
    else:
        _serve_mcp(registry, specs, place, typed=typed, recorder=recorder)
    return None


def _need_extras() -> None:
    try:
        import fastmcp  # noqa: F401, PLC0415 (an extra)
        import httpx  # noqa: F401, PLC0415 (an extra)
        import starlette  # noqa: F401, PLC0415 (an extra)
    except ImportError:
        raise stopped(
            'serving needs two extras: pip install "shaping[mcp,http]"', code="DEPENDENCY_UNAVAILABLE"
        ) from None


def _registry(config: Path | None, *, allow_eval: bool, recorder: Recorder | None) -> Registry:
    shaper = Shaper(config, expandable=True, recorder=recorder)
    return Registry(shaper=shaper, allow_eval=allow_eval or bool(shaper.loaded_config.config.allow_eval))


def _http_config(
    namespace: str, base_url: str | None, headers: list[str], variables: dict[str, str | None]
) -> HttpConfig:
    pairs = [tuple(part.strip() for part in header.split(":", 1)) for header in headers]
    if any(len(pair) != 2 for pair in pairs):
        raise stopped("a header is given as 'Name: value'")
    named = [(kind, variable) for kind, variable in variables.items() if variable is not None]
    if len(named) > 1:
        raise stopped("give one of --bearer, --api-key and --basic")
    auth = None
    for kind, variable in named:
        if not os.environ.get(variable):
            raise stopped(f"the environment variable {variable} is not set")
        way: Literal["bearer", "api_key", "basic"] = kind  # type: ignore[assignment]  # the three names above
        auth = Auth(way, os.environ[variable])
    return HttpConfig(namespace, base_url, {pair[0]: pair[1] for pair in pairs}, auth)


def _fill(registry: Registry, documents: list[str], directories: list[Path], about: HttpConfig) -> None:
    import anyio  # noqa: PLC0415 (an extra)

    try:
        for place in documents:
            is_url = place.startswith(("http://", "https://"))
            registry.add(anyio.run(from_openapi_url, place, about) if is_url else from_openapi_file(place, about))
        for directory in directories:
            found = scan(str(directory))
            for problem in found.problems:
                typer.echo(f"{problem.path}: {problem.reason}", err=True)
            registry.add(found.operations)
    except OSError as problem:
        code = "FILE_NOT_FOUND" if isinstance(problem, FileNotFoundError) else "BAD_ARGUMENT"
        reason = f"cannot read {problem.filename}: {problem.strerror}" if problem.filename else str(problem)
        raise stopped(reason, code=code) from None
    except DocumentError as problem:
        raise stopped(str(problem)) from None
    except RegistrationError as problem:
        raise stopped(str(problem), 1, code="CONFLICT") from None
    except Exception as problem:
        # Whatever the HTTP client calls a document that could not be had.
        if not type(problem).__module__.startswith("httpx"):
            raise
        raise stopped(f"the document could not be fetched: {problem}", 1, code="UNAVAILABLE") from None


def _chosen(registry: Registry, choice: OperationFilter, limit: int | None) -> list[Spec]:
    try:
        specs = select_operations(registry.list(), choice, limit=limit)
    except TooManyError as problem:
        raise stopped(str(problem), 1, code="TOO_LARGE") from None
    if not specs:
        raise stopped("nothing matches that choice", 1, code="OPERATION_NOT_FOUND")
    typer.echo(f"{_numbers(specs)}, {counted(listing_tokens(specs), 'token')} of tool definitions", err=True)
    return specs


def _numbers(specs: list[Spec]) -> str:
    streams = sum(spec.type == "subscription" for spec in specs)
    told = counted(len(specs), "operation")
    return f"{told} with {counted(streams, 'subscription')}, which MCP has no form for" if streams else told


def _list(specs: list[Spec], limit: int) -> Answer:
    tokens = listing_tokens(specs)
    notes = [str(TooManyError(specs, tokens, limit))] if tokens > limit else []
    rows = [(spec.id, spec.type, spec.description.splitlines()[0] if spec.description else "") for spec in specs]
    told = [dict(zip(("id", "type", "description"), row, strict=True)) for row in rows]
    return Answer({"operations": told, "tokens": tokens}, map("\t".join, rows), notes)


def _serve_mcp(
    registry: Registry, specs: list[Spec], place: tuple[str, int] | None, *, typed: bool, recorder: Recorder | None
) -> None:
    import logging  # noqa: PLC0415 (only this command needs it)

    from shaping.operations.mcp_server import mcp_server  # noqa: PLC0415 (an extra)

    # FastMCP prints a trace for every failed call; the client is told in its own channel.
    logging.getLogger("fastmcp").setLevel(logging.CRITICAL)
    logging.basicConfig(stream=sys.stderr, format="shaping: %(message)s", level=logging.WARNING)
    server = mcp_server(registry, specs, typed=typed, recorder=recorder)
    if place is None:
        server.run("stdio", show_banner=False)
        return
    host, port = place
    options: dict[str, Any] = {
        "host": host,
        "port": port,
        # Not "auto": a page in a browser must not reach a server only because it is bound to more than loopback.
        "host_origin_protection": True,
        "uvicorn_config": {**LIMITS, "timeout_graceful_shutdown": 0},
    }
    typer.echo(f"serving http://{host}:{port}/mcp", err=True)
    server.run("http", show_banner=False, **options)


def _serve_api(registry: Registry, specs: list[Spec], place: tuple[str, int], *, no_token: bool) -> None:
    import uvicorn  # noqa: PLC0415 (an extra)

    from shaping.operations.http_server import http_app  # noqa: PLC0415 (an extra)

    host, port = place
    changing = any(spec.state_changing or spec.operation_type == "eval" for spec in specs)
    token = None if no_token or not changing else os.environ.get("SHAPING_SERVE_TOKEN") or token_urlsafe(24)
    typer.echo(f"serving http://{host}:{port}/operations{f'?token={token}' if token else ''}", err=True)
    # Bound to every address, the server is reached by names that it cannot know.
    everywhere = host in {"0.0.0.0", "::"}  # noqa: S104 (compared, not bound)
    app = http_app(registry, specs, hosts=["*" if everywhere else f"{host}:{port}"], token=token)
    uvicorn.run(app, host=host, port=port, **LIMITS)
