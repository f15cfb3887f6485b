"""Opening: any Python value becomes plain JSON data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from shaping.envelope import read_wire, recognise
from shaping.parsers import EXACT, parse, parse_if_cheaper
from shaping.response import StepNotes
from shaping.values.careful import open_carefully
from shaping.values.plain import OddError, plain

if TYPE_CHECKING:
    from shaping.parsers import Parsed
    from shaping.settings import Plan


# One of these stands in every wire form.
_MARKS: Final = frozenset({"ok", "data", "error"})


def envelope_in(value: dict[str, Any], plan: Plan) -> tuple[Any, Plan]:
    """Read an answer that is one of our wire forms already, so that it is not wrapped again; and the plan for it."""
    form = "none" if _MARKS.isdisjoint(value) else recognise(value)
    paths = () if plan.fields is None else (*(plan.fields.include or ()), *plan.fields.exclude)
    # A success in `lean` has no member that only it has: unless paths are to apply inside it, it goes out as it came.
    bare_lean = form == "lean" and plan.dialect == "none" and value.get("error") is None and not paths
    if form == "none" or bare_lean:
        return value, plan
    found = read_wire(value, paths=paths)
    if found is None:
        return value, plan
    return found, replace(plan, dialect=form) if plan.dialect == "none" else plan


def data_in(text: str, plan: Plan) -> Parsed | None:
    """Read the data that a text holds: fields, private paths and noise rules hold inside it too."""
    if plan.fields is not None:  # whoever names fields has asked for data
        return parse(text, plan.parse)
    if plan.encoding == "json":
        return parse(text, EXACT) if "json" in plan.parse else None
    return parse_if_cheaper(text, plan.parse)


def open_plain(value: Any, plan: Plan) -> tuple[Any, StepNotes]:
    """Open a value by the fast walk, or by the careful one where something in it needs a warning."""
    if not plan.prune.defaults:
        try:
            opened = plain(value, 0)
        except OddError:
            pass
        else:
            return opened, StepNotes(original=opened)
    found = open_carefully(value, drop_defaults=plan.prune.defaults, closed=plan.closed)
    return found.value, StepNotes(tuple(found.warnings), tuple(found.omissions), found.whole, found.cut_short)
