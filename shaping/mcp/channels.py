"""Which of MCP's two channels a result goes out on, and whether the tool is advertised with a schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shaping.clients.table import Reads
    from shaping.settings.model import Channels as Setting


@dataclass(frozen=True, slots=True)
class Channels:
    """What goes out: text in `content`, data in `structuredContent`, and a schema in the tool's definition."""

    text: bool
    structured: bool
    schema: bool


TEXT = Channels(text=True, structured=False, schema=False)
BOTH = Channels(text=True, structured=True, schema=True)
STRUCTURED = Channels(text=False, structured=True, schema=True)


def decide(setting: Setting, reads: Reads | None, *, typed: bool = False) -> Channels:
    """Choose the channels for a client; `typed` tools keep their schema, and so their structured content, always."""
    if setting == "both":
        return BOTH
    if setting == "structured":
        return STRUCTURED
    if setting == "text":
        return BOTH if typed else TEXT
    return _automatic(reads, typed=typed)


def _automatic(reads: Reads | None, *, typed: bool) -> Channels:
    if reads == "structured":
        # Such a client never shows the text while there is data, so the data must go for the cheaper text to be seen.
        return BOTH if typed else TEXT
    if reads == "both":
        return STRUCTURED if typed else TEXT
    return BOTH
