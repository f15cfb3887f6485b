"""Where originals wait to be asked back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from shaping.settings.files import cache_directory
from shaping.store.backends import MemoryStore, RedisStore, Store
from shaping.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shaping.settings.loading import StoreConfig

__all__ = ["Store", "open_store"]


def open_store(settings: StoreConfig, *, environ: Mapping[str, str] = os.environ) -> Store:
    """Open the store that the settings name; nothing is touched before it is first used."""
    if settings.kind == "sqlite":
        # All of a user's commands share one file.
        return SqliteStore(settings.path or cache_directory(environ) / "store.sqlite", settings.max_bytes)
    if settings.kind == "redis":
        return RedisStore(settings.url or "redis://localhost:6379/0")
    return MemoryStore(settings.max_bytes)
