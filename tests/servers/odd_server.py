"""A small MCP server without packages that answers in ways that clients seldom meet: tasks, unknown blocks, errors."""

from __future__ import annotations

import json
import sys
from typing import Any

LINK = {"type": "resource_link", "uri": "secret://not-listed", "name": "elsewhere"}
ANSWERS: dict[str, Any] = {
    "hologram": {"content": [{"type": "hologram", "frames": [1, 2]}, {"type": "text", "text": "seen"}]},
    "link": {"content": [LINK]},
    "fail": {"content": [{"type": "text", "text": "disk is full"}, LINK], "isError": True},
    "ask": {"resultType": "input_required", "inputRequests": {"a": {"method": "elicitation/create", "params": {}}}},
}
TASK = {"taskId": "t1", "status": "working", "pollInterval": 1, "createdAt": "2025-01-01T00:00:00Z", "ttl": 60000}


def answer(method: str, params: dict[str, Any], asked: list[str]) -> dict[str, Any] | None:
    if method == "initialize":
        info = {"name": "odd", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        names = [*ANSWERS, "later"]
        support = {"later": {"execution": {"taskSupport": "required"}}}
        return {"tools": [{"name": n, "inputSchema": {"type": "object"}, **support.get(n, {})} for n in names]}
    if method == "tools/call" and params["name"] == "later":
        return {"task": TASK} if "task" in params else None
    if method == "tools/call":
        return ANSWERS[params["name"]]  # type: ignore[no-any-return]  # the answers above
    if method == "tasks/get":
        asked.append(method)
        return {**TASK, "status": "completed" if len(asked) > 2 else "working"}
    return {"content": [{"type": "text", "text": "done later"}]} if method == "tasks/result" else None


def serve() -> None:
    asked: list[str] = []
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        found = answer(message["method"], message.get("params") or {}, asked)
        body = {"error": {"code": -32601, "message": "Method not found"}} if found is None else {"result": found}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
