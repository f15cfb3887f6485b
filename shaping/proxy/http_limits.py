"""How Uvicorn runs each of our HTTP servers; it is an extra, and so named and not imported."""

from __future__ import annotations

from typing import Any

LIMITS: dict[str, Any] = {
    "access_log": False,
    "log_level": "warning",
    "http": "shaping.proxy.http_protocol:TimedProtocol",
    "ws": "none",
    "limit_concurrency": 1024,
}
