"""One value's way through the stages by a plan that is already chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shaping.settings import Plan
    from shaping.shaper import Shaper
    from shaping.types import Shaped


def run(shaper: Shaper, value: Any, plan: Plan, **about: Any) -> Shaped:
    """Shape a value as `Shaper.shape` does, by this plan: a session keeps the one it was advertised by."""
    return shaper.shape_by(plan, value, **about)
