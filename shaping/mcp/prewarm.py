"""Prewarming: what every answer needs is loaded in the background, before a client waits for it."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import orjson

from shaping.mcp.schema import usable
from shaping.shaper import Shaper
from shaping.tokens import counter

# Of every kind that is met often: records, links, repeats, nulls, and a text that is long enough for a table.
_RECORDS = [
    {
        "id": n,
        "title": f"Widget {n} squeaks",
        "url": f"https://api.example.com/widgets/{n}",
        "state": "open",
        "by": None,
    }
    for n in range(8)
]
_RESULT: dict[str, Any] = {"content": [{"type": "text", "text": orjson.dumps(_RECORDS).decode()}]}


def warm_up(tokenizer: str, *, schemas: bool) -> threading.Thread:
    """Load in the background what the first answer needs, and what checks results by schemas where they have any."""
    thread = threading.Thread(target=_prewarm, args=(tokenizer, schemas), name="shaping-prewarm", daemon=True)
    thread.start()
    return thread


def _prewarm(tokenizer: str, schemas: bool) -> None:
    # What is wrong with any of it is reported where it is used.
    with contextlib.suppress(Exception):
        # By the bundled config: what a user's config says to keep or to log is not for this one.
        Shaper({}, watch=False, environ={}).shape_result(_RESULT, tool="prewarm")
        if schemas:
            usable({"type": "object"})
        counter(tokenizer).count("warm")
