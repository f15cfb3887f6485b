"""The store that a config asks for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from shaping.store.memory import MAX_BYTES, MemoryStore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shaping.store.protocol import Store


class Asked(Protocol):
    """What a config says about its store."""

    @property
    def kind(self) -> str | None:
        """Which store: memory, sqlite or redis."""

    @property
    def path(self) -> str | None:
        """The file of a sqlite store."""

    @property
    def url(self) -> str | None:
        """The address of a redis store."""

    @property
    def max_bytes(self) -> int | None:
        """The most bytes to keep."""


def open_store(settings: Asked, *, environ: Mapping[str, str] | None = None) -> Store:
    """Open the store that the settings name; nothing is touched before it is first used."""
    max_bytes = settings.max_bytes or MAX_BYTES
    if settings.kind == "sqlite":
        from shaping.store.sqlite import SqliteStore  # noqa: PLC0415  most processes have no use for it

        return SqliteStore(settings.path or default_file(environ), max_bytes)
    if settings.kind == "redis":
        from shaping.store.redis import RedisStore  # noqa: PLC0415  an extra

        return RedisStore(settings.url or "redis://localhost:6379/0")
    return MemoryStore(max_bytes)


def default_file(environ: Mapping[str, str] | None = None) -> Path:
    """Give the file that all of a user's commands share."""
    environ = os.environ if environ is None else environ
    cache = environ.get("XDG_CACHE_HOME") or environ.get("LOCALAPPDATA") or str(Path.home() / ".cache")
    return Path(cache) / "shaping" / "store.sqlite"
