from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from shaping.cli.proxy import ServersError, address_of, headers_of, listed_servers, url_server
from shaping.clients.wrap import wrap
from shaping.proxy.remote import ServerSentEvents, StreamableHttp, bare_address
from shaping.proxy.upstream import Child, command_server

if TYPE_CHECKING:
    from tests.proxy.conftest import Connect


def transport(make: Any) -> Any:
    return make()._connect()


@pytest.mark.parametrize(
    ("url", "kind", "expected"),
    [
        ("http://h/mcp", None, StreamableHttp),
        ("http://h/sse", None, ServerSentEvents),
        ("http://h/sse?a=b", None, ServerSentEvents),
        ("http://h/events", "sse", ServerSentEvents),
        ("http://h/sse", "http", StreamableHttp),
    ],
)
def test_an_address_tells_its_transport_unless_it_is_said(url: str, kind: str | None, expected: type) -> None:
    made = transport(url_server(url, transport=kind, headers={"A": "b"}))
    assert (type(made), made.http.headers["A"]) == (expected, "b")


def test_a_command_is_named_by_its_program() -> None:
    upstream = command_server(["/usr/bin/server.py", "--x"])()
    child: Any = upstream._connect()
    assert (upstream.name, child.command) == ("server", ["/usr/bin/server.py", "--x"])


FILE = {
    "mcpServers": {
        "local": {
            "command": "run",
            "args": ["${ROOT}/x", "${NONE:-y}", "${NONE}"],
            "env": {"K": "${env:KEY}"},
            "cwd": "/",
        },
        "remote": {"type": "http", "url": "http://h/${ROOT}", "headers": {"Authorization": "Bearer ${KEY}"}},
    }
}


@pytest.mark.parametrize("text", [json.dumps(FILE), wrap(json.dumps(FILE)).text])
def test_a_clients_list_is_read_with_its_variables_filled_in_and_without_our_wrapping(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOT", "/r")
    monkeypatch.setenv("KEY", "k")
    servers = listed_servers(text)
    local, remote = map(transport, servers)
    assert isinstance(local, Child)
    assert servers[0]().name == "local"
    assert (local.command, local.env, local.cwd) == (["run", "/r/x", "y", "${NONE}"], {"K": "k"}, "/")
    assert (remote.url, remote.http.headers["Authorization"]) == ("http://h//r", "Bearer k")


@pytest.mark.parametrize("text", ["[]", "{}", '{"mcpServers": {}}', '{"mcpServers": {"a": 1}}'])
def test_a_list_without_usable_servers_is_refused(text: str) -> None:
    with pytest.raises(ServersError):
        listed_servers(text)


def test_headers_come_from_the_command_line_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAPING_PROXY_HEADER_1", "X: 1")
    monkeypatch.setenv("OTHER", "Y: 2")
    assert headers_of(["A: b:c"]) == {"A": "b:c", "X": "1"}
    with pytest.raises(ServersError, match="begins no header"):
        headers_of([": x"])


def test_headers_of_the_environment_are_filled_in_as_their_client_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAPING_PROXY_HEADER_1", "Authorization: Bearer ${env:TOKEN}")
    monkeypatch.setenv("TOKEN", "t")
    assert headers_of([]) == {"Authorization": "Bearer t"}


@pytest.mark.parametrize(
    ("header", "message", "hint"),
    [
        (
            "Bearer ${input:key}",
            "the server 'r' needs ${input:key}, which only the client that asks for it can fill in",
            "Put the value into a variable of the environment and write ${NAME}.",
        ),
        (
            "Bearer ${env:TOKEN}",
            "the server 'r' needs ${env:TOKEN}, which is not set",
            "Set it where the proxy is started, or write ${NAME:-default}.",
        ),
    ],
)
@pytest.mark.anyio
async def test_a_server_is_never_sent_the_name_of_a_secret_for_the_secret(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, header: str, message: str, hint: str
) -> None:
    monkeypatch.delenv("TOKEN", raising=False)
    server = {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": header}}
    [broken] = listed_servers(json.dumps({"mcpServers": {"r": server}}))
    async with connect(broken, greet=False) as driver:
        data = (await driver.greet())["error"]["data"]
    assert (data["code"], data["message"], data["hint"]) == ("PRECONDITION", message, hint)


def test_an_address_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("U", "http://h/${PATH_PART}")
    monkeypatch.setenv("PATH_PART", "mcp")
    assert (address_of("http://x"), address_of("env:U")) == ("http://x", "http://h/mcp")
    with pytest.raises(ServersError, match="'V' is not set"):
        address_of("env:V")


@pytest.mark.parametrize(
    ("server", "oauth", "signs"),
    [
        ({}, False, False),
        ({}, True, True),
        ({"auth": "oauth"}, False, True),
        ({"auth": "oauth", "headers": {"Authorization": "Bearer t"}}, True, False),
    ],
)
def test_a_listed_server_signs_in_where_it_wants_to_and_has_nothing_else(
    server: dict[str, Any], oauth: bool, signs: bool
) -> None:
    text = json.dumps({"mcpServers": {"r": {"url": "http://h/mcp", **server}}})
    [make] = listed_servers(text, oauth=oauth)
    assert (transport(make).http.auth is not None) is signs


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://u:p@example.com/mcp?key=abc#x", "https://example.com/mcp"),
        ("https://mcp.example.com/api/s/MmM4ZDkxOTItYzYyMS00/mcp", "https://mcp.example.com/api/s/…/mcp"),
        ("https://example.com/550e8400-e29b-41d4-a716-446655440000/sse", "https://example.com/…/sse"),
        ("https://example.com/bot123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/x", "https://example.com/…/x"),
        ("https://example.com/mcp-server-v2-production", "https://example.com/mcp-server-v2-production"),
    ],
)
def test_an_address_is_told_without_what_opens_it(url: str, shown: str) -> None:
    assert bare_address(url) == shown
