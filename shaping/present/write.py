"""Writing: the text a model reads, in the cheapest form that is plain to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from shaping.present import Presented
    from shaping.settings.plan import Plan

# Below this many bytes no other form is shorter than compact JSON by enough to be worth a look.
SMALL = 128


def write(shown: Presented) -> tuple[str, str]:
    """Write a response and name its form; the bare dialect has no member for a notice, so it stands below the data."""
    bare = shown.plan.dialect == "none"
    if bare and shown.not_modified:
        return "not modified", "text"
    text, encoding = written(shown.value, shown.plan)
    text += _absent_line(shown, text, encoding)
    return (text + shown.notice if bare else text), encoding


def _absent_line(shown: Presented, text: str, encoding: str) -> str:
    """Name once what is null or empty: that nobody is assigned, and that nothing was found, are answers."""
    # An envelope in JSON stays parseable, and a page says what its first page said.
    if shown.terse or shown.call.page is not None or (encoding == "json" and shown.plan.dialect != "none"):
        return ""
    line, before = shown.original.absent_line, shown.call.shown
    return "" if line and before is not None and len(text) + len(line) > len(before()) else line


def written(value: Any, plan: Plan) -> tuple[str, str]:
    """Write a value in the plan's encoding and name it; a bare string is its own text."""
    if isinstance(value, str):
        return value, "text"
    compact = orjson.dumps(value)
    if plan.encoding == "json" or (plan.encoding == "auto" and len(compact) < SMALL):
        return compact.decode(), "json"
    from shaping.encoders import encode  # noqa: PLC0415 (small answers need no encoder: costs 10 ms)

    made = encode(
        value,
        plan.encoding,
        repeats="repeats" in plan.noise,
        constants="constants" in plan.noise,
        lossless=plan.lossless,
    )
    return made.text, made.encoding
