"""What each call saved: tokens that a client would have shown its model, and tokens that it was shown."""

from __future__ import annotations

from shaping.ledger.entries import LedgerDatabase, LedgerEntry, LedgerError, MeasuredCall, Totals, add_up
from shaping.ledger.writer import Ledger, open_ledger, record_text

__all__ = [
    "Ledger",
    "LedgerDatabase",
    "LedgerEntry",
    "LedgerError",
    "MeasuredCall",
    "Totals",
    "add_up",
    "open_ledger",
    "record_text",
]
