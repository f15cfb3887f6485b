"""One line of the ledger, and a call that is still to be counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

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
    added: int = 0  # tokens of `after` that are in no tool's answer: expansions, queries, the extra tool's definition
    kind: Kind = "call"
    server: str = ""
    client: str = ""
    profile: str = ""
    config: str = ""
    session: str = ""
    milliseconds: float = 0.0
    tokenizer: str = ""
    error_bound: float = 0.0  # the largest relative error of the two counts; 0 where both are exact
    ref: str | None = None  # by which the store may still have the original

    @property
    def saved(self) -> int:
        """Tokens that a model did not read, less what shaping gave it to read besides."""
        return self.before - self.after


@dataclass(frozen=True, slots=True)
class MeasuredCall:
    """A call whose texts are counted later, away from the caller: `before` and `after` give what the model is shown."""

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
    ref: str | None = None
