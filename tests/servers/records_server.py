"""An MCP server without packages whose one tool lists records; it copies each result that it sends into a file."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

INFO = {"name": "records", "version": "1"}


def records(count: int) -> list[dict[str, Any]]:
    """Make records with what real ones have: links, nulls, empty lists, and something in each that is its own."""
    return [
        {
            "id": 7_000 + number,
            "title": f"Widget {number} squeaks on a {('cold', 'wet', 'hot')[number % 3]} day",
            "url": f"https://api.example.com/widgets/{7_000 + number}",
            "labels": [],
            "assignee": None,
            "owner": {"login": f"user{number % 5}", "site_admin": False},
        }
        for number in range(count)
    ]


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Answer a call: `records` with so many, `fail` with an error."""
    if name == "fail":
        text = "ENOENT: no such file or directory, open 'widgets.json'"
        return {"content": [{"type": "text", "text": text}], "isError": True}
    found = records(arguments.get("count", 3))
    result: dict[str, Any] = {"content": [{"type": "text", "text": json.dumps(found, indent=2)}]}
    return {**result, "structuredContent": {"records": found}} if name == "data" else result


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request, or None for a method that this server does not have."""
    if method == "initialize":
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": INFO}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("records", "data", "fail")]}
    return call(params["name"], params.get("arguments") or {}) if method == "tools/call" else None


def serve() -> None:
    """Answer requests until the client leaves."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = answer(message["method"], message.get("params") or {})
        if message["method"] == "tools/call":
            with Path(os.environ.get("RECORDS_SENT", os.devnull)).open("a") as sent:
                sent.write(json.dumps(result) + "\n")
        body = {"error": {"code": -32601, "message": "Method not found"}} if result is None else {"result": result}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
