"""A small MCP server without packages that answers what it is told to: `tools/call` with `arguments.result`.

`arguments.before` holds messages to send before the answer, `arguments.raw` the very bytes of one (as Latin-1, with ID
for its id); any other method is answered with its own parameters.
"""

from __future__ import annotations

import json
import sys
from typing import Any

TOOLS: list[dict[str, Any]] = [
    {"name": "mirror", "inputSchema": {"type": "object"}, "x-unknown": {"kept": True}},
    {"name": "app", "inputSchema": {"type": "object"}, "_meta": {"ui": {"resourceUri": "ui://app"}}},
    {
        "name": "typed",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "properties": {"rows": {"type": "array"}}, "required": ["rows"]},
    },
]
INFO = {"name": "mirror", "version": "1"}
CAPABILITIES: dict[str, Any] = {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}, "extensions": {"x/y": {}}}


def send(message: dict[str, Any]) -> None:
    # Spaces as a hand would write them, so that a message that was written anew is noticed.
    sys.stdout.write(json.dumps(message, separators=(" , ", " : "), ensure_ascii=False) + "\n")
    sys.stdout.flush()


def _definition(word: str) -> dict[str, Any]:
    """Read a tool that the command line adds: its name, or what its definition says as JSON."""
    return dict(json.loads(word)) if word.startswith("{") else {"name": word}


def result_of(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        info = params.get("serverInfo", INFO)
        return {"protocolVersion": params["protocolVersion"], "capabilities": CAPABILITIES, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS + [{"inputSchema": {"type": "object"}, **_definition(word)} for word in sys.argv[1:]]}
    if method == "tools/call":
        return dict(params["arguments"]["result"])
    if method == "tasks/result":
        return dict(params["result"])
    return {"echoed": params}


def serve() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        params = message.get("params") or {}
        arguments = params.get("arguments") or {} if isinstance(params, dict) else {}
        for before in arguments.get("before", ()):
            send(before)
        if "id" not in message or "method" not in message:
            if "method" not in message:
                send({"jsonrpc": "2.0", "method": "notifications/heard", "params": {"line": line}})
            continue
        if "raw" in arguments:
            raw = arguments["raw"].replace("ID", str(message["id"])).encode("latin-1")
            sys.stdout.buffer.write(raw + b"\n")
            sys.stdout.flush()
        elif "error" in arguments:
            send({"jsonrpc": "2.0", "id": message["id"], "error": arguments["error"]})
        else:
            send({"jsonrpc": "2.0", "id": message["id"], "result": result_of(message["method"], params)})


if __name__ == "__main__":
    serve()
