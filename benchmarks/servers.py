"""What shaping saves on real servers of npm and PyPI, as a client sees it: `python -m benchmarks.servers [FOLDER]`.

`servers.json` lists the servers, how they are started, and a few calls that agents make. They are installed by name
into the folder, once, and work on what every machine has: a clone of this repository, the metadata of installed
packages, and a page that pydoc writes.
"""

from __future__ import annotations

import json
import pydoc
import sqlite3
import statistics
import subprocess
import sys
import threading
from contextlib import closing
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, Final, NamedTuple

import anyio
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from benchmarks.results import markdown_table, write_section
from shaping import Shaper
from shaping.tokens import exact

ROOT: Final = Path(__file__).parents[1]
PLACE: Final = ROOT / ".cache" / "benchmark-servers"
PROFILES: Final = ("minimal", "standard")
_SECONDS: Final = 90  # for all calls of one server
_COLUMNS: Final = ("name", "version", "summary", "license", "author", "requires_python", "home_page")


class QuietPages(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_: object) -> None:
        """Write nothing."""


class Answer(NamedTuple):
    """The tokens of one answer: both channels, the text alone, and shaped by each profile."""

    server: str
    both: int
    text: int
    shaped: tuple[int, ...]


def install(servers: list[dict[str, Any]], place: Path) -> None:
    """Install the servers, those of npm together and those of PyPI each in an environment of its own."""
    place.mkdir(parents=True, exist_ok=True)
    npm = [server["npm"] for server in servers if "npm" in server and not _package(place, server["npm"]).exists()]
    if npm:
        subprocess.run(["npm", "i", "--no-audit", "--no-fund", "--ignore-scripts", *npm], cwd=place, check=True)
    for server in servers:
        venv = place / f"venv-{server.get('pypi')}"
        if "pypi" in server and not venv.exists():
            subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
            needed = [server["pypi"], *([server["needs"]] if "needs" in server else [])]
            subprocess.run([str(venv / "bin/pip"), "install", "-q", *needed], check=True)


def _package(place: Path, name: str) -> Path:
    return place / "node_modules" / name / "package.json"


def _command(place: Path, server: dict[str, Any]) -> tuple[str, list[str]]:
    if "pypi" in server:
        return str(place / f"venv-{server['pypi']}" / "bin" / server["pypi"]), []
    package = _package(place, server["npm"])
    programs = json.loads(package.read_text(encoding="utf-8"))["bin"]
    return "node", [str(package.parent / (programs if isinstance(programs, str) else next(iter(programs.values()))))]


def write_data(folder: Path) -> Path:
    """Write a clone, a database, a JSON file and some pages for the servers to work on; return the clone."""
    folder.mkdir(exist_ok=True)
    for made in folder.glob("*.*"):
        made.unlink()
    repository = folder / "repository"
    if not repository.exists():
        subprocess.run(["git", "clone", "-q", str(ROOT), str(repository)], check=True)
    found = {each.metadata["Name"]: each.metadata for each in distributions()}
    rows = [{name: about.json.get(name) for name in _COLUMNS} for _, about in sorted(found.items())]
    (folder / "packages.json").write_text(json.dumps(rows), encoding="utf-8")
    with closing(sqlite3.connect(folder / "packages.db")) as database, database:
        database.execute(f"create table packages ({', '.join(f'{name} text' for name in _COLUMNS)})")
        places = ", ".join("?" * len(_COLUMNS))
        database.executemany(f"insert into packages values ({places})", [tuple(row.values()) for row in rows])  # noqa: S608 (our own names)
    (folder / "json.html").write_text(pydoc.html.page("json", pydoc.html.document(json)), encoding="utf-8")
    return repository


async def ask(server: dict[str, Any], place: Path) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    """Start a server, and return the schemas of its tools and its answers to the calls, as they are on the wire."""
    program, first = _command(place, server)
    parameters = StdioServerParameters(command=program, args=[*first, *server.get("args", [])], env=server.get("env"))
    with open("/dev/null", "w") as nowhere, anyio.fail_after(_SECONDS):  # noqa: PTH123, ASYNC230 (its log)
        async with stdio_client(parameters, errlog=nowhere) as streams, ClientSession(*streams) as session:
            await session.initialize()
            tools = {tool.name: tool.output_schema for tool in (await session.list_tools()).tools}
            answers = []
            for tool, arguments in server["calls"]:
                answer = await session.call_tool(tool, arguments)
                answers.append((tool, answer.model_dump(mode="json", by_alias=True, exclude_none=True)))
            return tools, answers


def measure(name: str, schemas: dict[str, Any], answers: list[tuple[str, dict[str, Any]]]) -> list[Answer]:
    """Count what a client that shows both channels, or the text alone, gives its model; errors are not counted."""
    shapers = [Shaper({"global": {"profile": profile}}, expandable=True) for profile in PROFILES]
    measured = []
    for tool, answer in answers:
        if answer.get("isError"):
            continue
        shaped = [each.shape_result(answer, tool=tool, schema=schemas.get(tool), relay=True) for each in shapers]
        alone = {key: value for key, value in answer.items() if key != "structuredContent"}
        measured.append(Answer(name, _cost(answer), _cost(alone), tuple(map(_cost, shaped))))
    return measured


def _cost(result: dict[str, Any]) -> int:
    texts = [str(block["text"]) for block in result["content"] if block["type"] == "text"]
    structure = result.get("structuredContent")
    return exact("\n".join([*texts, *([] if structure is None else [json.dumps(structure, ensure_ascii=False)])]))


def _row(name: str, answers: list[Answer]) -> tuple[str, ...]:
    both, text = (sum(getattr(each, channel) for each in answers) for channel in ("both", "text"))
    after = [sum(each.shaped[index] for each in answers) for index in range(len(PROFILES))]
    saved = [f"{100 * (1 - one / before):.0f}%" if one <= before else "-" for one in after for before in (both, text)]
    return name, str(len(answers)), f"{both:,}", f"{text:,}", *saved


def main(place: Path = PLACE) -> None:
    """Install, ask and measure, and write the section of RESULTS.md."""
    listed = (Path(__file__).parent / "servers.json").read_text(encoding="utf-8")
    install(json.loads(listed), place)
    data = place / "data"
    repository = write_data(data)
    handler = partial(QuietPages, directory=str(data))
    web = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    there = {"{repo}": str(repository), "{data}": str(data), "{web}": f"http://127.0.0.1:{web.server_port}"}
    for name, value in there.items():
        listed = listed.replace(name, value)
    rows, every, silent = [], [], []
    for server in json.loads(listed):
        name = server.get("npm") or server["pypi"]
        try:
            answers = measure(name, *anyio.run(ask, server, place))
        except (Exception, BaseExceptionGroup) as fault:  # noqa: BLE001 (a server that does not start here is named)
            print(name, repr(fault)[:200], file=sys.stderr)
            silent.append(name)
            continue
        rows.append(_row(name, answers))
        every += answers
    median = [statistics.median(100 * (1 - each.shaped[index] / each.both) for each in every) for index in range(2)]
    head = (
        "server",
        "answers",
        "both channels",
        "text",
        *(f"{profile}, of {of}" for profile in PROFILES for of in ("both", "text")),
    )
    table = markdown_table(head, [*rows, _row("**all**", every)])
    without = f" Did not answer here: {', '.join(silent)}." if silent else ""
    write_section(
        "Real servers",
        "Tokens of the answers that are no errors, as sent by both channels and by the text alone, and what is saved of"
        f" them. The median answer saves {median[0]:.0f}% of both channels under minimal and {median[1]:.0f}% under"
        " standard. Where structured content says more than the text, shaped text costs more than the text alone (-)."
        f"{without}\n\n{table}",
        recipe={
            "servers": "benchmarks/servers.json, installed by name",
            "tokenizer": "o200k_base",
            "client": "unknown",
        },
    )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
