"""The fit step: the response is cut to its budgets where it is over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from shaping.omissions import notice
from shaping.stages.encode import text_of
from shaping.stages.wrap import wrap

if TYPE_CHECKING:
    from shaping.fit import Fitted
    from shaping.types import Draft, Omission

# What an envelope may add to its data, in bytes, before it is looked at closely.
_ENVELOPE = 256


def fit(value: Any, draft: Draft) -> Any:
    """Cut the tree to the plan's budgets; an answer that is small by its bytes alone is never counted."""
    plan = draft.plan
    unlimited = plan.max_items is None and plan.max_string is None
    # No text has more tokens than bytes.
    if unlimited and (plan.max_tokens is None or len(orjson.dumps(value)) + _ENVELOPE <= plan.max_tokens):
        return value
    return _cut(value, draft)


def _cut(value: Any, draft: Draft) -> Any:
    from shaping.fit import Budget, fit_value  # noqa: PLC0415 (most answers are within their budget)
    from shaping.tokens import counter  # noqa: PLC0415 (the same)

    plan, already = draft.plan, tuple(draft.omissions)

    def render(fitted: Fitted) -> str:
        _note(fitted, already, draft)
        wire = wrap(fitted.value, draft)
        if not draft.call.as_json:
            return text_of(wire, draft)
        # Bare data has its notice below it in the text, which is never longer than the JSON otherwise.
        return orjson.dumps(wire).decode() + (notice(draft) if plan.dialect == "none" else "")

    exact = counter(plan.tokenizer).exact
    budget = Budget(plan.max_tokens, plan.max_items, plan.max_string)
    fitted = fit_value(value, budget, render, exact)
    if not fitted.fits or _is_mute(fitted, value):
        # What is said about the cut would take all of the budget: then it is only said that there was one.
        draft.terse = True
        fitted = fit_value(value, budget, render, exact)
    _note(fitted, already, draft)
    return fitted.value


def _is_mute(fitted: Fitted, value: Any) -> bool:
    return isinstance(value, (str, list, dict)) and bool(value) and not fitted.value


def _note(fitted: Fitted, already: tuple[Omission, ...], draft: Draft) -> None:
    """Write down what a cut leaves out, so that the envelope and its price tell of it."""
    draft.omissions = [*already, *fitted.omissions]
    draft.truncated = fitted.truncated
    draft.shown = fitted.lists
    draft.cursor = draft.shaper.cursor(draft, fitted.position) if fitted.truncated else None
