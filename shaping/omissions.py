"""What was left out of a response: the exact list, and what of it the model is told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shaping.stages.prune import empties_left_out
from shaping.types import Omission

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shaping.types import Draft

# What a config or a profile asks to be dropped is not news under `minimal`; what a rule or a budget took is.
_UNASKED = frozenset({"links", "opaque", "bulk", "boilerplate", "items", "string", "depth"})
# Dropped by the thousand, and all alike: told as one entry each.
_EMPTY = frozenset({"null", "empty", "default"})


def all_omissions(draft: Draft) -> tuple[Omission, ...]:
    """List everything that was left out, exactly."""
    plan = draft.plan.fields if draft.call.error is None else draft.plan.error_fields
    found: list[Omission] = []
    if plan is not None:
        found += plan.left_out(draft.raw)
    if draft.before_prune is not None:
        found += empties_left_out(draft.before_prune, draft.plan.prune)
    return (*found, *draft.omissions)


def said_omissions(draft: Draft) -> dict[str, Any]:
    """Give the envelope members that tell of omissions: nothing, one short line, or the list with prices."""
    taken = [omission for omission in draft.omissions if omission.reason in _UNASKED]
    if draft.plan.omissions == "line":
        return _line(taken, draft) if taken else {}
    listed = grouped(all_omissions(draft))
    if not listed:
        return {}
    ref = draft.shaper.keep(draft) if draft.shaper.facts.expandable else None
    said = tuple(replace(omission, ref=ref) for omission in draft.shaper.price(listed, draft))
    return {"omissions": said} if ref is None else {"omissions": said, "ref": ref}


def grouped(omissions: Iterable[Omission]) -> list[Omission]:
    """Tell nulls, empties and defaults as one entry each, and everything else as it is."""
    counts: dict[Any, int] = {}
    rest = []
    for omission in omissions:
        if omission.reason in _EMPTY:
            counts[omission.reason] = counts.get(omission.reason, 0) + omission.count
        else:
            rest.append(omission)
    return [*rest, *(Omission("**", count, reason) for reason, count in counts.items())]


def _line(taken: list[Omission], draft: Draft) -> dict[str, Any]:
    if not draft.shaper.facts.expandable:
        return {}
    ref = draft.shaper.keep(draft)
    if ref is None:
        return {}
    return {"omissions": line_of(taken), "ref": ref}


def line_of(taken: Iterable[Omission]) -> str:
    """Say in one short line how much was left out and why."""
    counts: dict[str, int] = {}
    for omission in taken:
        counts[omission.reason] = counts.get(omission.reason, 0) + omission.count
    return "left out: " + ", ".join(f"{count} {reason}" for reason, count in counts.items())
