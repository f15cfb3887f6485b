"""The proxy in front of MCP servers, and how Uvicorn, which is an extra, runs each of our HTTP servers."""

from __future__ import annotations

from typing import Any

LIMITS: dict[str, Any] = {
    "access_log": False,
    "log_level": "warning",
    "http": "shaping.proxy.http_limits:TimedProtocol",
    "ws": "none",
    "limit_concurrency": 1024,
}
