"""Which of MCP's two channels a result goes out on, and whether the tool is advertised with a schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shaping.clients.table import KnownClient
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


def decide(setting: Setting, client: KnownClient, *, typed: bool = False, relay: bool = False) -> Channels:
    """Choose the channels for a client; `typed` tools keep their schema, and so their structured content, always.

    A relay sends text alone, which every client shows its model, unless the client runs programs over results. In a
    server's own process both channels stay, because programs may use them.
    """
    if setting == "both":
        return BOTH
    if setting == "structured":
        return STRUCTURED
    if setting == "text":
        return BOTH if typed else TEXT
    if not relay:
        return BOTH
    if not (typed or client.code_mode):
        return TEXT
    return STRUCTURED if client.reads == "both" else BOTH
