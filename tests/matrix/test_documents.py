"""The documents' own example envelopes, as a tool or a program gives them, through every surface and profile."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from mcp.server.mcpserver import MCPServer

from shaping import Shaper, ShapingMiddleware, shape_server
from tests.envelope.test_documents import ENVELOPES, meaning

SHAPING = [sys.executable, "-m", "shaping"]
ECHO = Path(__file__).parents[1] / "servers" / "echo_server.py"
PROFILES = pytest.mark.parametrize("profile", ["minimal", "standard", "debug"])

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


async def results(server: Any, calls: dict[str, dict[str, Any]], tool: str) -> dict[str, Any]:
    """Call a tool once with each of the arguments, and give the results as they stand on the wire."""
    async with Client(server) as client:
        await client.list_tools()
        found = {name: await client.call_tool_mcp(tool, arguments) for name, arguments in calls.items()}
    return {
        name: {**result.model_dump(mode="json", by_alias=True, exclude_none=True), "isError": bool(result.is_error)}
        for name, result in found.items()
    }


def differing(found: dict[str, Any]) -> dict[str, Any]:
    """List the envelopes whose meaning is another one than it was."""
    pairs = {name: (meaning(found[name]), meaning(wire)) for name, wire in ENVELOPES.items()}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def by_name() -> dict[str, dict[str, Any]]:
    return {name: {"name": name} for name in ENVELOPES}


@PROFILES
@pytest.mark.parametrize("kind", ["middleware", "shape_server"])
async def test_in_a_servers_own_process(kind: str, profile: str) -> None:
    shaper = Shaper({"global": {"profile": profile}}, expandable=True)
    server: Any = FastMCP("s") if kind == "middleware" else MCPServer("s")

    @server.tool()  # type: ignore[untyped-decorator]  # either framework's
    def example(name: str) -> dict[str, Any]:
        """Answer in an envelope of a document's."""
        return dict(ENVELOPES[name])

    if kind == "middleware":
        server.add_middleware(ShapingMiddleware(shaper=shaper))
    else:
        shape_server(server, shaper=shaper)
    assert differing(await results(server, by_name(), "example")) == {}


@PROFILES
async def test_through_the_proxy(profile: str) -> None:
    calls = {
        name: {"result": {"content": [{"type": "text", "text": json.dumps(wire)}]}} for name, wire in ENVELOPES.items()
    }
    proxy = StdioTransport(SHAPING[0], [*SHAPING[1:], "proxy", "--profile", profile, "--", sys.executable, str(ECHO)])
    assert differing(await results(proxy, calls, "echo")) == {}


@PROFILES
@pytest.mark.parametrize("name", ENVELOPES)
def test_printed_by_a_program(name: str, profile: str, tmp_path: Path) -> None:
    (tmp_path / "envelope.json").write_text(json.dumps(ENVELOPES[name]))
    words = [*SHAPING, "run", "--json", "--profile", profile, "--", "cat", "envelope.json"]
    done = subprocess.run(words, capture_output=True, check=False)
    assert meaning(done.stdout) == meaning(ENVELOPES[name])
