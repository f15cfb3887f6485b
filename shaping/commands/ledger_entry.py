"""The ledger's entry of a command that was run: counted after its output went out."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from shaping.commands.output import SHELL_SHOWS
from shaping.ledger import MeasuredCall, open_ledger
from shaping.ledger.texts import keep_output, keep_texts

if TYPE_CHECKING:
    from shaping.response import Shaped
    from shaping.settings import Plan
    from shaping.shaper import Shaper

_GUESSED: Final = 4_000  # characters
_LEDGER_SECONDS: Final = 5.0  # the most that it waits for tokens to be counted; 0.1 on an idle machine


def enter_run(shaper: Shaper, plan: Plan, before: str, after: str, shaped: Shaped | None) -> None:
    """Count what would have been printed and what was printed in its place, and write both to the ledger."""
    # Of a short output that is printed as it was, nothing is saved: its size is guessed, and no vocabulary loaded.
    unchanged = after == before and len(after) < _GUESSED
    ledger = open_ledger(tokenizer="chars" if unchanged else plan.tokenizer)
    if ledger is None:
        return

    def keep(read: str) -> str | None:
        """Keep the two sides of a call."""
        keeper, ttl = shaper.keeper("command"), shaper.generation.config.store.ttl_seconds
        if shaped is not None:
            return keep_texts(keeper, read, [shaped], ttl=ttl)
        # Nothing can be taken out of a text with private fields.
        return None if plan.private is not None else keep_output(keeper, read, before, ttl=ttl)

    ledger.record(
        MeasuredCall(
            plan.tool,
            partial(str, before[:SHELL_SHOWS]),
            partial(str, after[:SHELL_SHOWS]),
            profile=plan.profile,
            config=plan.config_hash,
            added=None if shaped is None else lambda: f"{shaped.notice}{shaped.absent_line}",
            keep=keep if after != before else None,
        )
    )
    ledger.close(_LEDGER_SECONDS)
    shaper.close()
