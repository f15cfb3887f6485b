from __future__ import annotations

import json
from typing import Any

import mcp_types
import pytest
from fastmcp.client.transports import SSETransport, StreamableHttpTransport

from shaping.clients.wrap import wrap
from shaping.proxy.former.child import Child
from shaping.proxy.former.configured import (
    ServersError,
    address_of,
    command_backend,
    headers_of,
    listed_backends,
    url_backend,
)
from shaping.proxy.former.front import Front
from shaping.proxy.former.outage import ServerUnavailableError
from shaping.proxy.former.remote import bare


def transport(backend: Any) -> Any:
    return backend._transport()


@pytest.mark.parametrize(
    ("url", "kind", "expected"),
    [
        ("http://h/mcp", None, StreamableHttpTransport),
        ("http://h/sse", None, SSETransport),
        ("http://h/sse?a=b", None, SSETransport),
        ("http://h/events", "sse", SSETransport),
        ("http://h/sse", "http", StreamableHttpTransport),
    ],
)
def test_an_address_tells_its_transport_unless_it_is_said(url: str, kind: str | None, expected: type) -> None:
    made = transport(url_backend(url, transport=kind, headers={"A": "b"}))
    assert (type(made), made.headers) == (expected, {"A": "b"})


def test_a_command_is_named_by_its_program() -> None:
    backend = command_backend(["/usr/bin/server.py", "--x"])
    assert (backend.name, transport(backend).command) == ("server", ["/usr/bin/server.py", "--x"])


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
def test_a_clients_list_is_read_with_its_variables_filled_in_and_without_our_wrapping(text: str) -> None:
    environ = {"ROOT": "/r", "KEY": "k"}
    local, remote = (transport(backend) for backend in listed_backends(text, environ))
    assert isinstance(local, Child)
    assert (local.name, local.command, local.env, local.cwd) == (
        "local",
        ["run", "/r/x", "y", "${NONE}"],
        {"K": "k"},
        "/",
    )
    assert (remote.url, remote.headers) == ("http://h//r", {"Authorization": "Bearer k"})


@pytest.mark.parametrize("text", ["[]", "{}", '{"mcpServers": {}}', '{"mcpServers": {"a": 1}}'])
def test_a_list_without_usable_servers_is_refused(text: str) -> None:
    with pytest.raises(ServersError):
        listed_backends(text)


def test_headers_come_from_the_command_line_and_the_environment() -> None:
    environ = {"SHAPING_PROXY_HEADER_1": "X: 1", "OTHER": "Y: 2"}
    assert headers_of(["A: b:c"], environ) == {"A": "b:c", "X": "1"}
    with pytest.raises(ServersError, match="begins no header"):
        headers_of([": x"], {})


def test_headers_of_the_environment_are_filled_in_as_their_client_would() -> None:
    environ = {"SHAPING_PROXY_HEADER_1": "Authorization: Bearer ${env:TOKEN}", "TOKEN": "t"}
    assert headers_of([], environ) == {"Authorization": "Bearer t"}


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
async def test_a_server_is_never_sent_the_name_of_a_secret_for_the_secret(header: str, message: str, hint: str) -> None:
    server = {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": header}}
    text = json.dumps({"mcpServers": {"r": server, "local": {"command": "run"}}})
    broken, local = listed_backends(text, {})
    front = Front("f", modern=False, info=None, capabilities=mcp_types.ClientCapabilities())
    with pytest.raises(ServerUnavailableError) as caught:
        await broken.link(front)
    detail = caught.value.detail
    assert (detail.code, detail.message, detail.hint) == ("PRECONDITION", message, hint)
    assert (broken.failure, local.failure) == (detail, None)


def test_an_address_may_come_from_the_environment() -> None:
    environ = {"U": "http://h/${PATH_PART}", "PATH_PART": "mcp"}
    assert (address_of("http://x", environ), address_of("env:U", environ)) == ("http://x", "http://h/mcp")
    with pytest.raises(ServersError, match="'V' is not set"):
        address_of("env:V", environ)


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
    [backend] = listed_backends(text, {}, oauth=oauth)
    assert (transport(backend).auth is not None) is signs


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
    assert bare(url) == shown
