from __future__ import annotations

import json
from typing import Any

import pytest
from fastmcp.client.transports import SSETransport, StreamableHttpTransport

from shaping.surfaces.child import Child
from shaping.surfaces.configured import ServersError, command_backend, headers_of, listed_backends, url_backend
from shaping.surfaces.wrap import wrap


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
    with pytest.raises(ServersError, match="is not a header"):
        headers_of([": x"], {})
