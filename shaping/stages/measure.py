"""What the response cost before and after, counted when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from shaping.response import present
from shaping.values.intake import plain_or_careful

if TYPE_CHECKING:
    from shaping.response import Draft
    from shaping.tokens import Tokens


def measure(value: Any, draft: Draft) -> Any:
    """Leave the value as it is, and know how to price it."""
    draft.make_tokens = lambda: tokens_of(draft)
    return value


def tokens_of(draft: Draft) -> Tokens:
    """Price what the model would have been shown against what it is shown."""
    from shaping.tokens import Tokens  # noqa: PLC0415 (most calls are never priced)

    return Tokens(before=lambda: shown_before(draft), after=present(draft.make_text), tokenizer=draft.plan.tokenizer)


def shown_before(draft: Draft) -> str:
    """Give what the client would have shown its model: the server's own text, or the compact JSON of the raw value."""
    if draft.call.shown is not None:
        return draft.call.shown()
    raw = plain_or_careful(draft.raw)
    return raw if isinstance(raw, str) else orjson.dumps(raw).decode()
