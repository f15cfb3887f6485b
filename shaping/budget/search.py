"""The largest candidate that is within a limit, in a logarithmic number of tries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_TRIES: Final = 32  # never reached in practice: every second try halves what is left
_ENOUGH: Final = 0.97  # of the limit: one more try costs more than it shows
_AIM: Final = 0.985  # of the limit: a guess that is a little over is a try lost


class Search(Generic[T]):
    """Looks for the room that brings a cost close to its limit; cost grows with room, roughly in proportion."""

    def __init__(self, limit: int, attempt: Callable[[int], tuple[T, float, bool]]) -> None:
        self._limit = limit
        self._attempt = attempt  # room -> candidate, its cost, whether more room would change nothing
        self._fits, self._over = 0, 0  # the largest room known to fit, the smallest known not to
        self.best: T | None = None

    def run(self, room: int) -> T | None:
        """Start from a guess; None where nothing fits at all."""
        width = 0.0
        for _ in range(_TRIES):
            candidate, cost, whole = self._attempt(room)
            if cost <= self._limit:
                self.best, self._fits = candidate, room
                if whole or cost >= _ENOUGH * self._limit:
                    break
            else:
                self._over = room
            if self._over and self._over - self._fits <= max(8, self._over // 100):
                break
            room, width = self._next(room, cost, width), self._over - self._fits
        return self.best

    def _next(self, room: int, cost: float, width: float) -> int:
        guess = int(room * _AIM * self._limit / max(cost, 1))
        if not self._over:
            return min(max(guess, room + room // 4 + 8), room * 4 + 8)
        left = self._over - self._fits
        # A guess by proportion is mostly right; where the last one did not even halve what is left, halve it.
        if width > 0 and left > width / 2:
            return self._fits + left // 2
        return min(max(guess, self._fits + left // 8 + 1), self._over - left // 8 - 1)
