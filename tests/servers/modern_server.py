"""A small MCP server without packages that speaks only the newest protocol, and asks its questions in its answers."""

from __future__ import annotations

import json
import sys
from typing import Any

VERSION = sys.argv[1] if len(sys.argv) > 1 else "2026-07-28"
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}
QUESTION = {"method": "elicitation/create", "params": {"mode": "form", "message": "Name?", "requestedSchema": SCHEMA}}
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("greet", "plain", "nag", "refuse")]
UNSUPPORTED = {"code": -32022, "message": "Unsupported protocol version", "data": {"supported": [VERSION]}}


def answered(params: dict[str, Any]) -> dict[str, Any]:
    if params["name"] == "records":
        records = [{"id": number, "title": f"Widget {number} squeaks", "by": None} for number in range(2000)]
        return {"resultType": "complete", "content": [{"type": "text", "text": json.dumps(records)}]}
    given = (params.get("inputResponses") or {}).get("name")
    if params["name"] == "nag" or (params["name"] != "plain" and given is None):
        return {"resultType": "input_required", "inputRequests": {"name": QUESTION}, "requestState": "asked"}
    name = (given or {}).get("content", {}).get("name", "nobody")
    text = f"hello {name} ({params['requestState']})" if given else "plain"
    return {"resultType": "complete", "content": [{"type": "text", "text": text}]}


def reply(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if (params.get("_meta") or {}).get("io.modelcontextprotocol/protocolVersion") != VERSION:
        return {"error": UNSUPPORTED}
    if method == "server/discover":
        info = {"name": "modern", "version": "1"}
        meta = {"io.modelcontextprotocol/serverInfo": info}
        found = {"supportedVersions": [VERSION], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}
        return {"result": {"resultType": "complete", "_meta": meta, **found}}
    if method == "tools/list":
        return {"result": {"resultType": "complete", "tools": TOOLS, "ttlMs": 0, "cacheScope": "private"}}
    if method == "tools/call" and params["name"] == "refuse" and params.get("inputResponses"):
        return {"error": {"code": -32602, "message": "bad name"}}
    if method == "tools/call":
        return {"result": answered(params)}
    return {"error": {"code": -32601, "message": "Method not found"}}


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            answer = {"jsonrpc": "2.0", "id": message["id"], **reply(message["method"], message.get("params") or {})}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
