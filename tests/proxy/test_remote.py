"""Servers that are reached by HTTP: streamable HTTP and the older events."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shaping.cli.proxy import url_server
from shaping.proxy.remote import remote_transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.proxy.conftest import Connect

pytestmark = pytest.mark.anyio
TOKEN = "ghp_" + "0123456789" * 3 + "012345"
LET_IN = "Give it a token: --header 'Authorization: Bearer ...', `headers` in the list of servers, or --oauth."
PATH = "Correct the address: it usually ends in /mcp, or in /sse for the older transport (--transport sse)."


@contextmanager
def answering(status: int) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        do_GET = do_POST  # noqa: N815 - the name the base class looks for

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("path", ["mcp", "sse"])
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (401, {"code": "AUTH_REQUIRED", "hint": LET_IN, "retryable": False, "http": 401}),
        (403, {"code": "PERMISSION_DENIED", "hint": LET_IN, "retryable": False, "http": 403}),
        (404, {"code": "UNAVAILABLE", "hint": PATH, "retryable": True, "http": 503}),
        (500, {"code": "UNAVAILABLE", "hint": "Start it, or correct the address.", "retryable": True, "http": 503}),
    ],
)
async def test_an_address_that_sends_us_away_is_told_by_its_status(
    connect: Connect, path: str, status: int, expected: Any
) -> None:
    with answering(status) as address:
        async with connect(url_server(f"{address}/{path}?key={TOKEN}"), greet=False) as driver:
            error = (await driver.greet())["error"]
    message = f"the server at {address}/{path} answered with HTTP status {status}"
    assert (error["code"], error["data"]) == (-32603, expected | {"message": message})


@pytest.mark.parametrize(
    ("url", "address", "problem", "told"),
    [
        (
            "http://me:secret@example.com/mcp?key=k1",
            "http://example.com/mcp",
            "Redirect of http://me:secret@example.com/mcp?key=k1 to https://example.com/mcp?key=k1 not followed",
            "Redirect of http://example.com/mcp to https://example.com/mcp not followed",
        ),
        (
            "http://example.com/s/MmM4ZDkxOTItYzYyMS00/mcp",
            "http://example.com/s/…/mcp",
            "Redirect of http://example.com/s/MmM4ZDkxOTItYzYyMS00/mcp to /s/MmM4ZDkxOTItYzYyMS00/mcp/ not followed",
            "Redirect of http://example.com/s/…/mcp to /s/…/mcp/ not followed",
        ),
    ],
)
def test_an_error_that_quotes_an_address_is_told_without_what_is_secret_in_it(
    url: str, address: str, problem: str, told: str
) -> None:
    detail = remote_transport(url, name="tracker").unreachable(RuntimeError(problem))
    assert detail.message == f"the server 'tracker' at {address} cannot be reached: {told}"


async def test_an_address_where_nobody_listens_is_told_without_what_is_secret_in_it(connect: Connect) -> None:
    async with connect(url_server("http://me:secret@127.0.0.1:9/mcp?key=k", "tracker"), greet=False) as driver:
        data = (await driver.greet())["error"]["data"]
    assert data["message"] == (
        "the server 'tracker' at http://127.0.0.1:9/mcp cannot be reached: All connection attempts failed"
    )


SERVER = """
import os
from fastmcp import Context, FastMCP
server = FastMCP("r")

@server.tool
def pid() -> int:
    return os.getpid()

@server.tool
async def ask(ctx: Context) -> str:
    await ctx.info("a log line")
    await ctx.report_progress(1, 2)
    answer = await ctx.elicit("Name?", response_type=str)
    return f"hello {getattr(answer, 'data', None)}"

@server.tool
def long() -> str:
    return "x" * 10_000_000

server.run(%r, host="127.0.0.1", port=%d, show_banner=False, log_level="CRITICAL")
"""


@contextmanager
def remote(port: int, kind: str = "http") -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", SERVER % (kind, port)], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait(60)


async def pid(driver: Any) -> str:
    return str((await driver.call("pid"))["result"]["content"][0]["text"]).strip()


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_remote_server_that_was_away_is_reached_again_by_a_later_call(
    connect: Connect, free_port: Callable[[], int], kind: str
) -> None:
    port = free_port()
    path = "mcp" if kind == "http" else "sse"
    with remote(port, kind):
        context = connect(url_server(f"http://127.0.0.1:{port}/{path}", "r"))
        driver = await context.__aenter__()
        answers = [await pid(driver)]
    away = await pid(driver)
    with remote(port, kind):
        answers.append(await pid(driver))
        while "UNAVAILABLE" in answers[-1]:
            answers.append(await pid(driver))
        await context.__aexit__(None, None, None)
    assert away.startswith("UNAVAILABLE: ")
    assert int(answers[0]) != int(answers[-1])


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_what_a_remote_server_asks_and_tells_passes(
    connect: Connect, free_port: Callable[[], int], kind: str
) -> None:
    port = free_port()
    path = "mcp" if kind == "http" else "sse"
    with remote(port, kind):
        async with connect(url_server(f"http://127.0.0.1:{port}/{path}", "r"), greet=False) as driver:
            info = {"name": "driver", "version": "1"}
            params = {"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": info}
            await driver.ask("initialize", params)
            await driver.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
            call = {"name": "ask", "arguments": {}, "_meta": {"progressToken": "p"}}
            await driver.send({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": call})
            question = await driver.until(lambda message: message.get("method") == "elicitation/create")
            answer = {"action": "accept", "content": {"value": "Ada"}}
            await driver.send({"jsonrpc": "2.0", "id": question["id"], "result": answer})
            result = await driver.until(lambda message: message.get("id") == 9 and "result" in message)
            long = await driver.call("long")
    methods = [json.loads(line).get("method") for line in driver.lines]
    assert "hello Ada" in result["result"]["content"][0]["text"]
    assert {"notifications/message", "notifications/progress"} <= set(methods)
    assert len(json.dumps(long)) > 1000


async def test_a_server_of_the_newer_protocol_is_reached_with_the_headers_that_it_wants(
    connect: Connect, free_port: Callable[[], int]
) -> None:
    port = free_port()
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "n", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    with remote(port):
        async with connect(url_server(f"http://127.0.0.1:{port}/mcp", "r"), greet=False) as driver:
            discovered = await driver.ask("server/discover", {"_meta": meta})
            called = await driver.ask("tools/call", {"name": "pid", "arguments": {}, "_meta": meta})
    assert "2026-07-28" in discovered["result"]["supportedVersions"]
    assert called["result"]["content"][0]["text"].strip().isdigit()


def test_the_command_line_reaches_a_remote_server(free_port: Callable[[], int]) -> None:
    port = free_port()
    info = {"capabilities": {}, "clientInfo": {"name": "n", "version": "1"}}
    lines: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", **info}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "pid", "arguments": {}}},
    ]
    with remote(port):
        command = [sys.executable, "-m", "shaping", "proxy", "--url", f"http://127.0.0.1:{port}/mcp"]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=Path(__file__).parent) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for line in lines:
                process.stdin.write(json.dumps(line) + "\n")
                process.stdin.flush()
                answer = json.loads(process.stdout.readline()) if "id" in line else {}
            process.stdin.close()
    assert answer["result"]["content"][0]["text"].strip().isdigit()
    assert process.returncode == 0
