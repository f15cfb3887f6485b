"""The fit step: the response is cut to its budgets where it is over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from shaping.omissions import notice
from shaping.stages.encode import text_of
from shaping.stages.wrap import wrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from shaping.budget import Fitted
    from shaping.response import Draft, Omission

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
    from shaping.tokens import counter  # noqa: PLC0415 (most answers are within their budget)

    plan, already = draft.plan, tuple(draft.omissions)

    def text(fitted: Fitted) -> str:
        _note(fitted, already, draft)
        return text_of(wrap(fitted.value, draft), draft)

    def as_json(fitted: Fitted) -> str:
        _note(fitted, already, draft)
        # Bare data has its notice below it in the text.
        return orjson.dumps(wrap(fitted.value, draft)).decode() + (notice(draft) if plan.dialect == "none" else "")

    exact = counter(plan.tokenizer).exact
    fitted = _fitted(value, draft, as_json if draft.call.as_json else text, exact)
    # The text is hardly ever longer than the JSON; its encoding is chosen by a guess of its tokens.
    if draft.call.as_json and plan.max_tokens is not None and exact(text(fitted)) > plan.max_tokens:
        fitted = _fitted(value, draft, lambda each: max(as_json(each), text(each), key=exact), exact)
    _note(fitted, already, draft)
    return fitted.value


def _fitted(value: Any, draft: Draft, render: Callable[[Fitted], str], exact: Callable[[str], int]) -> Fitted:
    from shaping.budget import Budget, fit_value  # noqa: PLC0415 (most answers are within their budget)

    plan = draft.plan
    budget = Budget(plan.max_tokens, plan.max_items, plan.max_string)
    fitted = fit_value(value, budget, render, exact)
    if fitted.fits and not _is_mute(fitted, value):
        return fitted
    # What is said about the cut would take all of the budget: then it is only said that there was one.
    draft.terse = True
    return fit_value(value, budget, render, exact)


def _is_mute(fitted: Fitted, value: Any) -> bool:
    return isinstance(value, (str, list, dict)) and bool(value) and not fitted.value


def _note(fitted: Fitted, already: tuple[Omission, ...], draft: Draft) -> None:
    """Write down what a cut leaves out, so that the envelope and its price tell of it."""
    draft.omissions = [*already, *fitted.omissions]
    draft.truncated = fitted.truncated
    draft.shown = fitted.lists
    draft.cursor = draft.shaper.cursor(draft, fitted.position) if fitted.truncated else None
