"""A server reached by HTTP: its headers, and what it answered when it would not let us in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fastmcp.client.transports import SSETransport, StreamableHttpTransport
from mcp.shared._httpx_utils import create_mcp_http_client

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx2
    from fastmcp.client.transports import ClientTransport

_SSE_PATH = re.compile(r"/sse/?(\?|$)")
_REFUSED = 400
_KEY = 12  # characters in a row: the words of a name are shorter
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Door:
    """Makes the HTTP clients of one connection, and remembers the last refusal, which the SDK's errors do not tell."""

    def __init__(self, url: str, *, opened_by_get: bool = False) -> None:
        self.url = url
        self._opened_by_get = opened_by_get
        self.refused: int | None = None

    def __call__(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
        **_: Any,
    ) -> httpx2.AsyncClient:
        """Make a client; redirects stay within the origin, or another host would be sent the headers."""
        client = create_mcp_http_client(headers=headers, timeout=timeout, auth=auth)
        client.event_hooks.setdefault("response", []).append(self._note)
        return client

    async def _note(self, response: httpx2.Response) -> None:
        # Many servers have no stream for news beside the answers, and say so with a 404 while a call is under way.
        if response.request.method == "GET" and not self._opened_by_get:
            return
        self.refused = response.status_code if response.status_code >= _REFUSED else None

    @property
    def address(self) -> str:
        """The address without what may be secret in it."""
        return bare(self.url)


def remote_transport(
    url: str, *, kind: str | None = None, headers: Mapping[str, str] | None = None, auth: Any = None
) -> ClientTransport:
    """Return a transport to an address; one that ends in `/sse` means the older kind unless `kind` says."""
    older = kind == "sse" if kind else _SSE_PATH.search(url) is not None
    make = SSETransport if older else StreamableHttpTransport
    return make(url, headers=dict(headers or {}), auth=auth, httpx_client_factory=Door(url, opened_by_get=older))


def door_of(transport: object) -> Door | None:
    """Return the door of a transport that has one."""
    door = getattr(transport, "httpx_client_factory", None)
    return door if isinstance(door, Door) else None


def bare(url: str) -> str:
    """Give an address without its user, password and query, where people put keys, and without keys in its path."""
    parts = urlsplit(url)
    path = "/".join("…" if _is_key(step) else step for step in parts.path.split("/"))
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], path=path, query="", fragment="").geturl()


def _is_key(step: str) -> bool:
    """Tell a step that opens a server, as some hosts hand out, from one that names a place there."""
    from shaping.redaction.checks import random  # noqa: PLC0415 (the rules are loaded with the first answer)

    parts = [step] if _UUID.fullmatch(step) else re.split(r"[-_.:]", step)
    return any(len(part) >= _KEY and random(part) for part in parts)
