"""The first phase: raw value -> open -> select -> prune -> quieten -> redact -> Cleaned; pure, without I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shaping.cleaning.open import open_plain, select_fields, select_then_open
from shaping.cleaning.prune import prune, quieten
from shaping.cleaning.redact import redact_value, scrub_warning
from shaping.response import NOTHING, StepNotes
from shaping.values.plain import to_plain

if TYPE_CHECKING:
    from shaping.paths import FieldPlan
    from shaping.response import CallContext, Omission, Warned
    from shaping.settings import Plan

__all__ = ["Cleaned", "CleaningError", "clean"]


class CleaningError(Exception):
    """A step failed after the value was opened; what was read of it by then is `original`."""

    def __init__(self, original: Any, cause: Exception) -> None:
        super().__init__("a step of cleaning failed")
        self.original, self.cause = original, cause


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The data that is left, and what the steps reported on the way."""

    value: Any
    raw: Any
    selected: Any  # the data before nulls, empties and defaults went
    pruned: Any  # and after
    fields: FieldPlan | None  # the compiled paths that selected
    original: Any  # the raw value as plain data, where all of it was opened
    warnings: tuple[Warned, ...] = ()
    omissions: tuple[Omission, ...] = ()  # without those of fields and pruning, which are listed when asked for
    saved: int = 0  # bytes that noise rules took
    size: int | None = None  # bytes of the value's compact JSON, where they are known
    cut_short: bool = False  # what the tool gave broke off before its end

    def plain_raw(self, plan: Plan) -> Any:
        """Return the raw value as plain data."""
        return self.original if self.original is not None else to_plain(self.raw, closed=plan.closed)


def clean(raw: Any, plan: Plan, call: CallContext) -> Cleaned:
    """Run the steps in their order; a step that changes nothing returns the same object."""
    fields = plan.fields if call.error is None else plan.error_fields
    holding = early = selecting = NOTHING
    if fields is not None and _opens_what_it_selects(fields, plan, call):
        selected, opening = select_then_open(raw, fields, plan)
    else:
        opened, opening = open_plain(raw, plan) if call.compact_json is None else (raw, StepNotes(original=raw))
        if fields is not None and plan.private is not None:
            # A text that may hold what is private is withheld, whatever else is selected.
            opened, holding = select_fields(opened, plan.private)
        if fields is not None and fields.rename and plan.redact.by_place:
            # A field is masked by the name and the place that the tool gave it, not by the ones it gets here.
            opened, early = redact_value(opened, plan)
        selected, selecting = select_fields(opened, fields)
    try:
        pruned = prune(selected, plan)
        # The size that opening measured holds only while no step has changed what it opened.
        opened_value = selected if opening.original is None else opening.original
        known_size = opening.size if pruned is opened_value else None
        quiet, quieting = quieten(pruned, plan, call.arguments, known_size)
        value, masking = redact_value(quiet, plan)
    except Exception as fault:
        raise CleaningError(raw if opening.original is None else opening.original, fault) from fault
    found = opening.warnings + holding.warnings + early.warnings + selecting.warnings + masking.warnings
    said = (*call.warnings, *(() if call.source is None else call.source.warnings))
    if any(warned.code == "NO_SUCH_FIELD" for warned in said):
        # Whoever asked for the fields has been told of each of them.
        found = tuple(warned for warned in found if warned.code != "NO_SUCH_FIELD")
    warnings = call.warnings + found
    if warnings and not plan.redact.off:
        # Paths are made of keys, and a tool's own warnings of anything.
        warnings = tuple(scrub_warning(warned) for warned in warnings)
    return Cleaned(
        value=value,
        raw=raw,
        selected=selected,
        pruned=pruned,
        fields=fields,
        original=opening.original,
        warnings=warnings,
        omissions=opening.omissions + quieting.omissions,
        saved=quieting.saved,
        size=quieting.size if value is quiet else None,
        cut_short=opening.cut_short,
    )


def _opens_what_it_selects(fields: FieldPlan, plan: Plan, call: CallContext) -> bool:
    """Whether a list of fields is applied first, so that what it never selects is never opened."""
    if call.compact_json is not None or not fields.selective or plan.empties.defaults or plan.private is not None:
        return False
    return not (fields.rename and plan.redact.by_place)
