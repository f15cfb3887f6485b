"""What it would cost to ask back what was left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from shaping.paths import PathError, select
from shaping.tokens import counter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shaping.tokens import TokenCounter
    from shaping.types import Omission


def price(omissions: Iterable[Omission], raw: Any, tokenizer: str | TokenCounter) -> list[Omission]:
    """Give each omission the tokens that its part of the raw value would cost; None where no path leads there."""
    counting = counter(tokenizer) if isinstance(tokenizer, str) else tokenizer
    return [replace(omission, tokens=_tokens(omission, raw, counting)) for omission in omissions]


def _tokens(omission: Omission, raw: Any, counting: TokenCounter) -> int | None:
    if omission.path == "**":  # nulls and empties from all over, told together
        return None
    try:
        text = orjson.dumps(select(raw, omission.path)).decode()
    except (PathError, LookupError, TypeError, ValueError):
        return None
    return int(counting.count(text))
