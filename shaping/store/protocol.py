"""What a store is: bytes kept for a stated time behind a ref."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


class StoreError(Exception):
    """A store that cannot be read or written now: full, slow, broken or out of reach."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What a store gives back: the bytes that were put, and what was said about them."""

    payload: bytes
    meta: Mapping[str, str]


class Store(Protocol):
    """Where originals wait to be asked back; every method may raise StoreError, and none may lose what it accepted."""

    @property
    def at_hand(self) -> bool:
        """Whether the secret is known without leaving the process."""

    @property
    def secret(self) -> bytes:
        """The key for refs and cursors: as long-lived and as widely shared as what is stored."""

    def put(self, ref: str, payload: bytes, *, meta: Mapping[str, str], ttl: float) -> None:
        """Keep the payload for `ttl` seconds; the same ref again replaces it and starts its time anew."""

    def get(self, ref: str) -> Stored | None:
        """Give what is kept behind the ref, or None where nothing is or its time is over."""

    def close(self) -> None:
        """Let go of files and connections; what is kept stays as long as the store itself does."""
