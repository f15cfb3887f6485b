"""Through the proxy every message that is not a tool's is byte for byte what the server or the client wrote."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "tee", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
INFO = {"clientInfo": {"name": "tee", "version": "1"}, "capabilities": {"roots": {}, "sampling": {}, "elicitation": {}}}
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("ping", {}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "demo://resource/dynamic/text/1"}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "args-prompt", "arguments": {"city": "Oslo"}}),
    ("tasks/list", {}),
    ("no/such/method", {"é": [1.0, 12345678901234567890]}),
]
TEE = """
import subprocess, sys, threading
given, taken = open(sys.argv[1], "wb"), open(sys.argv[2], "wb")
child = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def copy(source, target, file):
    for line in iter(source.readline, b""):
        file.write(line); file.flush(); target.write(line); target.flush()
    target.close()
threading.Thread(target=copy, args=(sys.stdin.buffer, child.stdin, given), daemon=True).start()
copy(child.stdout, sys.stdout.buffer, taken)
"""


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("server", ["everything", "filesystem"])
def test_what_is_no_tool_answer_passes_byte_for_byte(
    node_project: Path, tmp_path: Path, server: str, version: str
) -> None:
    script = node_project / f"node_modules/@modelcontextprotocol/server-{server}/dist/index.js"
    arguments = ["stdio"] if server == "everything" else [str(tmp_path)]
    given, taken = tmp_path / "given", tmp_path / "taken"
    tee = [sys.executable, "-c", TEE, str(given), str(taken), "node", str(script), *arguments]
    command = [sys.executable, "-m", "shaping", "proxy", "--start-timeout", "600", "--", *tee]
    pipe = subprocess.PIPE
    sent: list[bytes] = []
    received: list[bytes] = []
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def say(message: dict[str, Any]) -> None:
            # With spaces, so that a message that was written anew is noticed.
            sent.append(json.dumps({"jsonrpc": "2.0", **message}, separators=(" , ", " : ")).encode() + b"\n")
            process.stdin.write(sent[-1])  # type: ignore[union-attr]  # looked at above
            process.stdin.flush()  # type: ignore[union-attr]  # looked at above

        def ask(number: int, method: str, params: dict[str, Any]) -> None:
            say({"id": number, "method": method, "params": params})
            while True:
                received.append(process.stdout.readline())  # type: ignore[union-attr]  # looked at above
                message = json.loads(received[-1])
                if message.get("id") == number and "method" not in message:
                    return
                if message.get("method") == "roots/list":
                    say({"id": message["id"], "result": {"roots": []}})

        modern = version == "2026-07-28"
        if modern:
            ask(1, "server/discover", {"_meta": META})
        else:
            ask(1, "initialize", {"protocolVersion": version, **INFO})
            say({"method": "notifications/initialized"})
        for number, (method, params) in enumerate(REQUESTS, 2):
            ask(number, method, {**params, "_meta": META} if modern else params)
        process.stdin.close()
        received += process.stdout.readlines()
    assert given.read_bytes() == b"".join(sent)
    assert sorted(taken.read_bytes().splitlines(keepends=True)) == sorted(received)
    assert process.returncode == 0
