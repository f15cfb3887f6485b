"""Keep, drop and rename members by the paths of the config."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from shaping.cleaning.redact import redact
from shaping.response import Warned
from shaping.values.intake import take_in
from shaping.values.opening import OneShotError

if TYPE_CHECKING:
    from shaping.paths import FieldPlan
    from shaping.paths.strings import Unreadable
    from shaping.response import Draft

logger = logging.getLogger("shaping")


def fields(value: Any, draft: Draft) -> Any:
    """Apply the plan's compiled paths; what they never select is never opened."""
    plan, private = draft.filter, draft.plan.private
    if plan is None:
        return value
    taken_in = not plan.selective or draft.plan.prune.defaults
    if private is not None:
        # First, and on plain data: a text that may hold what is private is withheld whatever else is selected.
        value, taken_in = take_in(value, draft), True
        value = _applied(private, value, draft)
    if plan.rename and draft.plan.redact.by_place:
        # A field is masked by the name and the place that the tool gave it, not by the ones it gets here.
        return _applied(plan, redact(value if taken_in else take_in(value, draft), draft), draft)
    return _applied(plan, value, draft) if taken_in else _selected(plan, value, draft)


def _selected(plan: FieldPlan, value: Any, draft: Draft) -> Any:
    try:
        return take_in(_applied(plan, value, draft), draft)
    except OneShotError:
        # A generator among the visited values can be read only once, so everything is taken in first.
        draft.raw = take_in(value, draft)
        return _applied(plan, draft.raw, draft)


def _applied(plan: FieldPlan, value: Any, draft: Draft) -> Any:
    notes: list[Unreadable] = []
    kept = plan.apply(value, notes)
    for note in notes:
        warned = _unreadable(note)
        draft.warnings.append(warned)
        logger.warning("%r: %s", draft.plan.tool, warned)
    return kept


def _unreadable(note: Unreadable) -> Warned:
    done = "it is withheld" if note.withheld else "it goes out as it is"
    return Warned(
        "UNREADABLE_TEXT", f"a text names the field {note.name!r} and cannot be read as data; {done}", note.path
    )
