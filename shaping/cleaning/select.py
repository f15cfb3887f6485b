"""Selecting: members are kept, dropped and renamed by the paths of the config."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shaping.cleaning.open import open_plain
from shaping.errors import scrub
from shaping.paths.selection import misses
from shaping.response import NOTHING, StepNotes, Warned
from shaping.values.opening import OneShotError

if TYPE_CHECKING:
    from collections.abc import Collection

    from shaping.paths import FieldPlan
    from shaping.paths.strings import Unreadable
    from shaping.settings import Plan


def select(value: Any, fields: FieldPlan | None) -> tuple[Any, StepNotes]:
    """Apply compiled paths to plain data; what they left out is listed when somebody asks."""
    if fields is None:
        return value, NOTHING
    unreadable: list[Unreadable] = []
    kept = fields.apply(value, unreadable)
    return kept, StepNotes(tuple(map(_warning, unreadable))) if unreadable else NOTHING


def select_then_open(raw: Any, fields: FieldPlan, plan: Plan) -> tuple[Any, StepNotes]:
    """Apply compiled paths to any value and open only what they select."""
    try:
        selected, said = select(raw, fields)
        value, notes = open_plain(selected, plan)
    except OneShotError:
        # A generator among the visited values can be read only once, so everything is opened first.
        whole, notes = open_plain(raw, plan)
        value, said = select(whole, fields)
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
