"""Every server behind the proxy, with every client in front: list, filter, choose a profile, fail well."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fastmcp import Client as FastMCPClient
from fastmcp.client.transports import StdioTransport
from mcp import Client as SDKClient, StdioServerParameters
from mcp.shared.exceptions import MCPError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).parent
SERVERS = HERE / "servers.py"
PACKAGES = "node_modules/@modelcontextprotocol"
NODE_SERVERS = ("everything", "filesystem")
CLIENTS = ("python-sdk", "fastmcp", "typescript-1", "typescript-2", "inspector")
PROFILES = ("minimal", "standard", "debug")
CONFIG = {
    "global": {"typed": True},
    "tool_overrides": {
        "list_issues": {"include_only": ["total", "items[].number", "items[].user.login"]},
        "get-structured-content": {"exclude_fields": ["humidity"]},
        "read_text_file": {"rename": {"content": "text"}},
    },
}
ISSUES_KEPT = {
    "total": 2,
    "items": [{"number": 1, "user": {"login": "ada"}}, {"number": 2, "user": {"login": "bob"}}],
}
ISSUES_RAW = {
    "total": 2,
    "items": [
        {
            "number": 1,
            "title": "First",
            "state": "open",
            "user": {"login": "ada", "id": 1},
            "body": None,
            "labels": [],
        },
        {
            "number": 2,
            "title": "Second",
            "state": "closed",
            "user": {"login": "bob", "id": 2},
            "body": "text",
            "labels": ["bug"],
        },
    ],
}
ISSUES_PRUNED = {
    "total": 2,
    "items": [
        {key: value for key, value in ISSUES_RAW["items"][0].items() if key not in {"body", "labels"}},  # type: ignore[index]  # written out above
        ISSUES_RAW["items"][1],  # type: ignore[index]  # the same
    ],
}
WEATHER = {"temperature": 33, "conditions": "Cloudy"}
WEATHER_RAW = {**WEATHER, "humidity": 82}


class Cell:
    """One server, and what is expected of its tools."""

    def __init__(self, server: str, tmp: Path, project: Path | None) -> None:
        self.server = server
        self.config = tmp / "response_config.json"
        self.config.write_text(json.dumps(CONFIG))
        self.data = tmp / "data"
        self.data.mkdir()
        (self.data / "a.txt").write_text("hello")
        self.project = project

    @property
    def command(self) -> list[str]:
        if self.server == "everything":
            return ["node", str(self._package("server-everything", "dist/index.js")), "stdio"]
        if self.server == "filesystem":
            return ["node", str(self._package("server-filesystem", "dist/index.js")), str(self.data)]
        return [sys.executable, str(SERVERS), self.server]

    def proxy(self) -> list[str]:
        start = [sys.executable, "-m", "shaping"]
        # A server may take its time: a busy machine starts several programs at once here.
        return [*start, "proxy", "--start-timeout", "600", "--config", str(self.config), "--", *self.command]

    @property
    def filtered(self) -> tuple[dict[str, Any], dict[str, Any], str]:
        """A call of a tool whose schema requires what the config filters out, its outcome, and what is gone."""
        if self.server == "everything":
            return _call("get-structured-content", location="New York"), WEATHER, "humidity"
        if self.server == "filesystem":
            return _call("read_text_file", path=str(self.data / "a.txt")), {"text": "hello"}, "content"
        return _call("list_issues"), ISSUES_KEPT, "state"

    def profiled(self, profile: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """A call, and its outcome under a profile; debug ignores filters."""
        if self.server == "everything":
            return _call("get-structured-content", location="New York"), WEATHER_RAW if profile == "debug" else WEATHER
        if self.server == "filesystem":
            return _call("list_directory", path=str(self.data)), {"content": "[FILE] a.txt"}
        return _call("whole_issues"), ISSUES_RAW if profile == "debug" else ISSUES_PRUNED

    @property
    def failing(self) -> tuple[dict[str, Any], str]:
        """A call that fails, and the code it should fail with."""
        if self.server == "everything":
            return _call("echo"), "BAD_ARGUMENT"
        if self.server == "filesystem":
            return _call("read_text_file", path=str(self.data / "missing.txt")), "FILE_NOT_FOUND"
        return _call("fail"), "FILE_NOT_FOUND"

    def _package(self, name: str, script: str) -> Path:
        assert self.project is not None
        return self.project / PACKAGES / name / script


def _call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def under(profile: str, call: dict[str, Any]) -> dict[str, Any]:
    return {**call, "_meta": {"shaping/profile": profile}}


def run_client(client: str, server: list[str], calls: list[dict[str, Any] | None], project: Path | None) -> list[Any]:
    """Run calls (None lists the tools) through one client and give each outcome in its wire form."""
    if client == "python-sdk":
        return asyncio.run(_with_sdk(server, calls))
    if client == "fastmcp":
        return asyncio.run(_with_fastmcp(server, calls))
    assert project is not None
    steps = [{"list": True} if call is None else {"call": call} for call in calls]
    spec = {"server": {"command": server[0], "args": server[1:], "env": dict(os.environ)}, "steps": steps}
    script = project / f"client{client[-1]}.mjs"
    return list(json.loads(_output(["node", str(script), json.dumps(spec)])))


async def _with_sdk(server: list[str], calls: list[dict[str, Any] | None]) -> list[Any]:
    parameters = StdioServerParameters(command=server[0], args=server[1:], env=dict(os.environ))
    async with SDKClient(parameters) as client:
        return [await _outcome(_sdk_step(client, call)) for call in calls]


async def _sdk_step(client: SDKClient, call: dict[str, Any] | None) -> Any:
    if call is None:
        return await client.list_tools()
    return await client.call_tool(call["name"], call["arguments"], meta=call.get("_meta"))


async def _with_fastmcp(server: list[str], calls: list[dict[str, Any] | None]) -> list[Any]:
    transport = StdioTransport(server[0], server[1:], env=dict(os.environ), keep_alive=False)
    async with FastMCPClient(transport) as client:
        return [await _outcome(_fastmcp_step(client, call)) for call in calls]


async def _fastmcp_step(client: FastMCPClient[Any], call: dict[str, Any] | None) -> Any:
    if call is None:
        return await client.list_tools_mcp()
    # The plain session would not build the typed object that users of this client work with.
    result = await client.call_tool(call["name"], call["arguments"], raise_on_error=False, meta=call.get("_meta"))
    wire = {"content": [block.model_dump(by_alias=True) for block in result.content], "_meta": result.meta}
    structured = {} if result.structured_content is None else {"structuredContent": result.structured_content}
    typed = None if result.data is None else type(result.data).__name__
    return {**wire, **structured, "isError": result.is_error, "typed": typed}


async def _outcome(step: Any) -> Any:
    try:
        result = await step
    except (MCPError, RuntimeError) as error:
        return {"error": str(error)}
    if isinstance(result, dict):
        return {"ok": result}
    return {"ok": result.model_dump(mode="json", by_alias=True, exclude_none=True)}


def _with_inspector(url: str, call: dict[str, Any] | None, project: Path) -> Any:
    command = ["node", str(project / PACKAGES / "inspector-cli/build/cli.js"), "--cli", url]
    if call is None:
        return {"ok": json.loads(_output([*command, "--method", "tools/list"]))}
    command += ["--method", "tools/call", "--tool-name", call["name"]]
    for name, value in call["arguments"].items():
        command += ["--tool-arg", f"{name}={value}"]
    return {"ok": json.loads(_output(command))}


@contextmanager
def served(proxy: list[str], port: int, until_it_listens: Callable[..., None]) -> Iterator[str]:
    """Serve a proxy over HTTP for as long as the block runs."""
    at = proxy.index("--")
    command = [*proxy[:at], "--http", str(port), *proxy[at:]]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            until_it_listens(process, port)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


def _output(command: list[str]) -> str:
    for _ in range(3):
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
        if "timed out" not in done.stderr:  # the inspector waits a minute, which a busy machine may exceed
            break
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(params=["fastmcp", "sdk", "lowlevel", *NODE_SERVERS])
def server(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def project(server: str, client: str, request: pytest.FixtureRequest) -> Path | None:
    needs_node = server in NODE_SERVERS or client not in {"python-sdk", "fastmcp"}
    return request.getfixturevalue("node_project") if needs_node else None


@pytest.fixture
def outcomes(
    cell: Cell,
    client: str,
    project: Path | None,
    free_port: Callable[[], int],
    until_it_listens: Callable[..., None],
) -> dict[str, Any]:
    """What one client sees of one server: its tools, a filtered call, a failing one, and calls under profiles."""
    calls = {"tools": None, "filtered": cell.filtered[0], "failing": cell.failing[0]}
    if client != "inspector":
        calls |= {profile: under(profile, cell.profiled(profile)[0]) for profile in PROFILES}
        return dict(zip(calls, run_client(client, cell.proxy(), list(calls.values()), project), strict=True))
    # It cannot send `_meta`, so it asks as an agent would: by the argument that tools have where the config says so.
    cell.config.write_text(json.dumps(CONFIG | {"agent_controls": True}))
    assert project is not None
    # One profile, because each of its calls is a process of its own.
    call = cell.profiled("debug")[0]
    calls["debug"] = {**call, "arguments": {**call["arguments"], "_shape": json.dumps({"profile": "debug"})}}
    with served(cell.proxy(), free_port(), until_it_listens) as url:
        return {name: _with_inspector(url, call, project) for name, call in calls.items()}


@pytest.fixture
def cell(server: str, tmp_path: Path, project: Path | None) -> Cell:
    return Cell(server, tmp_path, project)


def test_every_client_takes_what_every_server_gives(cell: Cell, client: str, outcomes: dict[str, Any]) -> None:
    call, kept, gone = cell.filtered
    [schema] = [tool["outputSchema"] for tool in outcomes["tools"]["ok"]["tools"] if tool["name"] == call["name"]]
    assert gone not in json.dumps(schema.get("properties"))
    assert outcomes["filtered"]["ok"]["structuredContent"] == kept
    if client == "fastmcp":
        assert outcomes["filtered"]["ok"]["typed"] is not None
    failed, code = outcomes["failing"]["ok"], cell.failing[1]
    assert failed["isError"] is True
    assert "structuredContent" not in failed
    assert failed["_meta"]["shaping/error"]["code"] == code
    assert failed["content"][0]["text"].startswith(f"{code}: ")
    for profile in ("debug",) if client == "inspector" else PROFILES:
        result = outcomes[profile]["ok"]
        assert profile != "debug" or result["_meta"]["shaping"]["profile"] == profile
        assert result["structuredContent"] == cell.profiled(profile)[1]
