"""Tokens of one server in a file that only its user can read."""

from __future__ import annotations

import hashlib
import logging
import os
from typing import TYPE_CHECKING, Any

import orjson

from shaping.settings.files import cache_directory, replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import SupportsFloat

logger = logging.getLogger("shaping")


def token_file(url: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Name the file of a server's tokens, in the user's cache directory."""
    return cache_directory(environ) / "oauth" / f"{hashlib.sha256(url.encode()).hexdigest()[:24]}.json"


class TokenFile:
    """The kind of store that FastMCP keeps tokens in: collections of objects, each under a key."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._unsaved: dict[str, Any] | None = None

    async def get(self, key: str, *, collection: str | None = None) -> dict[str, Any] | None:
        """Return what is kept under a key."""
        found = self._read().get(_place(key, collection))
        return dict(found) if isinstance(found, dict) else None

    async def ttl(self, key: str, *, collection: str | None = None) -> tuple[dict[str, Any] | None, float | None]:
        """Return what is kept under a key; nothing here ends by time, a token says itself when it does."""
        return await self.get(key, collection=collection), None

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

    async def get_many(self, keys: Sequence[str], *, collection: str | None = None) -> list[dict[str, Any] | None]:
        """Return what is kept under each key."""
        return [await self.get(key, collection=collection) for key in keys]

    async def ttl_many(
        self, keys: Sequence[str], *, collection: str | None = None
    ) -> list[tuple[dict[str, Any] | None, float | None]]:
        """Return what is kept under each key."""
        return [await self.ttl(key, collection=collection) for key in keys]

    async def put_many(
        self,
        keys: Sequence[str],
        values: Sequence[Mapping[str, Any]],
        *,
        collection: str | None = None,
        ttl: SupportsFloat | None = None,
    ) -> None:
        """Keep an object under each key."""
        for key, value in zip(keys, values, strict=True):
            await self.put(key, value, collection=collection, ttl=ttl)

    async def delete_many(self, keys: Sequence[str], *, collection: str | None = None) -> int:
        """Forget what is kept under each key, and say of how many there was something."""
        return sum([await self.delete(key, collection=collection) for key in keys])

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
            self._replace(kept)
        except OSError as problem:
            # Signing in has succeeded: where nothing can be written, it holds for as long as this process runs.
            if self._unsaved is None:
                logger.warning("tokens cannot be kept in %s: %s", self.file, problem.strerror or problem)
            self._unsaved = kept
        else:
            self._unsaved = None

    def _replace(self, kept: Mapping[str, Any]) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(self.file, orjson.dumps(kept))


def _place(key: str, collection: str | None) -> str:
    return f"{collection or ''} {key}"
