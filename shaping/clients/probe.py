"""Trying servers out: whether a remote one wants credentials, whether one starts and answers."""

from __future__ import annotations

import asyncio
import http.client
import os
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.proxy.child import command_server
from shaping.proxy.messages import METHOD_NOT_FOUND
from shaping.proxy.outage import told
from shaping.proxy.router import RequestError, connected
from shaping.proxy.upstream import ServerUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from shaping.proxy.router import Requester

_ASK_SECONDS: Final = 5.0
_START_SECONDS: Final = 60.0
_REFUSALS: Final = (401, 403)


def asks_credentials(url: str) -> bool:
    """Return whether a server refuses a client without credentials; one that cannot be reached counts as no."""
    if not url.startswith(("http://", "https://")):
        return False
    info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "shaping", "version": "1"}}
    content = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": info})
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    try:
        request = urllib.request.Request(url, content, headers)  # noqa: S310 (the scheme was checked above)
        with urllib.request.urlopen(request, timeout=_ASK_SECONDS):  # noqa: S310 (the scheme was checked above)
            return False
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code in _REFUSALS
    except (OSError, ValueError, http.client.HTTPException):
        return False


def why_it_fails(entry: Mapping[str, Any], seconds: float = _START_SECONDS) -> str | None:
    """Start the server of a client's entry, list its tools, and return why that failed, or None.

    On Windows, where its pipes cannot be waited for, no server is started.
    """
    if not hasattr(os, "killpg"):
        return None
    # What a probe asks no model reads: it is no entry of the user's ledger.
    variables = {str(name): str(value) for name, value in (entry.get("env") or {}).items()}

    async def list_tools() -> None:
        command = [entry["command"], *entry.get("args", [])]
        environ = {"SHAPING_LEDGER": "off", **variables}
        async with asyncio.timeout(seconds), started(command, environ, entry.get("cwd"), seconds) as server:
            await server.ask("tools/list")

    try:
        asyncio.run(list_tools())
    except RequestError as problem:
        return None if problem.error.get("code") == METHOD_NOT_FOUND else str(problem)
    except ServerUnavailableError as problem:
        return told(problem.detail)
    except TimeoutError:
        return f"it did not answer in {seconds:.0f} s"
    return None


def started(
    command: Sequence[str], environ: Mapping[str, str], cwd: str | None = None, seconds: float = _START_SECONDS
) -> AbstractAsyncContextManager[Requester]:
    """Start a server for the length of a block; what it logs is not shown."""
    return connected(command_server(command, env=environ, cwd=cwd, seconds=seconds)(lambda *_: None))
