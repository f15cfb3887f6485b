"""Signing in to a remote server by OAuth: in the user's browser once, by the kept tokens from then on."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import socket
import sys
import webbrowser
from typing import TYPE_CHECKING, TextIO

import anyio.to_thread
import httpx2
from fastmcp.client.auth import OAuth
from fastmcp.client.auth.oauth import ClientNotFoundError
from key_value.aio.stores.filetree import (
    FileTreeStore,
    FileTreeV1CollectionSanitizationStrategy,
    FileTreeV1KeySanitizationStrategy,
)

from shaping.proxy.remote import bare_address
from shaping.settings.files import cache_directory

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.shared.auth import AuthorizationCodeResult


logger = logging.getLogger("shaping")

# As long as FastMCP waits for the browser, and time to connect after it.
SIGN_IN_SECONDS = 330.0
_FIRST_PORT, _PORTS = 49152, 16384
_LOOK_SECONDS = 0.05


def token_directory(url: str) -> Path:
    """Return where a server's tokens are kept, in the user's cache directory."""
    return cache_directory(os.environ) / "oauth" / hashlib.sha256(url.encode()).hexdigest()[:24]


def _token_store(directory: Path) -> FileTreeStore | None:
    """Return a store in a directory; where nothing can be written, FastMCP keeps tokens as long as the process runs."""
    try:
        for place in (directory.parent, directory):
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as problem:
        logger.warning("tokens cannot be kept in %s: %s", directory, problem.strerror or problem)
        return None
    return FileTreeStore(
        data_directory=directory,
        key_sanitization_strategy=FileTreeV1KeySanitizationStrategy(directory),
        collection_sanitization_strategy=FileTreeV1CollectionSanitizationStrategy(directory),
    )


class SignIn(OAuth):
    """FastMCP's OAuth client, which tells where to sign in, and opens the browser when it can take its answer."""

    log: TextIO | None = None
    _page: str = ""

    async def _initialize(self) -> None:
        """Load the stored tokens; where they cannot be read, delete them, and the user signs in again."""
        try:
            await super()._initialize()
        except Exception as problem:  # noqa: BLE001 - whatever is wrong with what was kept, it must not keep the user out
            logger.warning("the kept tokens of %s are damaged (%s)", bare_address(self.mcp_url), type(problem).__name__)
            await self.token_storage_adapter.clear()
            await super()._initialize()

    async def redirect_handler(self, authorization_url: str) -> None:
        """Send the user to the sign-in page, after making sure that the server still knows this client."""
        async with self.httpx_client_factory() as client:
            answer = await client.get(authorization_url)
        if answer.status_code == httpx2.codes.BAD_REQUEST:
            raise ClientNotFoundError("the server has forgotten our registration")
        self._page = authorization_url
        # Told too, because a browser may not open by itself; nothing in the address is secret.
        where = f"shaping: sign in to {bare_address(self.mcp_url)} in your browser: {authorization_url}"
        print(where, file=self.log or sys.stderr, flush=True)

    async def callback_handler(self) -> AuthorizationCodeResult:
        """Wait for the browser to come back."""
        opening = asyncio.get_running_loop().create_task(self._open())
        try:
            return await super().callback_handler()
        finally:
            opening.cancel()

    async def _open(self) -> None:
        while not _listens(self.redirect_port):  # noqa: ASYNC110 - FastMCP does not say when it listens
            await anyio.sleep(_LOOK_SECONDS)
        # On a thread, because a browser in a terminal keeps its caller waiting.
        await anyio.to_thread.run_sync(webbrowser.open, self._page, abandon_on_cancel=True)


def sign_in(url: str) -> SignIn:
    """Return what signs every request to a server."""
    return SignIn(
        url,
        client_name="shaping",
        token_storage=_token_store(token_directory(url)),
        callback_host="127.0.0.1",
        callback_port=_port(url),
    )


def _port(url: str) -> int | None:
    """Choose the same port every time: a server that knows us by our registration expects it."""
    port = _FIRST_PORT + int(hashlib.sha256(url.encode()).hexdigest(), 16) % _PORTS
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return None
    return port


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0
