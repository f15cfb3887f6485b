"""Signing in to a remote server by OAuth: in the user's browser once, by the kept tokens from then on."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import socket
import sys
import webbrowser
from typing import TYPE_CHECKING, Any, TextIO, cast

import anyio.to_thread
import httpx2
import orjson
from fastmcp.client.auth import OAuth
from fastmcp.client.auth.oauth import ClientNotFoundError

from shaping.proxy.remote import bare_address
from shaping.settings.files import cache_directory, replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import SupportsFloat

    from mcp.shared.auth import AuthorizationCodeResult


def token_file(url: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Name the file of a server's tokens, in the user's cache directory."""
    return cache_directory(environ) / "oauth" / f"{hashlib.sha256(url.encode()).hexdigest()[:24]}.json"


class TokenFile:
    """A store of tokens as FastMCP uses one: collections of objects, each under a key."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._unsaved: dict[str, Any] | None = None

    async def get(self, key: str, *, collection: str | None = None) -> dict[str, Any] | None:
        """Return what is kept under a key."""
        found = self._read().get(_place(key, collection))
        return dict(found) if isinstance(found, dict) else None

    async def put(
        self,
        key: str,
        value: Mapping[str, Any],
        *,
        collection: str | None = None,
        ttl: SupportsFloat | None = None,  # noqa: ARG002 - the protocol's name
    ) -> None:
        """Keep an object under a key."""
        self._write({**self._read(), _place(key, collection): dict(value)})

    async def delete(self, key: str, *, collection: str | None = None) -> bool:
        """Forget what is kept under a key."""
        kept = self._read()
        found = kept.pop(_place(key, collection), None)
        if found is not None:
            self._write(kept)
        return found is not None

    def _read(self) -> dict[str, Any]:
        if self._unsaved is not None:
            return dict(self._unsaved)
        try:
            kept = orjson.loads(self.file.read_bytes())
        except (OSError, orjson.JSONDecodeError):
            # Signing in again is all that is lost.
            return {}
        return kept if isinstance(kept, dict) else {}

    def _write(self, kept: dict[str, Any]) -> None:
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(self.file, orjson.dumps(kept))
        except OSError as problem:
            # Signing in has succeeded: where nothing can be written, it holds for as long as this process runs.
            if self._unsaved is None:
                logger.warning("tokens cannot be kept in %s: %s", self.file, problem.strerror or problem)
            self._unsaved = kept
        else:
            self._unsaved = None


def _place(key: str, collection: str | None) -> str:
    return f"{collection or ''} {key}"


logger = logging.getLogger("shaping")

# As long as FastMCP waits for the browser, and time to connect after it.
SIGN_IN_SECONDS = 330.0
_FIRST_PORT, _PORTS = 49152, 16384
_LOOK_SECONDS = 0.05


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


def sign_in(url: str, environ: Mapping[str, str] = os.environ) -> SignIn:
    """Return what signs every request to a server."""
    return SignIn(
        url,
        client_name="shaping",
        token_storage=cast("Any", TokenFile(token_file(url, environ))),  # it has the methods that are used
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
