"""The ledger's entries of hooked results, made once the client's own transcript tells what it showed its model."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Final

import orjson

from shaping.ledger import open_ledger

if TYPE_CHECKING:
    from collections.abc import Callable

    from shaping.clients.hooks.results import HookedResult
    from shaping.ledger import Ledger, MeasuredCall

_WAIT_SECONDS: Final = 60.0  # for a transcript to tell of a result; after that nobody knows what was shown
_TAIL: Final = 4 * 1024 * 1024  # bytes of a transcript's end in which a result is looked for


@dataclass(frozen=True, slots=True)
class _Waiting:
    result: HookedResult
    text: str
    call: MeasuredCall
    ledger: Ledger | None
    since: float


class ShownResults:
    """Waits for each result to appear in its client's transcript, and records what stands there."""

    def __init__(self) -> None:
        self._waiting: list[_Waiting] = []
        self._ledgers: dict[tuple[str | None, str], Ledger | None] = {}
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

    def add(self, result: HookedResult, text: str, call: MeasuredCall, tokenizer: str) -> None:
        """Take a result and the text that the client was given for it."""
        waiting = _Waiting(result, text, call, self._ledger(tokenizer), monotonic())
        if text is result.text:
            self._record(waiting, call)
        else:
            self._waiting.append(waiting)

    def told(self, call_id: str, shown: str) -> None:
        """Take what a client has recorded of a call."""
        self._settle(lambda result: shown if result.call_id == call_id else None)

    def look(self) -> None:
        """Look into the transcripts for the results that are waited for."""
        self._settle(_shown)

    def _settle(self, shown_of: Callable[[HookedResult], str | None]) -> None:
        still: list[_Waiting] = []
        for waiting in self._waiting:
            shown = shown_of(waiting.result)
            if shown is not None:
                self._confirm(waiting, shown)
            elif monotonic() - waiting.since < _WAIT_SECONDS:
                still.append(waiting)
            else:
                self._unknown += 1
        self._waiting = still

    def close(self) -> None:
        """Record what can be, and write it."""
        self.look()
        for ledger in self._ledgers.values():
            if ledger is not None:
                ledger.close()

    def _confirm(self, waiting: _Waiting, shown: str) -> None:
        if waiting.text.strip() in shown:
            self._record(waiting, waiting.call)
            return
        self._rejected += 1
        self._record(waiting, replace(waiting.call, before=lambda: shown, after=lambda: shown, ref=None))

    def _record(self, waiting: _Waiting, call: MeasuredCall) -> None:
        self._shaped += call is waiting.call and waiting.text is not waiting.result.text
        if waiting.ledger is not None:
            waiting.ledger.record(call)

    def _ledger(self, tokenizer: str) -> Ledger | None:
        key = (os.environ.get("SHAPING_LEDGER"), tokenizer)
        if key not in self._ledgers:
            self._ledgers[key] = open_ledger(tokenizer=tokenizer)
        return self._ledgers[key]


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
