"""What the proxy saves on real servers of npm and PyPI, and whether it changes an answer.

`python -m benchmarks.servers [FOLDER [NAME...]]`
`servers.json` lists the servers, how they are started, and calls that agents make, also some that fail. They are
installed by name into the folder, once. Each is called directly and through `shaping proxy` without any config, by the
same client with the same arguments, on the same fresh data. FOLDER/answers holds both answers to each call, to be read.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import anyio
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import Implementation

from benchmarks.results import markdown_table, write_section
from benchmarks.server_data import services, write_data
from shaping.tokens import exact

PLACE: Final = Path(__file__).parents[1] / ".cache" / "benchmark-servers"
CLIENT: Final = "inspector-client"  # of which nothing is known
_SECONDS: Final = 120  # for all calls of one server
_AT_ONCE: Final = 2
_WORD: Final = re.compile(r"[^\W_]{3,}")


class Reply(NamedTuple):
    """The result of one call as it was on the wire, or the words of the failure, and how long it took."""

    tool: str
    result: dict[str, Any] | None
    failure: str
    seconds: float

    @property
    def failed(self) -> bool:
        """Whether a model is told that the call failed."""
        return self.result is None or self.result.get("isError") is True

    @property
    def texts(self) -> str:
        """The text of its blocks, or of the failure."""
        blocks = (self.result or {}).get("content") or ()
        return "\n".join([self.failure, *(str(block["text"]) for block in blocks if block["type"] == "text")]).strip()

    @property
    def structure(self) -> str:
        """The structured content as JSON."""
        found = (self.result or {}).get("structuredContent")
        return "" if found is None else json.dumps(found, ensure_ascii=False)


class Session(NamedTuple):
    """What one client got of a server."""

    seconds: float  # until it was initialized
    definitions: str  # the tools as they were listed
    replies: list[Reply]


def install(servers: list[dict[str, Any]], place: Path) -> None:
    """Install the servers, those of npm together and those of PyPI each in an environment of its own."""
    place.mkdir(parents=True, exist_ok=True)
    npm = [server["npm"] for server in servers if "npm" in server and not _package(place, server["npm"]).exists()]
    if npm:
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--legacy-peer-deps"]
        subprocess.run(["npm", "i", *options, *npm], cwd=place, check=True)
    for server in servers:
        venv = place / f"venv-{server.get('pypi')}"
        if "pypi" in server and not venv.exists():
            subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
            needed = [server["pypi"], *([server["needs"]] if "needs" in server else [])]
            subprocess.run([str(venv / "bin/pip"), "install", "-q", *needed], check=True)


def _package(place: Path, name: str) -> Path:
    return place / "node_modules" / name / "package.json"


def _command(place: Path, server: dict[str, Any]) -> list[str]:
    program = server.get("program")
    if "pypi" in server:
        return [str(place / f"venv-{server['pypi']}" / "bin" / (program or server["pypi"]))]
    package = _package(place, server["npm"])
    programs = json.loads(package.read_text(encoding="utf-8"))["bin"]
    path = programs if isinstance(programs, str) else programs[program or next(iter(programs))]
    return ["node", str(package.parent / path)]


def _version(place: Path, server: dict[str, Any]) -> str:
    if "npm" in server:
        return str(json.loads(_package(place, server["npm"]).read_text(encoding="utf-8"))["version"])
    name = re.sub(r"[-_.]+", "[-_.]", server["pypi"])
    found = sorted((place / f"venv-{server['pypi']}").glob(f"lib/python*/site-packages/{name}-*.dist-info"))
    return found[0].name.removesuffix(".dist-info").rpartition("-")[2] if found else "?"


async def ask(command: list[str], server: dict[str, Any], folder: Path, client: str) -> Session:
    """Start a server, and return its answers to the calls, as they are on the wire."""
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=server.get("env"), cwd=folder)
    about = Implementation(name=client, version="1.0.0")
    with (folder / "log").open("w") as log, anyio.fail_after(_SECONDS):
        began = time.perf_counter()
        async with (
            stdio_client(parameters, errlog=log) as streams,
            ClientSession(*streams, client_info=about) as session,
        ):
            await session.initialize()
            ready = time.perf_counter() - began
            tools = (await session.list_tools()).model_dump_json(by_alias=True, exclude_none=True)
            return Session(ready, tools, [await _call(session, *call) for call in server["calls"]])


async def _call(session: ClientSession, tool: str, arguments: dict[str, Any]) -> Reply:
    began = time.perf_counter()
    try:
        answer = await session.call_tool(tool, arguments)
    except Exception as fault:  # noqa: BLE001 (a client refuses an answer in many ways)
        return Reply(tool, None, str(fault) or repr(fault), time.perf_counter() - began)
    wire = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
    return Reply(tool, wire, "", time.perf_counter() - began)


class Compared(NamedTuple):
    """One call, direct and through the proxy, in tokens."""

    server: str
    tool: str
    both: int  # as sent, by both channels
    text: int  # as sent, the text alone
    shaped: int  # as the proxy sends it: the text, which clients show
    beside: int  # its structured content, where that goes beside the text
    faults: tuple[str, ...]


def compare(server: str, direct: Reply, proxied: Reply) -> Compared:
    """Count one call, and name what a user would complain about."""
    text = exact(direct.texts)
    both = text + (exact(direct.structure) if direct.structure else 0)
    shaped = exact(proxied.texts or proxied.structure)
    faults = []
    if proxied.failed != direct.failed:
        faults.append("fails" if proxied.failed else "fails no more")
    if shaped > both + (8 if direct.failed else 0):
        faults.append(f"dearer by {shaped - both}")
    beside = exact(proxied.structure) if proxied.texts and proxied.structure else 0
    return Compared(server, direct.tool, both, text, shaped, beside, tuple(faults))


def gone(direct: Reply, proxied: Reply) -> list[str]:
    """Return the words of an answer that its shaped form does not have: names that are said once, and noise."""
    kept = set(_WORD.findall(proxied.texts + proxied.structure))
    return sorted(set(_WORD.findall(direct.texts + direct.structure)) - kept)


def _row(name: str, number: str, compared: list[Compared]) -> tuple[str, ...]:
    both, text, shaped = (sum(getattr(one, which) for one in compared) for which in ("both", "text", "shaped"))
    saved = [f"{100 * (1 - shaped / before):.0f}%" if shaped <= before else "-" for before in (both, text)]
    faults = "; ".join(f"{one.tool} {fault}" for one in compared for fault in one.faults)
    return name, number, str(len(compared)), f"{both:,}", f"{text:,}", f"{shaped:,}", *saved, faults


class Run:
    """One run over all servers: what was compared, and how long things took."""

    def __init__(self, place: Path, client: str = CLIENT) -> None:
        self.place, self.client = place, client
        self.rows: dict[str, tuple[str, ...]] = {}
        self.compared: list[Compared] = []
        self.silent: list[str] = []
        self.starts: list[float] = []
        self.calls: list[float] = []

    async def all(self, listed: list[dict[str, Any]]) -> None:
        """Ask all servers, a few at once."""
        limit = anyio.CapacityLimiter(_AT_ONCE)
        async with anyio.create_task_group() as group:
            for server in listed:
                group.start_soon(self._one, server, limit)

    async def _one(self, server: dict[str, Any], limit: anyio.CapacityLimiter) -> None:
        async with limit:
            name = server.get("npm") or server["pypi"]
            folder = self.place / "runs" / name.replace("/", "-")
            server = json.loads(json.dumps(server).replace("{data}", str(folder)))
            command = [*_command(self.place, server), *server.get("args", [])]
            try:
                direct = await self._fresh(command, server, folder)
                proxy = [sys.executable, "-m", "shaping", "proxy", "--", *command]
                proxied = await self._fresh(proxy, server, folder)
            except (Exception, BaseExceptionGroup) as fault:  # noqa: BLE001 (a server that does not start is named)
                print(name, repr(fault)[:300], (folder / "log").read_text()[-600:], file=sys.stderr)
                self.silent.append(name)
                return
            pairs = list(zip(direct.replies, proxied.replies, strict=True))
            compared = [compare(name, *pair) for pair in pairs]
            self.rows[name] = _row(name, _version(self.place, server), compared)
            self.compared += compared
            self.starts.append(proxied.seconds - direct.seconds)
            self.calls += [ours.seconds - theirs.seconds for theirs, ours in pairs]
            self._write(name, pairs, compared)
            print(*self.rows[name], sep="  ")

    async def _fresh(self, command: list[str], server: dict[str, Any], folder: Path) -> Session:
        shutil.rmtree(folder, ignore_errors=True)
        await anyio.to_thread.run_sync(shutil.copytree, self.place / "data", folder)
        environment = {**server.get("env", {}), "XDG_CACHE_HOME": str(folder / "cache")}
        return await ask(command, {**server, "env": environment}, folder, self.client)

    def _write(self, name: str, pairs: list[tuple[Reply, Reply]], compared: list[Compared]) -> None:
        folder = self.place / "answers"
        folder.mkdir(exist_ok=True)
        calls = [
            {
                **counted._asdict(),
                "direct": direct.result or direct.failure,
                "proxied": proxied.result or proxied.failure,
                "gone": gone(direct, proxied),
            }
            for (direct, proxied), counted in zip(pairs, compared, strict=True)
        ]
        text = json.dumps(calls, ensure_ascii=False, indent=1)
        (folder / f"{name.replace('/', '-')}.json").write_text(text, encoding="utf-8")


def main(place: Path = PLACE, *names: str) -> None:
    """Install, ask and compare all servers, or those named, and write the section of RESULTS.md of all."""
    listed = json.loads((Path(__file__).parent / "servers.json").read_text(encoding="utf-8"))
    place = place.absolute()
    install(listed, place)
    chosen = [server for server in listed if not names or (server.get("npm") or server["pypi"]) in names]
    repository = write_data(place / "data", place)
    run = Run(place)
    with services(place, place / "data") as there:
        text = json.dumps(chosen).replace("{repo}", str(repository))
        for name, value in there.items():
            text = text.replace(f"{{{name}}}", value)
        anyio.run(run.all, json.loads(text))
    rows = [run.rows[name] for server in listed if (name := server.get("npm") or server["pypi"]) in run.rows]
    total = _row("**all**", "", run.compared)
    print(*total, f"silent: {run.silent}", sep="  ")
    if names:
        return
    median = statistics.median(100 * (1 - one.shaped / one.both) for one in run.compared if one.both)
    dearer = sum(any(fault.startswith("dearer") for fault in one.faults) for one in run.compared)
    fails = sum("fails" in one.faults for one in run.compared)
    beside = sum(one.beside for one in run.compared)
    starts, calls = (1000 * statistics.median(found) for found in (run.starts, run.calls))
    without = f" Did not answer here: {', '.join(run.silent)}." if run.silent else ""
    write_section(
        "Real servers",
        "Each server is called directly and through the proxy without any config, by the same client. Tokens of all"
        " answers as sent by both channels, of their text alone, and of the text that the proxy sends; what that saves"
        " of both channels and of the text. Where structured content says more than the text, shaped text costs more"
        f" than the text alone (-). Beside the text go {beside:,} tokens of structured content that MCP Apps draw. The"
        f" median answer saves {median:.0f}% of both channels. Calls that fail only through the proxy: {fails}; answers"
        f" that are dearer than both channels: {dearer} of {len(run.compared)}; some servers never answer twice the"
        f" same. At the median the proxy adds {starts:.0f} ms to a server's start and {calls:.1f} ms to a call, on a"
        f" machine that is busy.{without}\n\n"
        + markdown_table(
            ("server", "version", "calls", "both channels", "text", "shaped", "of both", "of text", "differs"),
            [*rows, total],
        ),
        recipe={
            "servers": "benchmarks/servers.json, installed by name",
            "tokenizer": "o200k_base",
            "client": f"mcp {version('mcp')}, which calls itself {CLIENT}; none that shaping knows",
        },
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=PLACE, help="where the packages are installed")
    parser.add_argument("package", nargs="*", help="a package to ask; without one, all are, and RESULTS.md is written")
    options = parser.parse_args()
    main(options.folder, *options.package)
