"""What the ledger has of a session equals a recount of what its server sent and what its client got."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from mcp.server.mcpserver import MCPServer

from shaping.ledger import LedgerDatabase, LedgerEntry, add_up
from shaping.ledger.entries import group
from shaping.mcp.fastmcp import ShapingMiddleware
from shaping.mcp.sdk import shape_server
from shaping.tokens import exact

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).parents[1] / "servers" / "records_server.py"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def client_of(
    tmp_path: Path, name: str, server: tuple[str, ...] = ("--", sys.executable, str(SERVER)), **environ: str
) -> Client[Any]:
    """Make a client of that name, whose proxied server writes what it sends to a file."""
    files = {"SHAPING_LEDGER": str(tmp_path / "ledger.sqlite"), "RECORDS_SENT": str(tmp_path / "sent.jsonl")}
    transport = StdioTransport(
        sys.executable,
        ["-m", "shaping", "proxy", *server],
        env={**os.environ, **files, **environ},
        keep_alive=False,
        log_file=tmp_path / "stderr.txt",
    )
    return Client(transport, client_info=mcp_types.Implementation(name=name, version="9.9.9"))


def sent_by_server(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "sent.jsonl").read_text().splitlines()]


def entries(tmp_path: Path) -> list[LedgerEntry]:
    return LedgerDatabase(tmp_path / "ledger.sqlite").entries()


def calls(tmp_path: Path) -> list[LedgerEntry]:
    return [entry for entry in entries(tmp_path) if entry.kind == "call"]


def text_of(result: Any) -> str:
    """Join what a client that shows content shows of a result that came over the wire, or stands in a file."""
    content = result["content"] if isinstance(result, dict) else [block.model_dump() for block in result.content]
    return "\n".join(block["text"] for block in content)


def expanded_in_a_terminal(tmp_path: Path, *words: str) -> str:
    command = [sys.executable, "-m", "shaping", "expand", *words]
    environ = {**os.environ, "SHAPING_LEDGER": str(tmp_path / "ledger.sqlite")}
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=True, timeout=120).stdout


def definition_tokens(tool: Any) -> int:
    """Count the definition of a tool as a client shows it to its model."""
    shown = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    return exact(json.dumps(shown, separators=(",", ":")))


def our_lines(text: str) -> list[str]:
    """Find the lines of a result that no tool wrote."""
    return re.findall(r"^(?:\(.*ref=.*\)|(?:empty|null): .*)$", text, re.MULTILINE)


async def test_totals_equal_a_recount_from_both_sides_of_the_proxy(tmp_path: Path) -> None:
    async with client_of(tmp_path, "Zed") as client:
        tools = await client.list_tools()
        await client.list_tools()
        got = [
            await client.call_tool("records", {"count": 20}, raise_on_error=False),
            await client.call_tool("data", {"count": 9}, raise_on_error=False),
            await client.call_tool("fail", {}, raise_on_error=False),
            await client.call_tool("records", {"count": 25}, raise_on_error=False, meta={"shaping/max_tokens": 150}),
        ]
        ref = re.search(r"ref=\"?(r_\w+)", text_of(got[-1]))
        assert ref is not None, text_of(got[-1])
        asked = [
            await client.call_tool("shaping_expand", {"ref": ref[1], "path": "[20:22]"}, raise_on_error=False),
            await client.call_tool("shaping_expand", {"ref": ref[1], "sql": "SELECT count(*) FROM items"}),
        ]
    before = sum(exact(text_of(result)) for result in sent_by_server(tmp_path))
    after = sum(exact(text_of(result)) for result in (*got, *asked))
    (own,) = [tool for tool in tools if tool.name == "shaping_expand"]
    definition = definition_tokens(own)
    found = entries(tmp_path)
    total = add_up(found)
    assert (total.before, total.after, total.error) == (before, after + definition, 0.0)
    assert (total.calls, total.expansions) == (4, 2)
    assert [entry.after for entry in found if entry.kind != "definition"] == [exact(text_of(r)) for r in (*got, *asked)]
    notices = sum(exact(line) + 1 for result in got for line in our_lines(text_of(result)))
    ours = definition + sum(exact(text_of(result)) for result in asked) + notices + exact("FILE_NOT_FOUND: ")
    assert total.added == pytest.approx(ours, abs=6)  # a line break costs a token, or none beside another sign
    assert [(entry.kind, entry.tool) for entry in found if entry.kind != "call"] == [
        ("definition", "shaping_expand"),
        ("expand", "records"),
        ("query", "records"),
    ]
    assert {entry.client for entry in found} == {"Zed"}
    assert {entry.server for entry in found} == {"records"}
    assert len({entry.session for entry in found}) == 1
    assert (tmp_path / "stderr.txt").read_text().splitlines()[-1] == str(total)


async def test_what_another_session_asks_back_is_charged_to_the_tool_and_what_a_person_reads_is_not(
    tmp_path: Path,
) -> None:
    async with client_of(tmp_path, "Zed") as client:
        got = await client.call_tool("records", {"count": 25}, meta={"shaping/max_tokens": 150})
    ref = re.search(r"ref=\"?(r_\w+)", text_of(got))
    assert ref is not None, text_of(got)
    async with client_of(tmp_path, "Zed") as client:
        asked_back = await client.call_tool("shaping_expand", {"ref": ref[1], "path": "[20:22]"})
    assert "Widget 20" in expanded_in_a_terminal(tmp_path, ref[1], "[20:22]")
    last = entries(tmp_path)[-1]
    assert (last.kind, last.after) == ("expand", exact(text_of(asked_back)))
    asked = {label: total.expansions for label, total in group(entries(tmp_path), "tool").items()}
    assert asked == {"records/records": 1}


async def test_a_session_in_which_no_tool_is_called_leaves_no_trace(tmp_path: Path) -> None:
    async with client_of(tmp_path, "Zed") as client:
        assert any(tool.name == "shaping_expand" for tool in await client.list_tools())
    assert entries(tmp_path) == []


async def test_three_servers_behind_one_proxy_are_recorded_by_their_names(tmp_path: Path) -> None:
    names = ("first", "second", "third")
    listed = {name: {"command": sys.executable, "args": [str(SERVER)]} for name in names}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": listed}))
    async with client_of(tmp_path, "Zed", ("--servers", str(tmp_path / "servers.json"))) as client:
        (own,) = [tool for tool in await client.list_tools() if tool.name == "shaping_expand"]
        got = [await client.call_tool(f"{name}_records", {"count": 8 + at}) for at, name in enumerate(names)]
        refs = [ref for result in got for ref in re.findall(r"ref=(r_\w+)", text_of(result))]
        asked = [await client.call_tool("shaping_expand", {"ref": ref, "path": "[0:2]"}) for ref in refs]
        asked += [await client.call_tool("shaping_expand", {"ref": ref, "search": "Widget 1"}) for ref in refs]
    found = calls(tmp_path)
    assert [entry.server for entry in found] == list(names)
    assert [entry.before for entry in found] == [exact(text_of(result)) for result in sent_by_server(tmp_path)]
    assert [entry.after for entry in found] == [exact(text_of(result)) for result in got]
    back = [entry for entry in entries(tmp_path) if entry.kind == "expand"]
    assert len(refs) == 3
    assert [entry.server for entry in back] == [*names, *names]
    assert [(entry.before, entry.after, entry.added) for entry in back] == [
        (0, exact(text_of(result)), exact(text_of(result))) for result in asked
    ]
    total = add_up(entries(tmp_path))
    assert total.before == sum(exact(text_of(result)) for result in sent_by_server(tmp_path))
    assert total.after == sum(exact(text_of(result)) for result in (*got, *asked)) + definition_tokens(own)


async def test_a_result_that_the_client_would_have_cut_counts_as_it_would_have_shown_it(tmp_path: Path) -> None:
    async with client_of(tmp_path, "gemini-cli-mcp-client") as client:
        await client.call_tool("records", {"count": 400})
    (raw,) = sent_by_server(tmp_path)
    (entry,) = calls(tmp_path)
    assert len(text_of(raw)) > 80_000
    assert entry.before == pytest.approx(exact(text_of(raw)[:40_000]), rel=0.03)


async def test_observing_saves_nothing_and_off_leaves_no_trace(tmp_path: Path) -> None:
    async with client_of(tmp_path, "Zed", SHAPING="observe") as client:
        await client.call_tool("records", {"count": 20})
    (raw,) = sent_by_server(tmp_path)
    (entry,) = calls(tmp_path)
    assert entry.before == entry.after == exact(text_of(raw))
    async with client_of(tmp_path, "Zed", SHAPING="off") as client:
        await client.call_tool("records", {"count": 20})
    assert calls(tmp_path) == [entry]


def listing(count: int = 12) -> list[dict[str, Any]]:
    """List records."""
    return [{"id": number, "title": f"Widget {number}", "note": None, "tags": []} for number in range(count)]


def broken() -> str:
    """Raise."""
    raise ValueError("no such widget")


@pytest.mark.parametrize("kind", ["fastmcp", "sdk"])
async def test_servers_that_are_shaped_in_their_own_process_are_recorded_too(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHAPING_LEDGER", str(tmp_path / "ledger.sqlite"))
    server: Any = FastMCP("widgets") if kind == "fastmcp" else MCPServer("widgets")
    server.tool()(listing)
    server.tool()(broken)
    if kind == "fastmcp":
        shaping = ShapingMiddleware()
        server.add_middleware(shaping)
        mcp_shaper = shaping.mcp_shaper
    else:
        shape_server(server)
        mcp_shaper = server.middleware[-1].mcp_shaper
    async with Client(server) as client:
        await client.list_tools()
        got = await client.call_tool("listing", {"count": 12})
        failed = await client.call_tool("broken", {}, raise_on_error=False)
    assert mcp_shaper.ledger is not None
    mcp_shaper.ledger.close()
    called = {entry.tool: entry for entry in calls(tmp_path)}
    assert called["listing"].after == exact(text_of(got)) < called["listing"].before
    assert called["broken"].after == exact(text_of(failed))
    assert called["broken"].before > 0
