"""The ledger's totals equal a recount of the bytes on both sides of the proxy, with three servers of other people."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any

import mcp_types
import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from shaping.ledger import LedgerDatabase, add_up
from shaping.ledger.entries import group
from shaping.tokens import exact
from tests.matrix.test_bytes import TEE

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio
SERVERS = ("everything", "filesystem", "memory")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def teed(folder: Path, name: str, *command: str) -> list[str]:
    """Write a command that copies what goes into and comes out of another to files."""
    return [sys.executable, "-c", TEE, str(folder / f"{name}.in"), str(folder / f"{name}.out"), *command]


def results(folder: Path, name: str) -> list[tuple[str, dict[str, Any]]]:
    """Read the results of tools off the wire, each with the name of its tool."""
    asked = map(json.loads, (folder / f"{name}.in").read_text().splitlines())
    tools = {message["id"]: message["params"]["name"] for message in asked if message.get("method") == "tools/call"}
    said = map(json.loads, (folder / f"{name}.out").read_text().splitlines())
    return [(tools[message["id"]], message["result"]) for message in said if message.get("id") in tools]


def tokens(result: dict[str, Any]) -> int:
    """Count what a client that shows text shows of a result."""
    return exact("\n".join(block["text"] for block in result["content"]))


def definition(folder: Path) -> int:
    """Count the definition of our tool as the client was sent it."""
    said = map(json.loads, (folder / "client.out").read_text().splitlines())
    lists = [message["result"]["tools"] for message in said if "tools" in message.get("result", {})]
    (own,) = [tool for tool in lists[0] if tool["name"] == "shaping_expand"]
    return exact(json.dumps({key: own[key] for key in ("name", "description", "inputSchema")}, separators=(",", ":")))


async def test_the_ledger_equals_a_recount_of_three_real_servers_from_both_sides(
    node_project: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for number in range(40):
        (data / f"note{number}.txt").write_text(f"line one of {number}\n" * number)
    (data / "records.json").write_text(json.dumps([{"id": n, "owner": None, "tag": "x"} for n in range(60)]))
    packages = node_project / "node_modules/@modelcontextprotocol"
    arguments = {"everything": "stdio", "filesystem": str(data), "memory": ""}
    listed = {}
    for name in SERVERS:
        command, *rest = teed(tmp_path, name, "node", f"{packages}/server-{name}/dist/index.js", arguments[name])
        listed[name] = {"command": command, "args": rest, "env": {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": listed}))
    shaping = [sys.executable, "-m", "shaping", "proxy", "--start-timeout", "600", "--servers"]
    command, *rest = teed(tmp_path, "client", *shaping, str(tmp_path / "servers.json"))
    environ = {**os.environ, "SHAPING_LEDGER": str(tmp_path / "ledger.sqlite")}
    transport = StdioTransport(command, rest, env=environ, keep_alive=False, log_file=tmp_path / "stderr.txt")
    entities = [{"name": f"part {n}", "entityType": "part", "observations": [f"weighs {n} g"]} for n in range(30)]
    async with Client(transport, client_info=mcp_types.Implementation(name="Zed", version="1")) as client:

        async def call(tool: str, **arguments: Any) -> str:
            result = await client.call_tool(tool, arguments, raise_on_error=False)
            return "\n".join(getattr(block, "text", "") for block in result.content)

        await client.list_tools()
        await call("echo", message="hello")
        await call("get-sum", a=2, b=40)
        await call("list_directory", path=str(data))
        await call("read_text_file", path=str(data / "no such file"))
        records = await call("read_text_file", path=str(data / "records.json"))
        await call("create_entities", entities=entities)
        graph = await call("read_graph")
        result = await client.call_tool("read_graph", {}, meta={"shaping/max_tokens": 200})
        ref = re.search(r"ref=(r_\w+)", result.content[0].text)
        assert ref is not None, (records, graph, result)
        await call("shaping_expand", ref=ref[1], sql="SELECT count(*) FROM entities")
        await call("shaping_expand", ref=ref[1], search="part 29")
    found = LedgerDatabase(tmp_path / "ledger.sqlite").entries()
    total = add_up(found)
    sent = {name: [tokens(result) for _, result in results(tmp_path, name)] for name in SERVERS}
    tools = {name: {tool for tool, _ in results(tmp_path, name)} for name in SERVERS}
    got = results(tmp_path, "client")
    shown = {name: [tokens(result) for tool, result in got if tool in tools[name]] for name in SERVERS}
    asked = [tokens(result) for tool, result in got if tool == "shaping_expand"]
    assert [len(sent[name]) for name in SERVERS] == [len(shown[name]) for name in SERVERS] == [2, 3, 3]
    assert len(asked) == 2
    assert total.before == sum(map(sum, sent.values()))
    assert total.after == sum(map(sum, shown.values())) + sum(asked) + definition(tmp_path)
    assert (total.calls, total.expansions, total.error) == (8, 2, 0.0)
    by_server = group([entry for entry in found if entry.kind == "call"], "server")
    assert {name: (one.before, one.after) for name, one in by_server.items()} == {
        name: (sum(sent[name]), sum(shown[name])) for name in SERVERS
    }
    assert total.before > total.after
    assert (tmp_path / "stderr.txt").read_text().splitlines()[-1] == str(total)
