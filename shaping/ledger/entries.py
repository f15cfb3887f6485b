"""One line of the ledger, a call that is still to be counted, and what lines come to in all."""

from __future__ import annotations

import time
from dataclasses import astuple, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


Kind = Literal[
    "call",  # a tool's answer
    "expand",  # something asked back, charged to the tool that it came from
    "query",  # the same, asked in SQL
    "definition",  # the extra tool that a client is shown, once a session
]


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What one call cost: never a payload, only names and numbers."""

    time: float  # seconds since 1970
    tool: str
    before: int  # tokens that the client would have shown its model without shaping
    after: int  # tokens that it was shown
    added: int = 0  # tokens of `after` that no tool sent: expansions, queries, notices, the extra tool's definition
    kind: Kind = "call"
    server: str = ""
    client: str = ""
    profile: str = ""
    config: str = ""
    session: str = ""
    milliseconds: float = 0.0
    tokenizer: str = ""
    error_bound: float = 0.0  # the largest relative error of the two counts; 0 where both are exact
    ref: str | None = None  # by which the store may still have what was sent and what was read (`ledger.texts`)

    @property
    def saved(self) -> int:
        """Tokens that a model did not read, less what shaping gave it to read besides."""
        return self.before - self.after


@dataclass(frozen=True, slots=True)
class MeasuredCall:
    """A call whose texts are counted later, on the ledger's thread: `before` and `after` return what a model reads."""

    tool: str
    before: Callable[[], str]
    after: Callable[[], str]
    added: Callable[[], str] | None = None
    kind: Kind = "call"
    server: str = ""
    client: str = ""
    profile: str = ""
    config: str = ""
    session: str = ""
    milliseconds: float = 0.0
    keep: Callable[[str], str | None] | None = None  # keeps what the model read, given here, and returns its ref
    time: float = field(default_factory=time.time)
    trace: Any = None  # the W3C trace context that came with the call; then OpenTelemetry's, for its span


def _tool_label(entry: LedgerEntry) -> str:
    if entry.kind == "definition":
        return f"(definition of {entry.tool})"
    return f"{entry.server}/{entry.tool}" if entry.server else entry.tool


GROUPS: Final[dict[str, Callable[[LedgerEntry], str]]] = {
    "tool": _tool_label,
    "server": lambda entry: entry.server,
    "client": lambda entry: entry.client,
    "profile": lambda entry: entry.profile,
    "session": lambda entry: entry.session,
    "day": lambda entry: datetime.fromtimestamp(entry.time).astimezone().date().isoformat(),
}


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over entries: `saved` is net of everything that shaping gave a model to read."""

    calls: int = 0
    expansions: int = 0  # what was asked back, by expand or by a query
    before: int = 0
    after: int = 0
    added: int = 0
    milliseconds: float = 0.0
    error: float = 0.0  # tokens by which the sums may be wrong, where texts were counted by samples

    @property
    def saved(self) -> int:
        """Tokens that models did not read."""
        return self.before - self.after

    @property
    def share(self) -> float:
        """The part of what would have been read that was saved, from 0 to 1; below 0 where shaping cost more."""
        return self.saved / self.before if self.before else 0.0

    def __add__(self, other: Totals) -> Totals:
        return Totals(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    def __str__(self) -> str:
        asked = f"; {self.expansions:,} expansion{'' if self.expansions == 1 else 's'}" if self.expansions else ""
        calls = f"{self.calls:,} call{'' if self.calls == 1 else 's'}"
        return f"saved {self.saved:,} of {self.before:,} tokens net in {calls}{asked}"


@dataclass(frozen=True, slots=True)
class LedgerSum:
    """The sums of one tool, client and kind in one stretch of time, as the database adds them up."""

    stretch: int  # the time in units of the stretch's length
    server: str
    tool: str
    client: str
    kind: str
    tokenizer: str
    totals: Totals


def add_up(entries: Iterable[LedgerEntry]) -> Totals:
    """Add up entries of every kind."""
    calls = expansions = before = after = added = 0
    milliseconds = error = 0.0
    for entry in entries:
        calls += entry.kind == "call"
        expansions += entry.kind in {"expand", "query"}
        before += entry.before
        after += entry.after
        added += entry.added
        milliseconds += entry.milliseconds
        error += entry.error_bound * (entry.before + entry.after)
    return Totals(calls, expansions, before, after, added, milliseconds, error)


def group(entries: Iterable[LedgerEntry], by: str) -> dict[str, Totals]:
    """Add up by tool, server, client, profile, session or day; the group that saved most comes first, days in order."""
    sorted_by = GROUPS[by]
    found: dict[str, list[LedgerEntry]] = {}
    for entry in entries:
        found.setdefault(sorted_by(entry), []).append(entry)
    totals = {name: add_up(group) for name, group in found.items()}
    if by == "day":
        return dict(sorted(totals.items()))
    return dict(sorted(totals.items(), key=lambda pair: -pair[1].saved))
