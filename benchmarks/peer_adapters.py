"""Runs in a peer's own environment: texts of results in, what the peer would send and can give back out.

Standard library only, because nothing of ours is installed there. One JSON object on stdin, one on stdout.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

# What a peer makes of one text: the new text, and all it would give back for what it left out.
Adapter = Callable[[str, int], tuple[str, str]]
_CCR = re.compile(r"ccr:([0-9a-f]+)")


def compact(text: str, _limit: int) -> tuple[str, str]:
    value = _data(text)
    return (text if value is None else json.dumps(value, separators=(",", ":"), ensure_ascii=False)), ""


def toon(text: str, _limit: int) -> tuple[str, str]:
    value = _data(text)
    return (text if value is None else import_module("toon_format").encode(value)), ""


def terse(text: str, _limit: int) -> tuple[str, str]:
    value = _data(text)
    return (text if value is None else import_module("terse.transforms").compress(value)), ""


def tooltrim(text: str, limit: int) -> tuple[str, str]:
    compressor = import_module("tooltrim").ToolCompressor(max_tokens=limit)
    result = compressor.compress(text)
    return result.text, (compressor.expand(result.ref) or "") if result.ref else ""


def headroom(text: str, _limit: int) -> tuple[str, str]:
    call = {"id": "c", "type": "function", "function": {"name": "tool", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Call the tool and answer."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": text},
    ]
    shaped = import_module("headroom").compress(messages, model="gpt-4o").messages[-1]["content"]
    store = import_module("headroom.cache.compression_store").get_compression_store()
    kept = [store.retrieve(ref) for ref in dict.fromkeys(_CCR.findall(shaped))]
    return shaped, "\n".join(entry.original_content for entry in kept if entry is not None)


def limiter(text: str, limit: int) -> tuple[str, str]:
    middleware = import_module("fastmcp.server.middleware.response_limiting").ResponseLimitingMiddleware
    if len(text.encode()) <= limit:
        return text, ""
    result = middleware(max_size=limit)._truncate_to_result(text)  # noqa: SLF001 (the one step of it that is about text)
    return result.content[0].text, ""


ADAPTERS: dict[str, Adapter] = {
    "compact JSON": compact,
    "TOON": toon,
    "terse-mcp": terse,
    "tooltrim": tooltrim,
    "headroom-ai": headroom,
    "FastMCP limiter": limiter,
}


def _data(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict | list) else None


def main() -> None:
    asked = json.load(sys.stdin)
    adapter = ADAPTERS[asked["peer"]]
    if asked["payloads"]:
        adapter("[1]", 10_000)  # what a first call loads is not the peer's speed
    out: dict[str, Any] = {}
    for file, payload in asked["payloads"].items():
        started = time.perf_counter()
        pairs = [adapter(text, payload["limit"]) for text in payload["texts"]]
        took = (time.perf_counter() - started) * 1000
        out[file] = {"texts": [text for text, _ in pairs], "back": "\n".join(back for _, back in pairs), "ms": took}
    sys.stdout.write("\n" + json.dumps(out))


if __name__ == "__main__":
    main()
