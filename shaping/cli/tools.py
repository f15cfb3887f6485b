"""`shaping tools` and `shaping manifest`: what a server's tool definitions cost, and what this program can do."""

import asyncio
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from shaping.apps import manifest_of
from shaping.cli.app import build
from shaping.cli.output import CONFIG, Answer, Stopped, columns
from shaping.cli.proxy import COMMAND, HEADER, OAUTH, SERVERS, START_TIMEOUT, TRANSPORT, URL, quiet_logs, servers_of
from shaping.clients import UNKNOWN_CLIENT
from shaping.errors import make_error
from shaping.mcp.tool_entries import tool_entry
from shaping.proxy.outage import describe
from shaping.proxy.serving import print_line
from shaping.proxy.upstream import Receiver, ServerFactory, ServerUnavailableError, connected
from shaping.response import counted
from shaping.settings.files import bundled
from shaping.settings.plan import full_name
from shaping.shaper import Shaper
from shaping.tokens import exact

ETAG = typer.Option(
    metavar="TAG", help="The etag of an earlier manifest: an unchanged one is reported as not_modified."
)


def tools(
    command: Annotated[list[str] | None, COMMAND] = None,
    *,
    url: Annotated[str | None, URL] = None,
    transport: Annotated[str | None, TRANSPORT] = None,
    header: Annotated[list[str] | None, HEADER] = None,
    oauth: Annotated[bool, OAUTH] = False,
    servers: Annotated[Path | None, SERVERS] = None,
    start_timeout: Annotated[float | None, START_TIMEOUT] = None,
    config: Annotated[Path | None, CONFIG] = None,
) -> Answer:
    """Print what each tool definition costs in tokens, as the server gives it and as the config shows it."""
    quiet_logs()
    named = servers_of(command or [], url, transport, header or [], servers, oauth=oauth, seconds=start_timeout)
    found, failures = asyncio.run(_listed(named))
    if failures and not found:
        raise Stopped(make_error("UNAVAILABLE", "\n".join(failures)), 1)
    shaper = Shaper(config, watch=False)
    costs = sorted((_counted(tool, server, shaper) for server, tool in found), key=lambda row: -row["tokens"])
    return Answer(costs, _table(costs), exit_code=1 if failures else 0)


class LogPrinter(Receiver):
    """Prints what servers log while their tools are listed."""

    def on_log_line(self, name: str, line: bytes) -> None:
        """Print a line."""
        print_line(name, line)


async def _listed(servers: list[ServerFactory]) -> tuple[list[tuple[str, dict[str, Any]]], list[str]]:
    """List the tools of all servers that answer, each with its server's name, and say why others do not."""
    found: list[tuple[str, dict[str, Any]]] = []
    failures: list[str] = []
    for make in servers:
        try:
            upstream = make()
            upstream.receiver = LogPrinter()
            async with connected(upstream) as server:
                found += [(upstream.server_of(""), tool) async for tool in server.pages("tools/list", "tools")]
        except Exception as problem:  # noqa: BLE001 - whatever keeps a server from answering, the user is told
            why = describe(problem.detail) if isinstance(problem, ServerUnavailableError) else str(problem)
            typer.echo(why, err=True)
            failures.append(why)
    return found, failures


def _counted(tool: Mapping[str, Any], server: str, shaper: Any) -> dict[str, Any]:
    plan = shaper.plan(full_name(tool["name"], server), surface="mcp")
    shown = tool_entry(tool, plan, UNKNOWN_CLIENT, shaper.loaded_config.config)
    return {"tool": tool["name"], "tokens": _cost(tool), "shown": _cost(shown.wire) if shown else 0}


def _cost(tool: Mapping[str, Any]) -> int:
    # What reaches the model of a definition; the schema of the answer stays with the client.
    seen = {name: tool[name] for name in ("name", "description", "inputSchema") if tool.get(name)}
    return exact(orjson.dumps(seen).decode())


def _table(costs: list[dict[str, Any]]) -> list[str]:
    total = {name: sum(row[name] for row in costs) for name in ("tokens", "shown")}
    rows = [*costs, {"tool": counted(len(costs), "tool"), **total}]
    names = ["tokens", *(["shown"] if any(row["tokens"] != row["shown"] for row in rows) else []), "tool"]
    return columns([names, *([row[name] for name in names] for row in rows)])


def manifest(*, etag: Annotated[str | None, ETAG] = None) -> Answer:
    """List every command with its flags, exit codes and output schema; the etag tells of changes."""
    found = our_manifest()
    same = etag == found["etag"]
    lines = [] if same else [orjson.dumps(found, option=orjson.OPT_INDENT_2).decode()]
    return Answer(None if same else found, lines, meta={"not_modified": same, "etag": found["etag"]})


def our_manifest() -> dict[str, Any]:
    """Describe our own command line; `outputs` of the bundled file are the schemas of `data` under --json."""
    told = orjson.loads(bundled("config", "commands.json"))
    exit_codes = {int(number): meaning for number, meaning in told["exit_codes"].items()}
    command = typer.main.get_command(build())
    return manifest_of(
        command, name="shaping", version=version("shaping"), outputs=told["outputs"], exit_codes=exit_codes
    )
