"""Opening: any Python value becomes plain JSON data; selecting: its members are kept, dropped and renamed by paths."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from shaping.envelope import read_wire, recognise
from shaping.parsers import EXACT, parse, parse_if_cheaper
from shaping.paths.selection import misses
from shaping.redaction import scrub
from shaping.response import NOTHING, StepNotes, Warned
from shaping.values.careful import open_carefully
from shaping.values.opening import OneShotError
from shaping.values.plain import OddError, plain, plain_size

if TYPE_CHECKING:
    from collections.abc import Collection

    from shaping.parsers import Parsed
    from shaping.paths import FieldPlan
    from shaping.paths.strings import Unreadable
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
    if not plan.empties.defaults:
        if (size := plain_size(value)) is not None:
            return value, StepNotes(original=value, size=size)
        try:
            opened = plain(value)
        except OddError:
            pass
        else:
            return opened, StepNotes(original=opened)
    found = open_carefully(value, drop_defaults=plan.empties.defaults, closed=plan.closed)
    return found.value, StepNotes(tuple(found.warnings), tuple(found.omissions), found.whole, found.cut_short)


def select_fields(value: Any, fields: FieldPlan | None) -> tuple[Any, StepNotes]:
    """Apply compiled paths to plain data; what they left out is listed when somebody asks."""
    if fields is None:
        return value, NOTHING
    unreadable: list[Unreadable] = []
    kept = fields.apply(value, unreadable)
    warnings = list(map(_warning, unreadable))
    if fields.include and value and _is_bare(kept):
        named = ", ".join(map(str, fields.include[:3]))
        warnings.append(Warned("NO_SUCH_FIELD", f"include_only names nothing that this answer has ({named})"))
    return kept, StepNotes(tuple(warnings)) if warnings else NOTHING


def _is_bare(kept: Any) -> bool:
    """Return whether nothing is left of a value but empty containers."""
    return kept == {} or (type(kept) is list and all(element == {} for element in kept))


def select_then_open(raw: Any, fields: FieldPlan, plan: Plan) -> tuple[Any, StepNotes]:
    """Apply compiled paths to any value and open only what they select."""
    try:
        selected, said = select_fields(raw, fields)
        value, notes = open_plain(selected, plan)
    except OneShotError:
        # A generator among the visited values can be read only once, so everything is opened first.
        whole, notes = open_plain(raw, plan)
        value, said = select_fields(whole, fields)
        return value, replace(notes, original=whole, warnings=(*notes.warnings, *said.warnings))
    return value, replace(notes, original=None, warnings=(*notes.warnings, *said.warnings))


def _warning(text: Unreadable) -> Warned:
    done = "it is withheld" if text.withheld else "it goes out as it is"
    message = f"a text names the field {text.name!r} and cannot be read as data; {done}"
    return Warned("UNREADABLE_TEXT", message, text.path)


def unmatched(value: Any, paths: Collection[str], private: FieldPlan | None = None) -> list[Warned]:
    """Warn of each path that matches nothing, with what may be meant by it, but for what is private."""
    visible = private.apply(value) if private is not None and paths else value
    # What there is instead are keys of raw data, which may be secrets too.
    return [Warned("NO_SUCH_FIELD", scrub(message)) for message in misses(visible, paths)]
