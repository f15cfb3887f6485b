"""Two runs of real servers with different data, recorded through the proxy: `python -m benchmarks.learning servers`.

The servers come from npm and PyPI and are installed by name into a folder of their own (`install`). A scripted agent
does in each session what agents do: it looks around, and asks for more of what it found. The runs differ in all data:
sources, repository, database, memory graph, lint report and web site are others, and so are the choices.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

PLACE: Final = Path(__file__).parents[1] / ".cache" / "servers"
NPM: Final = ("server-filesystem", "server-everything", "server-memory", "server-sequential-thinking")
PYPI: Final = ("mcp-server-git", "mcp-server-time", "mcp-server-sqlite", "mcp-server-fetch")
PACKAGES: Final = {1: "starlette", 2: "httpx"}  # whose sources each run works on
SCRIPTS: Final = {1: "levn", 2: "optionator"}  # whose sources it lints
SESSIONS: Final = 6
_STARTING_SECONDS: Final = 60
_ZONES: Final = ("Europe/Berlin", "Asia/Tokyo", "America/New_York", "Africa/Nairobi", "Australia/Perth")


def install() -> None:
    """Install the servers, once."""
    if (PLACE / "done").exists():
        return
    PLACE.mkdir(parents=True, exist_ok=True)
    names = [f"@modelcontextprotocol/{name}" for name in NPM]
    subprocess.run(["npm", "i", "--no-audit", "--no-fund", *names, "@eslint/mcp", "eslint"], cwd=PLACE, check=True)
    for name in PYPI:
        venv = PLACE / f"venv-{name}"
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        # The sqlite server is written for the SDK before 2.
        more = ["mcp<2"] if name == "mcp-server-sqlite" else []
        subprocess.run([str(venv / "bin/pip"), "install", "-q", name, *more], check=True)
    (PLACE / "done").touch()


class Workspace:
    """The data of one run."""

    def __init__(self, run: int, folder: Path) -> None:
        self.run, self.root = run, folder
        self.chance = random.Random(run)  # noqa: S311 (the same choices every time)
        shutil.rmtree(folder, ignore_errors=True)
        self.sources = folder / PACKAGES[run]
        package = find_spec(PACKAGES[run])
        assert package is not None  # noqa: S101 (both are installed with the extras)
        shutil.copytree(Path(str(package.origin)).parent, self.sources, ignore=shutil.ignore_patterns("__pycache__"))
        self._commit()
        self._fill_database()
        self._write_site()
        shutil.copytree(
            PLACE / "node_modules" / SCRIPTS[run], folder / "scripts", ignore=shutil.ignore_patterns("*.map")
        )
        (folder / "scripts" / "eslint.config.js").write_text(_ESLINT)

    def _commit(self) -> None:
        """Make a history: all files at once, then many small changes."""
        git = partial(subprocess.run, cwd=self.sources, check=True, capture_output=True)
        who = ["-c", "user.name=Ada Example", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false"]
        git(["git", "init", "-q"])
        files = sorted(self.sources.rglob("*.py"))
        for number in range(31):
            if number:
                file = self.chance.choice(files)
                lines = file.read_text().splitlines(keepends=True) or ["\n"]
                at = self.chance.randrange(len(lines))
                lines[at] = f"{lines[at].rstrip()}  # looked at in round {number}\n"
                file.write_text("".join(lines))
            message = f"Note round {number}" if number else "Import"
            git(["git", "add", "-A"])
            date = f"2026-0{self.run}-{number % 27 + 1:02d}T10:00:00"
            git(["git", *who, "commit", "-q", "--allow-empty", "-m", message, "--date", date])

    def _fill_database(self) -> None:
        with closing(sqlite3.connect(self.root / "files.sqlite")) as database, database:
            database.execute(
                "CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT, bytes INTEGER, lines INTEGER, sha256 TEXT, mode"
                " TEXT, encoding TEXT, first_line TEXT, license_url TEXT, reviewed_at TEXT)"
            )
            for number, file in enumerate(sorted(self.sources.rglob("*.py")), 100 * self.run):
                text = file.read_text()
                name, first = str(file.relative_to(self.sources)), text.split("\n", 1)[0]
                digest, url = f"{self.chance.getrandbits(256):064x}", f"https://example.com/licenses/{number}/view"
                row = (number, name, len(text), text.count("\n"), digest, "0644", "utf-8", first, url, None)
                database.execute("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def _write_site(self) -> None:
        """Write a web site of an API: an index of records, and a page for each."""
        site = self.root / "site"
        site.mkdir()
        for start in range(SESSIONS):
            records = [self._product(100 * start + number) for number in range(25)]
            (site / f"index{start}.json").write_text(json.dumps({"items": records, "next": None}))
            for record in records:
                (site / f"{record['slug']}.json").write_text(json.dumps(record))

    def _product(self, number: int) -> dict[str, Any]:
        word = self.chance.choice(("lamp", "chair", "shelf", "desk", "stool", "vase"))
        return {
            "id": self.run * 10_000 + number,
            "slug": f"{word}-{self.run}-{number}",
            "name": f"{word.title()} no. {number}",
            "price": {"amount": self.chance.randrange(900) + 99, "currency": "EUR", "formatted": None},
            "stock": self.chance.randrange(40),
            "description": " ".join(self.chance.choice(_PROSE) for _ in range(40)),
            "images": [{"url": f"https://cdn.example.com/{number}/{size}.jpg", "w": size} for size in (64, 256, 1024)],
            "_links": {
                "self": {"href": f"/api/v2/products/{number}"},
                "reviews": {"href": f"/api/v2/reviews/{number}"},
            },
            "etag": f"{self.chance.getrandbits(128):032x}",
        }


_PROSE: Final = ("oak", "brushed", "steel", "made", "in", "small", "series", "warm", "light", "for", "quiet", "rooms")
_ESLINT: Final = """\
export default [{ rules: {
  "no-var": "error", "prefer-const": "error", "eqeqeq": "error", "no-unused-vars": "error", "curly": "error",
  "no-bitwise": "error", "no-plusplus": "error",
} }];
"""


def servers(work: Workspace) -> dict[str, Any]:
    """Return the servers of a run, as a client lists them."""
    node = PLACE / "node_modules" / ".bin"
    memory = {"MEMORY_FILE_PATH": str(work.root / "memory.jsonl")}
    listed: dict[str, Any] = {
        "filesystem": {"command": "node", "args": [str(node / "mcp-server-filesystem"), str(work.root)]},
        "everything": {"command": "node", "args": [str(node / "mcp-server-everything")]},
        "memory": {"command": "node", "args": [str(node / "mcp-server-memory")], "env": memory},
        "thinking": {"command": "node", "args": [str(node / "mcp-server-sequential-thinking")]},
        "eslint": {"command": "node", "args": [str(node / "mcp")]},
    }
    options = {
        "sqlite": ["--db-path", str(work.root / "files.sqlite")],
        "fetch": ["--ignore-robots-txt", "--allow-private-ips"],
    }
    for name in ("git", "time", "sqlite", "fetch"):
        program = PLACE / f"venv-mcp-server-{name}" / "bin" / f"mcp-server-{name}"
        listed[name] = {"command": str(program), "args": options.get(name, [])}
    return {"mcpServers": listed}


def record(run: int, folder: Path) -> Path:
    """Record one run, and return the folder of its recordings."""
    install()
    work = Workspace(run, folder / f"work{run}")
    traffic = folder / f"traffic{run}"
    shutil.rmtree(traffic, ignore_errors=True)
    handler = partial(_Quiet, directory=str(work.root / "site"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        listed = folder / f"servers{run}.json"
        listed.write_text(json.dumps(servers(work)))
        for session in range(SESSIONS):
            agent = partial(_Agent, work, session, site.server_port)
            asyncio.run(record_session(listed, traffic, lambda ask, agent=agent: agent(ask).work()))  # type: ignore[misc]  # a lambda has no types
        site.shutdown()
    return traffic


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Print nothing."""


class Ask(Protocol):
    """Calls a tool, by `server` where several have one of that name, and returns the text of its answer."""

    async def __call__(self, tool: str, *, server: str = "", **arguments: Any) -> str:
        """Call a tool."""


async def record_session(listed: Path, traffic: Path, work: Callable[[Ask], Awaitable[None]]) -> None:
    """Let a scripted agent work with listed servers through a proxy that records."""
    command = ["-m", "shaping", "proxy", "--servers", str(listed), "--record", str(traffic)]
    # Observed, the answers reach the agent as the servers sent them, and are recorded so.
    environ = {**os.environ, "SHAPING": "observe", "SHAPING_LEDGER": "off"}
    with (traffic.parent / "servers.log").open("ab") as log:
        transport = StdioTransport(sys.executable, command, env=environ, keep_alive=False, log_file=log)  # type: ignore[arg-type]  # any file
        async with Client(transport, timeout=120) as client:
            names: set[str] = set()

            async def ask(tool: str, *, server: str = "", **arguments: Any) -> str:
                own = f"{server}_{tool}"
                for _ in range(_STARTING_SECONDS):
                    if names & {own, tool}:
                        break
                    await asyncio.sleep(1)  # a server that is slow to start is not listed yet
                    names.update(tool_.name for tool_ in await client.list_tools())
                result = await client.call_tool(own if own in names else tool, arguments, raise_on_error=False)
                return "\n".join(block.text for block in result.content if hasattr(block, "text"))

            await work(ask)


class _Agent:
    """A scripted agent: what it asks for next stands in what it was answered."""

    def __init__(self, work: Workspace, session: int, port: int, ask: Ask) -> None:
        self._work, self._number, self._port, self._ask = work, session, port, ask
        self._chance = random.Random(f"{work.run}/{session}")  # noqa: S311 (the same choices every time)

    async def work(self) -> None:
        """Do the jobs of one session."""
        await self._files()
        await self._history()
        await self._database()
        await self._memory()
        await self._lint()
        await self._web()
        await self._small_talk()

    async def _files(self) -> None:
        root = str(self._work.sources)
        tree = json.loads(await self._ask("directory_tree", path=root, excludePatterns=[".git"]))
        files = [path for path in _paths(tree, root) if path.endswith(".py")]
        for path in self._chance.sample(files, 2):
            await self._ask("get_file_info", path=path)
        await self._ask("read_text_file", path=self._chance.choice(files), head=40)
        found = await self._ask("search_files", path=root, pattern="**/*.py")
        await self._ask("get_file_info", path=self._chance.choice(found.splitlines()))

    async def _history(self) -> None:
        repository = str(self._work.sources)
        log = await self._ask("git_log", repo_path=repository, max_count=20)
        commit = self._chance.choice(re.findall(r"[0-9a-f]{40}", log))
        await self._ask("git_show", repo_path=repository, revision=commit)
        await self._ask("git_status", repo_path=repository)

    async def _database(self) -> None:
        await self._ask("list_tables")
        await self._ask("describe_table", table_name="files")
        rows = await self._ask("read_query", query="SELECT * FROM files ORDER BY id LIMIT 40")
        path = self._chance.choice(re.findall(r"'path': '([^']+)'", rows))
        await self._ask("read_query", query=f"SELECT bytes, lines FROM files WHERE path = '{path}'")  # noqa: S608 (our own names)

    async def _memory(self) -> None:
        number, run = self._number, self._work.run
        names = [f"{kind}_{run}{number}{at}" for at in range(8) for kind in ("service", "team")]
        facts = [f"runs on host {run}{number}7", f"was moved in {2015 + run + number}", "is watched at night"]
        entities = [{"name": name, "entityType": name.split("_")[0], "observations": facts} for name in names]
        await self._ask("create_entities", entities=entities)
        pairs = zip(names[::2], names[1::2], strict=True)
        await self._ask(
            "create_relations", relations=[{"from": a, "to": b, "relationType": "belongs to"} for a, b in pairs]
        )
        graph = json.loads(await self._ask("read_graph"))
        chosen = self._chance.choice(graph["entities"])["name"]
        await self._ask("open_nodes", names=[chosen])

    async def _lint(self) -> None:
        files = sorted(file for file in (self._work.root / "scripts").rglob("*.js") if file.stat().st_size < 20_000)
        report = await self._ask("lint-files", filePaths=[str(self._chance.choice(files))])
        rule = re.findall(r'"ruleId":"([^"]+)"', report)
        if rule:
            await self._ask("search_files", path=str(self._work.root), pattern=f"**/{self._chance.choice(rule)}*")

    async def _web(self) -> None:
        base = f"http://127.0.0.1:{self._port}"
        index = await self._ask("fetch", url=f"{base}/index{self._number}.json", max_length=60_000, raw=True)
        slugs = re.findall(r'"slug": "([^"]+)"', index)
        if slugs:
            await self._ask("fetch", url=f"{base}/{self._chance.choice(slugs)}.json", raw=True)

    async def _small_talk(self) -> None:
        zone = self._chance.choice(_ZONES)
        now = await self._ask("get_current_time", timezone=zone)
        clock = re.search(r"T(\d\d:\d\d)", now)
        if clock:
            await self._ask("convert_time", source_timezone=zone, time=clock[1], target_timezone="UTC")
        await self._ask("get-structured-content", location="Chicago")
        await self._ask("echo", message="that is all")
        thought: dict[str, Any] = {
            "thought": "done",
            "nextThoughtNeeded": False,
            "thoughtNumber": 1,
            "totalThoughts": 1,
        }
        await self._ask("sequentialthinking", **thought)


def _paths(tree: list[dict[str, Any]], root: str) -> list[str]:
    found: list[str] = []
    for entry in tree:
        path = f"{root}/{entry['name']}"
        found += _paths(entry["children"], path) if entry["type"] == "directory" else [path]
    return found
