"""A small MCP server without packages: its one tool answers with the `result` that it is given."""

from __future__ import annotations

import json
import sys
from typing import Any

TOOL = {"name": "echo", "description": "Answer with the given result.", "inputSchema": {"type": "object"}}

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, answer = message["method"], dict[str, Any]()
    if method == "initialize":
        info = {"name": "echo", "version": "1"}
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}}
    elif method == "tools/list":
        answer = {"result": {"tools": [TOOL]}}
    elif method == "tools/call":
        answer = {"result": message["params"]["arguments"]["result"]}
    else:
        answer = {"error": {"code": -32601, "message": "Method not found"}}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}) + "\n")
    sys.stdout.flush()
