"""Who gets into the proxy's HTTP server, how many, and how slowly."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from shaping.proxy import http_limits, http_server
from shaping.proxy.http_server import serve_http
from shaping.proxy.serving import Options, ShaperLoader
from shaping.proxy.upstream import command_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.anyio
SERVERS = Path(__file__).parents[1] / "servers"
RECORDS = [sys.executable, str(SERVERS / "records_server.py")]
MODERN = [sys.executable, str(SERVERS / "modern_server.py")]
TOKEN = "a-token-of-24-characters"
VERSION = "2025-06-18"


@asynccontextmanager
async def serving(command: list[str], config: Path | None = None, **options: Any) -> AsyncIterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    loader = ShaperLoader(Options(None if config is None else str(config), for_user=False))
    make = command_server(command)
    server = asyncio.create_task(serve_http(make, loader, "127.0.0.1", port, **options))
    try:
        while not server.done():
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.01)
            else:
                writer.close()
                break
        yield f"http://127.0.0.1:{port}"
    finally:
        server.cancel()
        await asyncio.gather(server, return_exceptions=True)


def initialize(name: str = "a") -> dict[str, Any]:
    client = {"name": name, "version": "1"}
    params = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


async def test_a_bearer_token_is_asked_for_on_every_route() -> None:
    async with serving(RECORDS, bearer=TOKEN) as url, httpx.AsyncClient(timeout=60) as client:
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": f"bearer {TOKEN}x"}):
            for method, path in (("POST", "/mcp"), ("GET", "/mcp"), ("DELETE", "/mcp"), ("GET", "/metrics")):
                answer = await client.request(method, url + path, headers=headers)
                assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        let_in = await client.post(f"{url}/mcp", json=initialize(), headers={"authorization": f"Bearer {TOKEN}"})
        assert let_in.status_code == 200


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["host: 127.0.0.1:PORT"], 200),
        (["host: localhost:PORT"], 200),
        (["host: [::1]:PORT"], 200),
        (["host: 127.0.0.1"], 200),  # as the health checks of load balancers send it
        (["host: gateway.example:443"], 200),
        (["host: odd.example:8443"], 200),
        (["host: odd.example"], 421),
        (["host: 127.0.0.1:1"], 421),
        (["host: localhost:1"], 421),
        (["host: evil.example:PORT"], 421),
        (["host: 127.0.0.1:PORT:PORT"], 421),
        (["host: evil.example@127.0.0.1:PORT"], 421),
        (["host: localhost#.evil.example"], 421),
        (["host: localhost:PORT?evil.example"], 421),
        (["host: 127.0.0.1:PORT/x"], 421),
        (["host: 127.0.0.1:PORT", "host: 127.0.0.1:PORT"], 400),
        (["host: 127.0.0.1:PORT", "host: evil.example"], 400),
        (["host: 127.0.0.1:PORT", "origin: http://127.0.0.1:PORT"], 200),
        (["host: 127.0.0.1:PORT", "origin: http://127.0.0.1:PORT", "origin: http://evil.example"], 403),
        (["host: 127.0.0.1:PORT", "origin: http://localhost:1"], 403),
    ],
)
async def test_only_one_host_of_its_own_with_its_own_port_is_answered(lines: list[str], status: int) -> None:
    async with serving(RECORDS, allowed_hosts=["gateway.example", "odd.example:8443"]) as url:
        port = url.rpartition(":")[2]
        reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
        head = "\r\n".join(["GET /metrics HTTP/1.1", *lines, "connection: close", "", ""])
        writer.write(head.replace("PORT", port).encode())
        assert (await asyncio.wait_for(reader.readline(), 30)).split()[1] == str(status).encode()
        writer.close()


async def test_an_answer_is_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A load balancer asks another replica where one was killed before it wrote anything, and not after half of it."""
    written: list[bytes] = []
    send = socket.socket.send

    def note(one: socket.socket, data: bytes) -> int:
        written.append(bytes(data))
        return send(one, data)

    monkeypatch.setattr(socket.socket, "send", note)
    async with serving(RECORDS) as url, httpx.AsyncClient(timeout=60) as client:
        answer = await client.post(f"{url}/mcp", json=initialize())
    (whole,) = [one for one in written if one.startswith(b"HTTP/1.1 ")]
    assert whole.endswith(b"\r\n\r\n" + answer.content)


async def test_a_call_on_a_stream_is_told_that_the_proxy_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "_QUIET_SECONDS", 0.05)
    monkeypatch.setattr(http_server, "_LAST_ANSWERS_SECONDS", 0.1)
    slow = {"name": "slow", "arguments": {"seconds": 60}}
    async with httpx.AsyncClient(timeout=60) as client:
        async with serving([sys.executable, str(SERVERS / "tiny_server.py")]) as url:
            opened = await client.post(f"{url}/mcp", json=initialize())
            headers = {name: opened.headers[name] for name in opened.headers if name == "mcp-session-id"}
            called = {"jsonrpc": "2.0", "id": "mine", "method": "tools/call", "params": slow}
            answer = await client.send(
                client.build_request("POST", f"{url}/mcp", json=called, headers=headers), stream=True
            )
        *_, last = filter(None, (await answer.aread()).decode().splitlines())
    told = json.loads(last.removeprefix("data: "))
    assert (told["id"], told["error"]["message"]) == ("mine", "the session was ended before there was an answer")


async def test_sessions_are_bounded_and_an_idle_one_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "_MOST_SESSIONS", 2)
    async with serving(RECORDS) as url, httpx.AsyncClient(timeout=60) as client:
        first, second = [(await client.post(f"{url}/mcp", json=initialize())) for _ in range(2)]
        refused = await client.post(f"{url}/mcp", json=initialize())
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "60")
        assert "2 sessions are open" in refused.text
        monkeypatch.setattr(http_server, "_SPARED_SECONDS", 0.0)
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        for opened in (second, first):  # the second was used before the first
            headers = {"mcp-session-id": opened.headers["mcp-session-id"]}
            assert (await client.post(f"{url}/mcp", json=ping, headers=headers)).status_code == 200
        assert (await client.post(f"{url}/mcp", json=initialize())).status_code == 200
        left = [
            (await client.post(f"{url}/mcp", json=ping, headers={"mcp-session-id": one.headers["mcp-session-id"]}))
            for one in (first, second)
        ]
        assert [one.status_code for one in left] == [200, 404]


@pytest.mark.parametrize("sent", [b"", b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nx: ", b"GET /metrics HTTP/1.1\r\n"])
async def test_a_connection_that_sends_no_whole_head_is_closed(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(http_limits, "HEAD_SECONDS", 0.1)
    async with serving(RECORDS) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(sent)
        assert await asyncio.wait_for(reader.read(), 30) == b""
        writer.close()


async def test_a_second_head_on_a_connection_is_waited_for_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_limits, "HEAD_SECONDS", 0.5)
    async with serving(RECORDS) as url:
        host = url.removeprefix("http://")
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(f"GET /metrics HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
        assert (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)).startswith(b"HTTP/1.1 200")
        writer.write(b"GET /metrics HTTP/1.1\r\nhost: ")
        await asyncio.wait_for(reader.read(), 30)
        writer.close()


async def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_limits, "BODY_SECONDS", 0.1)
    async with serving(RECORDS) as url:
        host = url.removeprefix("http://")
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        head = f"POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n"
        writer.write(head.encode() + b"{")
        assert (await asyncio.wait_for(reader.read(), 30)).startswith(b"HTTP/1.1 408")
        writer.close()


# The same programs as `shaping serve` and `shaping ui`, with less patience.
IMPATIENT = (
    "import sys; from shaping.proxy import http_limits as limits; limits.HEAD_SECONDS = limits.BODY_SECONDS = 0.5; "
    "from shaping.__main__ import main; sys.argv[0] = 'shaping'; main()"
)
POST = b"POST /operations/x HTTP/1.1\r\nhost: HOST\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nhost: ", POST], ids=["nothing", "no head", "no body"])
@pytest.mark.parametrize("command", ["serve --api", "serve --http", "ui --no-open --at"])
async def test_no_server_of_ours_waits_for_a_slow_client(command: str, sent: bytes, tmp_path: Path) -> None:
    paths = {"/x": {"get": {"operationId": "x", "responses": {"200": {"description": "x"}}}}}
    document = {"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "paths": paths}
    (tmp_path / "api.json").write_text(json.dumps(document))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
    words = [
        *command.split(),
        place,
        *(["--openapi", "api.json", "--base-url", "http://127.0.0.1:9"] if "serve" in command else []),
    ]
    pipe = asyncio.subprocess.PIPE
    server = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        IMPATIENT,
        *words,
        cwd=tmp_path,
        stderr=pipe,
        env={**os.environ, "SHAPING_LEDGER": str(tmp_path / "ledger")},
    )
    try:
        assert server.stderr is not None
        while b"serving http" not in (line := await asyncio.wait_for(server.stderr.readline(), 60)):
            assert line
        while True:
            try:
                reader, writer = await asyncio.open_connection(*place.split(":"))
                break
            except OSError:
                await asyncio.sleep(0.05)
        writer.write(sent.replace(b"HOST", place.encode()))
        await asyncio.wait_for(reader.read(), 60)
        writer.close()
    finally:
        server.kill()
        await server.communicate()


@pytest.mark.parametrize(
    "body", [b"\n", b"{\n", b"[" * 100_000, b'{"a": "\xe9"}', b'{"id": ' + b"9" * 5000 + b"}", b"[]"]
)
async def test_a_body_that_is_no_message_is_refused(body: bytes) -> None:
    async with serving(RECORDS) as url, httpx.AsyncClient(timeout=60) as client:
        answer = await client.post(f"{url}/mcp", content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 400


async def test_a_ref_is_nothing_to_another_client_of_the_newest_protocol(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"global": {"max_tokens": 300}}')
    async with serving(MODERN, config) as url, httpx.AsyncClient(timeout=60) as client:

        async def call(name: str, arguments: dict[str, Any], who: str, **headers: str) -> dict[str, Any]:
            about = {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": who, "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            params = {"name": name, "arguments": arguments, "_meta": about}
            sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            answer = await client.post(f"{url}/mcp", json=sent, headers=headers)
            result: dict[str, Any] = answer.json()
            return result

        shaped = json.dumps(await call("records", {}, "a"))
        ref = shaped[shaped.index("ref=r_") + 4 :][:28]
        own = json.dumps(await call("shaping_expand", {"ref": ref}, "a"))
        assert "REF_NOT_FOUND" not in own
        for who, headers in (("b", {}), ("a", {"authorization": "Bearer other"}), ("a", {"user-agent": "other"})):
            other = json.dumps(await call("shaping_expand", {"ref": ref}, who, **headers))
            assert "REF_NOT_FOUND" in other
