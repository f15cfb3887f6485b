"""One value's way through the stages by a plan that is already chosen."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from shaping import context
from shaping.fallback import observed, unshaped, untouched
from shaping.types import Call, Draft

if TYPE_CHECKING:
    from shaping.settings import Plan
    from shaping.shaper import Shaper
    from shaping.types import Shaped

logger = logging.getLogger("shaping")


def run(shaper: Shaper, value: Any, plan: Plan, **about: Any) -> Shaped:
    """Shape a value as `Shaper.shape` does, by this plan: a session keeps the one it was advertised by."""
    call = Call(plan.tool, **about)
    mode = context.mode(shaper._environ)  # noqa: SLF001 - Shaper.shape chooses its own plan, and this is all it does besides
    if mode == "off":
        return untouched(value, plan, call, shaper)
    try:
        shaped = shaper._run(Draft(plan, call, value, shaper, [*call.warnings]))  # noqa: SLF001 - the same
    except Exception as fault:
        logger.exception("shaping %r failed; its answer goes out unshaped", plan.tool)
        return unshaped(value, plan, call, shaper, fault)
    return shaped if mode == "on" else observed(value, shaped, call, shaper)
