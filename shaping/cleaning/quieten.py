"""Quietening: noise rules take out what a model has no use for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from shaping.response import NOTHING, StepNotes

if TYPE_CHECKING:
    from shaping.settings import Plan

# Below this many bytes of JSON there is no noise worth a look.
QUIET = 512
# Bytes of a notice with its ref, generously: what does not save more than the notice costs is not left out.
NOTICE = 160


def quieten(value: Any, plan: Plan, arguments: frozenset[str]) -> tuple[Any, StepNotes]:
    """Apply the plan's noise rules; `arguments` are member names that other tools take, and so stay."""
    if not plan.noise or type(value) not in {dict, list, str}:
        return value, NOTHING
    size = len(orjson.dumps(value))
    if size < QUIET:
        return value, StepNotes(size=size)
    from shaping.noise import reduce  # noqa: PLC0415 (loaded with the first large value: costs 20 ms)

    quiet, omissions = reduce(value, plan.noise, arguments=arguments)
    left = len(orjson.dumps(quiet)) if omissions else size
    if size - left <= NOTICE:
        return value, StepNotes(size=size)
    return quiet, StepNotes(omissions=tuple(omissions), saved=size - left, size=left)
