"""The ledger's entries of hooked results, made once the client's own transcript tells what it showed its model."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.ledger import record_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shaping.clients.hooks.results import HookedResult

_WAIT_SECONDS: Final = 60.0  # for a transcript to tell of a result; after that nobody knows what was shown
_TAIL: Final = 4 * 1024 * 1024  # bytes of a transcript's end in which a result is looked for


@dataclass(frozen=True, slots=True)
class GivenResult:
    """A result, the text that its client was given in its place, and what the ledger is told besides."""

    result: HookedResult
    text: str
    tool: str
    about: Mapping[str, Any]
    since: float = field(default_factory=monotonic)


class ShownResults:
    """Waits for each result to appear in its client's transcript, and records what stands there."""

    def __init__(self) -> None:
        self._waiting: list[GivenResult] = []
        self._shaped = self._rejected = self._unknown = 0

    @property
    def is_waiting(self) -> bool:
        """Whether there is a transcript to look into."""
        return bool(self._waiting)

    def counts(self) -> dict[str, int]:
        """Count the results that clients showed shaped, those they rejected, and those of which nothing is known."""
        return {
            "shaped": self._shaped,
            "rejected": self._rejected,
            "unknown": self._unknown,
            "waiting": len(self._waiting),
        }

    def add(self, given: GivenResult) -> None:
        """Take a result that was left as it is, or one that the client has still to show."""
        if given.text is given.result.text:
            self._record(given, given.text)
        else:
            self._waiting.append(given)

    def told(self, call_id: str, shown: str) -> None:
        """Take what a client has recorded of a call."""
        self._settle(lambda result: shown if result.call_id == call_id else None)

    def look(self) -> None:
        """Look into the transcripts for the results that are waited for."""
        self._settle(_shown)

    def _settle(self, shown_of: Callable[[HookedResult], str | None]) -> None:
        still: list[GivenResult] = []
        for waiting in self._waiting:
            shown = shown_of(waiting.result)
            if shown is not None:
                self._confirm(waiting, shown)
            elif monotonic() - waiting.since < _WAIT_SECONDS:
                still.append(waiting)
            else:
                self._unknown += 1
        self._waiting = still

    def _confirm(self, waiting: GivenResult, shown: str) -> None:
        if waiting.text.strip() in shown:
            self._shaped += 1
            self._record(waiting, waiting.result.text)
        else:
            self._rejected += 1
            record_text(waiting.tool, shown, shown, **{**waiting.about, "keep": None})

    def _record(self, given: GivenResult, before: str) -> None:
        cut = given.result.cut
        record_text(given.tool, partial(cut, before), partial(cut, given.text), **given.about)


def _shown(result: HookedResult) -> str | None:
    """Return what a transcript says was shown of a result, or None where it does not tell yet."""
    if result.transcript is None or result.shown is None:
        return None
    try:
        with result.transcript.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
            lines = file.readlines()
    except OSError:
        return None
    for line in reversed(lines):
        # The first line may be cut off, and most lines are of another kind.
        with suppress(orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            if result.call_id.encode() in line and (shown := result.shown(orjson.loads(line))) is not None:
                return shown
    return None
