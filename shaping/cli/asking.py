"""Whether a remote MCP server wants credentials, found out by asking it without any."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request

_SECONDS = 5.0
_WANTS = (401, 403)
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "shaping", "version": "1"},
    },
}


def asks_credentials(url: str) -> bool:
    """Say whether an address sends away who comes without credentials; one that cannot be reached does not say so."""
    if not url.startswith(("http://", "https://")):
        return False
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    try:
        request = urllib.request.Request(url, json.dumps(_HELLO).encode(), headers)  # noqa: S310 - looked at just above
        with urllib.request.urlopen(request, timeout=_SECONDS):  # noqa: S310 - the same
            return False
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code in _WANTS
    except (OSError, ValueError, http.client.HTTPException):
        return False
