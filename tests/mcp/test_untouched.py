"""What is no answer of a tool passes the middleware of a real server over its pipes as it would without it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SERVER = Path(__file__).with_name("server_to_compare.py")
INFO = {"name": "tests", "version": "1"}
CAPABILITIES: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/ui": {}}, "tasks": {}}
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("initialize", {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "clientInfo": INFO}),
    ("tools/call", {"name": "blocks", "arguments": {}}),
    ("resources/read", {"uri": "notes://7"}),
    ("resources/read", {"uri": "notes://nothing/here"}),
    ("resources/templates/list", {}),
    ("prompts/get", {"name": "greet", "arguments": {"who": "Ada"}}),
    ("tasks/get", {"taskId": "t-1"}),
    ("tasks/result", {"taskId": "t-1"}),
    ("no/such", {}),
]


def answers(kind: str, shaped: str) -> list[dict[str, Any]]:
    """Ask a server everything, one after the other, and return its answers."""
    command = [sys.executable, str(SERVER), kind, shaped]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        found = []
        for number, (method, params) in enumerate(REQUESTS):
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            server.stdin.write(json.dumps(request) + "\n")
            found.append(_answer(server.stdout, number))
            if method == "initialize":
                server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        server.stdin.close()
        server.terminate()
    return found


def _answer(lines: Any, number: int) -> dict[str, Any]:
    for line in lines:
        message: dict[str, Any] = json.loads(line)
        if message.get("id") == number:
            (message.get("result") or {}).get("_meta", {}).pop("shaping", None)
            if (message.get("result") or {}).get("_meta") == {}:
                del message["result"]["_meta"]
            return message
    raise AssertionError("the server has ended")


@pytest.mark.parametrize("kind", ["fastmcp", "sdk", "lowlevel"])
def test_capabilities_blocks_resources_prompts_and_methods_are_the_servers_own(kind: str) -> None:
    shaped, raw = answers(kind, "shaped"), answers(kind, "raw")

    # The SDK repeats blocks in the structured content, with a null for every member that they do not have.
    [repeated, sent] = [(one[1]["result"].pop("structuredContent", None) or {}) for one in (shaped, raw)]
    assert shaped == raw
    assert [block["type"] for block in repeated.get("result", ())] == [
        block["type"] for block in sent.get("result", ())
    ]
