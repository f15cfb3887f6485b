"""The proxy's HTTP server, met as clients meet it: real requests to a real process in front of a real server."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

SERVERS = Path(__file__).parents[1] / "servers"
HEADERS = {"accept": "application/json, text/event-stream"}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
REF = re.compile(r"ref=(r_[A-Za-z0-9_-]+)")


def start(port: int, folder: Path, *options: str, server: str = "records_server.py") -> subprocess.Popen[bytes]:
    """Serve records over HTTP, with what is left out in a file that other processes find."""
    command = [sys.executable, "-m", "shaping", "proxy", "--http", str(port), *options]
    environ = os.environ | {"XDG_CACHE_HOME": str(folder), "SHAPING_LEDGER": "off"}
    process = subprocess.Popen(
        [*command, "--", sys.executable, str(SERVERS / server)],
        env=environ,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while True:
        try:
            httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=60)
        except httpx.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            return process


def find_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port = find_port()
    process = start(port, tmp_path_factory.mktemp("served"))
    yield f"http://127.0.0.1:{port}/mcp"
    process.terminate()
    process.wait(60)


def post(address: str, method: str, params: dict[str, Any], **headers: str) -> httpx.Response:
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    return httpx.post(address, json=body, headers=HEADERS | headers, timeout=120)


def open_session(address: str, *, name: str = "records", **headers: str) -> dict[str, str]:
    info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    answer = post(address, "initialize", info, **headers)
    assert answer.json()["result"]["serverInfo"]["name"] == name
    return {"mcp-session-id": answer.headers["mcp-session-id"], **headers}


def call(address: str, session: dict[str, str], tool: str, **arguments: Any) -> str:
    answer = post(address, "tools/call", {"name": tool, "arguments": arguments}, **session)
    return str(answer.json()["result"]["content"][0]["text"])


def test_a_session_is_opened_used_and_ended(address: str) -> None:
    session = open_session(address)
    assert "Widget 2 squeaks" in call(address, session, "records", count=3)
    assert httpx.delete(address, headers=session).status_code == 200
    assert post(address, "tools/list", {}, **session).status_code == 404


def test_a_request_without_a_session_or_with_an_unknown_one_is_refused(address: str) -> None:
    assert post(address, "tools/list", {}).status_code == 400
    assert post(address, "tools/list", {}, **{"mcp-session-id": "nobody"}).status_code == 404
    assert httpx.get(address, headers=HEADERS).status_code == 400


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{}", "text/plain", 400),
        (b"[]", "application/json", 400),
        (b"nothing", "application/json", 400),
        (b'{"jsonrpc": "2.0",\n "method": "notifications/initialized"}', "application/json", 202),
    ],
)
def test_a_body_that_is_no_message_is_refused(address: str, content: bytes, kind: str, status: int) -> None:
    assert httpx.post(address, content=content, headers={"content-type": kind}).status_code == status


def test_a_page_of_another_site_reaches_nothing(address: str) -> None:
    assert post(address, "tools/list", {}, host="evil.example").status_code in {400, 403, 421}
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1", "http://localhost", f"{address}.evil.example"):
        assert post(address, "tools/list", {}, origin=origin).status_code == 403


def test_clients_are_told_of_a_config_with_problems_until_it_is_corrected(tmp_path: Path) -> None:
    config = tmp_path / "response_config.json"
    config.write_text('{"global": {"private": ["**.title"], "profil": "minimal"}}')
    port = find_port()
    process = start(port, tmp_path, "--config", str(config))
    address = f"http://127.0.0.1:{port}/mcp"
    try:
        session = open_session(address)
        told = call(address, session, "records", count=3)
        assert ("profil" in told, "Widget" in told, config.name in told) == (True, False, True)
        config.write_text('{"global": {"private": ["**.state"]}}')
        assert "Widget 2 squeaks" in call(address, session, "records", count=3)
    finally:
        process.terminate()
        process.wait(60)


def test_a_client_without_sessions_is_answered_by_its_own_id(address: str) -> None:
    params = {"name": "records", "arguments": {"count": 3}, "_meta": MODERN}
    answer = post(address, "tools/call", params).json()
    assert answer["id"] == 7
    assert "Widget 2 squeaks" in answer["result"]["content"][0]["text"]


def test_what_was_left_out_is_for_the_session_that_got_the_answer(address: str) -> None:
    mine, other = open_session(address), open_session(address)
    [ref] = REF.findall(call(address, mine, "records", count=1500))
    assert "7001" in call(address, mine, "shaping_expand", ref=ref, path="[1].url")
    assert "7001" not in call(address, other, "shaping_expand", ref=ref, path="[1].url")


def test_who_has_a_credential_finds_it_again_in_a_new_session(address: str) -> None:
    first = open_session(address, authorization="Bearer one")
    [ref] = REF.findall(call(address, first, "records", count=1500))
    again = open_session(address, authorization="Bearer one")
    other = open_session(address, authorization="Bearer two")
    assert "7001" in call(address, again, "shaping_expand", ref=ref, path="[1].url")
    assert "7001" not in call(address, other, "shaping_expand", ref=ref, path="[1].url")


def test_a_ref_of_one_replica_is_expanded_by_another(free_port: Callable[[], int], tmp_path: Path) -> None:
    config = {"store": {"kind": "sqlite", "path": str(tmp_path / "shared.sqlite")}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    ports = free_port(), free_port()
    replicas = [start(port, tmp_path, "--config", str(tmp_path / "config.json")) for port in ports]
    try:
        made, other = (f"http://127.0.0.1:{port}/mcp" for port in ports)
        params = {"name": "records", "arguments": {"count": 1500}, "_meta": MODERN}
        [ref] = REF.findall(post(made, "tools/call", params).json()["result"]["content"][0]["text"])
        asked = {"name": "shaping_expand", "arguments": {"ref": ref, "path": "[1].url"}, "_meta": MODERN}
        for _ in range(100):  # an answer goes out before it is written to the store that they share
            found = post(other, "tools/call", asked).json()["result"]["content"][0]["text"]
            if "REF_NOT_FOUND" not in found:
                break
            time.sleep(0.05)
        assert "7001" in found
    finally:
        for process in replicas:
            process.terminate()
            process.wait(60)


def test_what_a_proxy_over_pipes_kept_is_expanded_by_a_command_in_another_process(tmp_path: Path) -> None:
    environ = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "SHAPING_LEDGER": "off"}
    info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    asked = {"name": "records", "arguments": {"count": 1500}}
    command = [sys.executable, "-m", "shaping", "proxy", "--", sys.executable, str(SERVERS / "records_server.py")]
    with subprocess.Popen(
        command, env=environ, cwd=tmp_path, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as proxy:
        assert proxy.stdin is not None
        assert proxy.stdout is not None
        for number, (method, params) in enumerate([("initialize", info), ("tools/call", asked)]):
            body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            proxy.stdin.write(f"{json.dumps(body)}\n")
            proxy.stdin.flush()
            answer = json.loads(proxy.stdout.readline())
        [ref] = REF.findall(answer["result"]["content"][0]["text"])
        proxy.stdin.close()
    expanded = [sys.executable, "-m", "shaping", "expand", ref, "[1].url"]
    done = subprocess.run(expanded, env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True)
    assert "https://api.example.com/widgets/7001" in done.stdout


@pytest.mark.parametrize("request_id", [[1], {}, [[]], None])
@pytest.mark.parametrize("method", ["initialize", "tools/list"])
def test_a_request_with_an_id_that_is_none_is_refused_with_a_code(address: str, request_id: Any, method: str) -> None:
    body = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {}}
    refused = httpx.post(address, json=body, headers=HEADERS, timeout=120)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32600)
    assert "mcp-session-id" not in refused.headers


@pytest.mark.parametrize(
    ("kind", "status"),
    [("application/jsonp", 400), ("application/json-seq", 400), ("text/plain", 400), ("Application/JSON; a=b", 200)],
)
def test_only_json_is_taken_for_json(address: str, kind: str, status: int) -> None:
    info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    assert post(address, "initialize", info, **{"content-type": kind}).status_code == status


@pytest.mark.parametrize(("seconds", "status"), [(1.0, 200), (60.0, 503)])
def test_a_proxy_that_is_ended_answers_first_what_was_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, status: int
) -> None:
    heard = tmp_path / "heard"
    monkeypatch.setenv("TINY_HEARD", str(heard))
    port = find_port()
    process = start(port, tmp_path, server="tiny_server.py")
    address = f"http://127.0.0.1:{port}/mcp"
    with httpx.Client(timeout=120) as listener, ThreadPoolExecutor() as pool:
        opened = {**open_session(address, name="tiny"), "accept": "text/event-stream"}
        with listener.stream("GET", address, headers=opened) as stream:
            slow = {"name": "slow", "arguments": {"seconds": seconds}, "_meta": MODERN}
            asked = pool.submit(post, address, "tools/call", slow)
            while '"slow"' not in heard.read_text():
                assert not asked.done()
            process.terminate()
            assert stream.read() == b""
            assert asked.result().status_code == status
    assert process.wait(60) == 128 + signal.SIGTERM
