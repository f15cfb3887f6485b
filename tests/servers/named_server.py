"""A small MCP server without packages that offers tools, prompts and resources by its name: `named_server.py NAME`."""

from __future__ import annotations

import json
import sys
from typing import Any

NAME = sys.argv[1]
EMPTY: dict[str, Any] = {"type": "object"}
CAPABILITIES: dict[str, Any] = {"tools": {}, "prompts": {}, "resources": {"subscribe": True}, "completions": {}}
LISTS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "tools/list": ("tools", [{"name": name, "inputSchema": EMPTY} for name in ("shared", f"only_{NAME}", "ask")]),
    "prompts/list": ("prompts", [{"name": "hello"}, {"name": f"hello_{NAME}_only"}]),
    "resources/list": ("resources", [{"uri": f"data://{NAME}", "name": "data"}]),
    "resources/templates/list": ("resourceTemplates", [{"uriTemplate": f"data://{NAME}/{{name}}", "name": "named"}]),
}


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        info = {"name": NAME, "version": "1"}
        words = f"instructions of {NAME}"
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": CAPABILITIES, "serverInfo": info, "instructions": words}
    if method in LISTS:
        member, entries = LISTS[method]
        # In pages of one, to be followed.
        place = int(params.get("cursor", 0))
        more = {"nextCursor": str(place + 1)} if place + 1 < len(entries) else {}
        return {member: entries[place : place + 1], **more}
    if method == "tools/call" and params["name"] in {"shared", f"only_{NAME}"}:
        return {"content": [text(f"{NAME} {params['name']}")]}
    if method == "tools/call" and params["name"] == "ask":
        send({"id": 1, "method": "roots/list"})
        reply = json.loads(sys.stdin.readline())
        return {"content": [text(f"{NAME} heard {json.dumps(reply)}")]}
    if method == "prompts/get":
        return {"messages": [{"role": "user", "content": text(f"{params['name']} from {NAME}")}]}
    if method == "resources/read" and params["uri"].startswith(f"data://{NAME}"):
        return {"contents": [{"uri": params["uri"], "text": f"{NAME} {params['uri']}"}]}
    if method == "completion/complete":
        return {"completion": {"values": [f"{NAME} {params['ref'].get('name', '')}"]}}
    return {} if method == "logging/setLevel" else None


def serve() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = answer(message["method"], message.get("params") or {})
        if result is None:
            send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
        else:
            send({"id": message["id"], "result": result})


if __name__ == "__main__":
    serve()
