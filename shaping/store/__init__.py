"""Where originals wait to be asked back."""

from shaping.store.keeper import Keeper
from shaping.store.opening import open_store
from shaping.store.protocol import Store, Stored, StoreError
from shaping.store.refs import CursorError, make_cursor, make_ref, read_cursor

__all__ = [
    "CursorError",
    "Keeper",
    "Store",
    "StoreError",
    "Stored",
    "make_cursor",
    "make_ref",
    "open_store",
    "read_cursor",
]
