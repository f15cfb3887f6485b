"""A small MCP server without packages, so that it starts at once: it can die, chatter, dawdle and refuse to leave."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

TOOLS = ("pid", "die", "noise", "where", "slow", "refuse")


def reply(message: dict[str, Any], **body: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}) + "\n")
    sys.stdout.flush()


def call(name: str, arguments: dict[str, Any]) -> Any:
    if name == "die":
        sys.stderr.write("out of memory\n")
        sys.stderr.flush()
        os._exit(3)
    if name == "noise":
        sys.stdout.write("[info] a log line on the wrong stream\n{not json either\n\n")
        sys.stderr.write("[info] a log line on the right one\n")
    if name == "slow":
        time.sleep(arguments.get("seconds", 0.1))
    return {"pid": os.getpid(), "cwd": str(Path.cwd()), "token": os.environ.get("TINY_TOKEN")}


def serve() -> None:
    for line in sys.stdin:
        with Path(os.environ.get("TINY_HEARD", os.devnull)).open("a") as heard:
            heard.write(line)
        message = json.loads(line)
        method, params = message.get("method"), message.get("params", {})
        if "id" not in message:
            continue
        if method == "initialize":
            info = {"name": "tiny", "version": "1"}
            capabilities: dict[str, object] = {"tools": {}}
            reply(message, result={"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info})
        elif method == "tools/list":
            reply(message, result={"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]})
        elif method == "tools/call" and params["name"] == "refuse":
            error = {"code": -32050, "message": "not today", "data": {"why": "rain"}}
            reply(message, error=error | (params.get("arguments") or {}))
        elif method == "tools/call":
            answer = json.dumps(call(params["name"], params.get("arguments") or {}))
            reply(message, result={"content": [{"type": "text", "text": answer}]})
        else:
            reply(message, error={"code": -32601, "message": "Method not found"})


if __name__ == "__main__":
    if "--stubborn" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    serve()
    if "--stubborn" in sys.argv:
        time.sleep(60)
