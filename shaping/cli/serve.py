"""`shaping serve`: turn an HTTP API, or your own functions, into a server whose answers are already shaped."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from secrets import token_urlsafe
from typing import Annotated, Literal

import typer

from shaping.cli.output import CONFIG, HTTP, RECORD, Answer, free_address, stopped
from shaping.learning.record import Recorder
from shaping.operations.openapi import from_openapi_file, from_openapi_url
from shaping.operations.openapi.client import Auth, HttpConfig
from shaping.operations.registry import Registry
from shaping.operations.spec import OperationFilter, Spec, TooManyError, listing_tokens, scan, select_operations
from shaping.response import counted
from shaping.shaper import Shaper

OPENAPI = typer.Option(
    metavar="DOCUMENT", help="An OpenAPI document, 3.0 or 3.1, JSON or YAML: a file or an address; may be repeated."
)
SCAN = typer.Option(
    metavar="DIRECTORY", help="A directory of Python modules that export operations; may be repeated.", exists=True
)
BASE_URL = typer.Option(metavar="URL", help="The API's address, where the document does not say or says another.")
NAMESPACE = typer.Option(metavar="WORD", help="A word before every operation's name.")
HEADER = typer.Option(metavar="'NAME: VALUE'", help="A header to send with every request; may be repeated.")
BEARER = typer.Option(help="The environment variable with a bearer token to send to the API.", metavar="VARIABLE")
API_KEY = typer.Option(help="The environment variable that holds an API key.", metavar="VARIABLE")
BASIC = typer.Option(help="The environment variable that holds user:password.", metavar="VARIABLE")
TAG = typer.Option(metavar="TAG", help="Serve operations with this tag; may be repeated.")
METHOD = typer.Option(metavar="METHOD", help="Serve operations of this HTTP method; may be repeated.")
PATH = typer.Option(metavar="PATTERN", help="Serve operations whose path matches, as '/repos/*'; may be repeated.")
ID = typer.Option(metavar="PATTERN", help="Serve operations whose id matches, as 'get_*'; may be repeated.")
READ_ONLY = typer.Option("--read-only", help="Serve only operations that change nothing.")
LIMIT = typer.Option(metavar="N", help="How many tokens the list of tools may cost.", min=1)
LIST = typer.Option("--list", help="Say what would be served and what it costs, and stop.")
API = typer.Option(metavar="HOST:PORT", help="Serve plain HTTP at HOST:PORT: POST /operations/NAME, POST /expand.")
NO_TOKEN = typer.Option(
    "--no-token", help="With --api: answer operations that change something without the token in the printed address."
)
TYPED = typer.Option("--typed", help="Advertise output schemas.")
ALLOW_EVAL = typer.Option("--allow-eval", help="Serve operations that evaluate code; their payloads are still checked.")


def serve(
    *,
    openapi: Annotated[list[str] | None, OPENAPI] = None,
    scan: Annotated[list[Path] | None, SCAN] = None,
    base_url: Annotated[str | None, BASE_URL] = None,
    namespace: Annotated[str, NAMESPACE] = "",
    header: Annotated[list[str] | None, HEADER] = None,
    bearer: Annotated[str | None, BEARER] = None,
    api_key: Annotated[str | None, API_KEY] = None,
    basic: Annotated[str | None, BASIC] = None,
    tag: Annotated[list[str] | None, TAG] = None,
    method: Annotated[list[str] | None, METHOD] = None,
    path: Annotated[list[str] | None, PATH] = None,
    id: Annotated[list[str] | None, ID] = None,  # noqa: A002 (the option's name)
    read_only: Annotated[bool, READ_ONLY] = False,
    max_tool_tokens: Annotated[int, LIMIT] = 25_000,
    only_list: Annotated[bool, LIST] = False,
    http: Annotated[str | None, HTTP] = None,
    api: Annotated[str | None, API] = None,
    no_token: Annotated[bool, NO_TOKEN] = False,
    typed: Annotated[bool, TYPED] = False,
    allow_eval: Annotated[bool, ALLOW_EVAL] = False,
    config: Annotated[Path | None, CONFIG] = None,
    record: Annotated[Path | None, RECORD] = None,
) -> Answer | None:
    """Serve an HTTP API as MCP tools, and shape what they return to the model."""
    if not all(map(find_spec, ("fastmcp", "httpx", "starlette"))):
        raise stopped('serving needs two extras: pip install "shaping[mcp,http]"', code="DEPENDENCY_UNAVAILABLE")
    if not openapi and not scan:
        raise stopped("give --openapi or --scan: there is nothing to serve")
    address = http if api is None else api
    place = None if address is None or only_list else free_address(address)
    recorder = None if record is None else Recorder(record)
    shaper = Shaper(config, expandable=True, recorder=recorder if api is not None else None)
    registry = Registry(shaper=shaper, allow_eval=allow_eval or shaper.loaded_config.config.allow_eval)
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
    except Exception as problem:
        # Whatever the HTTP client calls a document that could not be had.
        if not type(problem).__module__.startswith("httpx"):
            raise
        raise stopped(f"the document could not be fetched: {problem}", 1, code="UNAVAILABLE") from None


def _chosen(registry: Registry, choice: OperationFilter, limit: int | None) -> list[Spec]:
    found = registry.list()
    if not found:
        raise stopped("no operations were found: there is nothing to serve", 1, code="OPERATION_NOT_FOUND")
    specs = select_operations(found, choice, limit=limit)
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

    from shaping.operations.mcp_server import mcp_server, run_http  # noqa: PLC0415 (an extra)

    # FastMCP prints a trace for every failed call; the client is told in its own channel.
    logging.getLogger("fastmcp").setLevel(logging.CRITICAL)
    logging.basicConfig(stream=sys.stderr, format="shaping: %(message)s", level=logging.WARNING)
    server = mcp_server(registry, specs, typed=typed, recorder=recorder)
    if place is None:
        server.run("stdio", show_banner=False)
        return

    host, port = place
    typer.echo(f"serving http://{host}:{port}/mcp", err=True)
    run_http(server, host, port)


def _serve_api(registry: Registry, specs: list[Spec], place: tuple[str, int], *, no_token: bool) -> None:
    from shaping.operations.http_api import http_app, serve_api  # noqa: PLC0415 (an extra)

    host, port = place
    changing = any(spec.state_changing or spec.operation_type == "eval" for spec in specs)
    token = None if no_token or not changing else os.environ.get("SHAPING_SERVE_TOKEN") or token_urlsafe(24)
    typer.echo(f"serving http://{host}:{port}/operations{f'?token={token}' if token else ''}", err=True)
    # Bound to every address, the server is reached by names that it cannot know.
    everywhere = host in {"0.0.0.0", "::"}  # noqa: S104 (compared, not bound)
    app = http_app(registry, specs, hosts=["*" if everywhere else f"{host}:{port}"], token=token)
    serve_api(app, host, port)
