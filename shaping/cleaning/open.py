"""Opening: any Python value becomes plain JSON data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.parsers import EXACT, parse, parse_if_cheaper
from shaping.response import Notes
from shaping.values.plain import OddError, plain

if TYPE_CHECKING:
    from shaping.parsers import Parsed
    from shaping.settings import Plan


def data_in(text: str, plan: Plan) -> Parsed | None:
    """Read the data that a text holds: fields, private paths and noise rules hold inside it too."""
    if plan.fields is not None:  # whoever names fields has asked for data
        return parse(text, plan.parse)
    if plan.encoding == "json":
        return parse(text, EXACT) if "json" in plan.parse else None
    return parse_if_cheaper(text, plan.parse)


def open_plain(value: Any, plan: Plan) -> tuple[Any, Notes]:
    """Open a value by the fast walk, or by the careful one where something in it needs a warning."""
    if not plan.prune.defaults:
        try:
            opened = plain(value, 0)
        except OddError:
            pass
        else:
            return opened, Notes(original=opened)
    from shaping.values.careful import open_carefully  # noqa: PLC0415 (loaded for odd values alone)

    found = open_carefully(value, drop_defaults=plan.prune.defaults, closed=plan.closed)
    return found.value, Notes(tuple(found.warnings), tuple(found.omissions), found.whole, found.cut_short)
