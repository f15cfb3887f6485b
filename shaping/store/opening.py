"""The store that a config asks for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from shaping.store.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shaping.settings import StoreConfig
    from shaping.store.protocol import Store


def open_store(settings: StoreConfig, *, environ: Mapping[str, str] = os.environ) -> Store:
    """Open the store that the settings name; nothing is touched before it is first used."""
    if settings.kind == "sqlite":
        from shaping.store.sqlite import SqliteStore  # noqa: PLC0415  most processes have no use for it

        return SqliteStore(settings.path or _default_file(environ), settings.max_bytes)
    if settings.kind == "redis":
        from shaping.store.redis import RedisStore  # noqa: PLC0415  an extra

        return RedisStore(settings.url or "redis://localhost:6379/0")
    return MemoryStore(settings.max_bytes)


def _default_file(environ: Mapping[str, str]) -> Path:
    """Give the file that all of a user's commands share."""
    cache = environ.get("XDG_CACHE_HOME") or environ.get("LOCALAPPDATA") or str(Path.home() / ".cache")
    return Path(cache) / "shaping" / "store.sqlite"
