"""The text a model reads, in the cheapest form that is plain to read; made when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from shaping.omissions import notice

if TYPE_CHECKING:
    from shaping.response import Draft
    from shaping.settings.plan import Plan

# Below this many bytes no other form is shorter than compact JSON by enough to be worth a look.
SMALL = 128


def encode(value: Any, draft: Draft) -> Any:
    """Leave the value as it is, and know how to write it."""
    draft.make_text = lambda: text_of(value, draft)
    return value


def text_of(value: Any, draft: Draft) -> str:
    """Write a wire value as the plan says; the bare dialect has no place for a notice, so it stands below the data."""
    if draft.not_modified and draft.plan.dialect == "none":
        return "not modified"
    text, draft.encoding = written(value, draft.plan)
    return text + notice(draft) if draft.plan.dialect == "none" else text


def written(value: Any, plan: Plan) -> tuple[str, str]:
    """Write a value in the plan's encoding and name it; a bare string is its own text."""
    if isinstance(value, str):
        return value, "text"
    compact = orjson.dumps(value)
    if plan.encoding == "json" or (plan.encoding == "auto" and len(compact) < SMALL):
        return compact.decode(), "json"
    from shaping.encoders import encode as write  # noqa: PLC0415 (small answers need no encoder)

    made = write(
        value,
        plan.encoding,
        repeats="repeats" in plan.noise,
        constants="constants" in plan.noise,
        lossless=plan.lossless,
    )
    return made.text, made.encoding
