"""What a tool says about its own call (`shaping.note`), and how long it took."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

from shaping.response import Warned
from shaping.settings import context

if TYPE_CHECKING:
    from contextvars import Token


class CallNotes:
    """Collects, around one call, what the tool notes and the time it takes."""

    def __init__(self) -> None:
        self.notes = context.Notes()
        self.started = self.ended = perf_counter()
        self._token: Token[context.Notes | None] | None = None

    def __enter__(self) -> Self:
        self.started = perf_counter()
        self._token = context.start_notes(self.notes)
        return self

    def __exit__(self, *raised: object) -> None:
        self.ended = perf_counter()
        if self._token is not None:
            context.stop_notes(self._token)

    def about(self) -> dict[str, Any]:
        """Return what was noted, as members of a `CallContext`."""
        about: dict[str, Any] = {"duration_ms": round((self.ended - self.started) * 1000, 3)}
        if self.notes.request_id is not None:
            about["request_id"] = self.notes.request_id
        if self.notes.upgrade_hints:
            about["upgrade_hints"] = tuple(self.notes.upgrade_hints)
        if self.notes.warnings:
            about["warnings"] = tuple(Warned("TOOL", text) for text in self.notes.warnings)
        return about
