"""What a program printed, in bounded memory: whole where it is small, both ends and the rest elsewhere where not."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

WHOLE: Final = 8 * 1024 * 1024  # bytes of one output that are held in memory
EDGE: Final = 256 * 1024  # bytes of either end that are held where there is more


class Capture:
    """One output of a program; what memory has no room for is spilled."""

    def __init__(self, spill: Callable[[bytes], None] | None = None, *, whole: int = WHOLE, edge: int = EDGE) -> None:
        self._spill, self._most, self._edge = spill, whole, edge
        self._head, self._tail = bytearray(), bytearray()
        self._digest = blake2b(digest_size=16)
        self.size = 0
        self.whole = True

    @property
    def digest(self) -> bytes:
        """A fingerprint of everything that was printed."""
        return self._digest.digest()

    @property
    def held(self) -> bytes:
        """Everything, where it is whole; else its beginning."""
        return bytes(self._head)

    @property
    def end(self) -> bytes:
        """The end of what is not whole, from the start of a line."""
        kept = bytes(self._tail[-self._edge :])
        return kept[kept.find(b"\n") + 1 :]

    def take(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self.size += len(chunk)
        self._digest.update(chunk)
        if self.whole:
            self._head += chunk
            if len(self._head) > self._most:
                self._overflow()
            return
        self._pass_on(chunk)

    def text(self) -> str:
        """Give what is held as text, with a line in the place of what is not."""
        if self.whole:
            return decoded(self.held)
        head, tail = self.held, self.end
        missing = self.size - len(head) - len(tail)
        return f"{decoded(head)}… {missing:,} bytes …\n{decoded(tail)}"

    def _overflow(self) -> None:
        all_so_far = bytes(self._head)
        self.whole = False
        cut = all_so_far.rfind(b"\n", 0, self._edge) + 1 or self._edge
        self._head = bytearray(all_so_far[:cut])
        self._pass_on(all_so_far)

    def _pass_on(self, chunk: bytes) -> None:
        if self._spill is not None:
            self._spill(chunk)
        self._tail += chunk
        if len(self._tail) > 4 * self._edge:
            del self._tail[: -self._edge]


def decoded(raw: bytes) -> str:
    """Read bytes as text; what is no UTF-8 is marked, never a reason to fail."""
    return raw.decode("utf-8-sig" if raw[:3] == b"\xef\xbb\xbf" else "utf-8", "replace")
