"""An answer that nobody asked for: what every answer needs is loaded before somebody waits for it."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import orjson

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


def warm_up(tokenizer: str) -> threading.Thread:
    """Load in the background what the first answer needs."""
    thread = threading.Thread(target=_rehearse, args=(tokenizer,), name="shaping-rehearsal", daemon=True)
    thread.start()
    return thread


def _rehearse(tokenizer: str) -> None:
    # What is wrong with any of it is told where it is used.
    with contextlib.suppress(Exception):
        from shaping.mcp.validate import usable  # noqa: PLC0415 (the same)
        from shaping.shaper import Shaper  # noqa: PLC0415 (this is what it is for)
        from shaping.tokens import counter  # noqa: PLC0415 (the same)

        # By the bundled config: what a user's config says to keep or to log is not for this one.
        Shaper({}, watch=False, environ={}).shape_result(_RESULT, tool="rehearsal")
        usable({"type": "object"})
        counter(tokenizer).count("warm")
