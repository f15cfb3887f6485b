"""One line of the ledger, and a call that is still to be counted."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

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
    trace: Any = None  # the OpenTelemetry context of the call, for its span
