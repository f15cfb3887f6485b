"""Keep, drop and rename members by the paths of the config."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.cleaning.redact import redact
from shaping.values.intake import take_in
from shaping.values.opening import OneShotError

if TYPE_CHECKING:
    from shaping.paths import FieldPlan
    from shaping.response import Draft


def fields(value: Any, draft: Draft) -> Any:
    """Apply the plan's compiled paths; what they never select is never opened."""
    plan = draft.filter
    if plan is None:
        return value
    taken_in = not plan.selective or draft.plan.prune.defaults
    if plan.rename and draft.plan.redact.by_place:
        # A field is masked by the name and the place that the tool gave it, not by the ones it gets here.
        return plan.apply(redact(value if taken_in else take_in(value, draft), draft))
    return plan.apply(value) if taken_in else _selected(plan, value, draft)


def _selected(plan: FieldPlan, value: Any, draft: Draft) -> Any:
    try:
        return take_in(plan.apply(value), draft)
    except OneShotError:
        # A generator among the visited values can be read only once, so everything is taken in first.
        draft.raw = take_in(value, draft)
        return plan.apply(draft.raw)
