"""The words of cutting: a budget, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shaping.response import Json, Listed, Omission


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may be shown: tokens of the whole text, elements of any list, characters of any string."""

    max_tokens: int | None = None
    max_items: int | None = None
    max_string: int | None = None


@dataclass(frozen=True, slots=True)
class Fitted:
    """A value within its budget, and what had to go."""

    value: Json
    omissions: tuple[Omission, ...] = ()
    lists: tuple[Listed, ...] = ()
    position: tuple[str, int] | None = None  # the first list that was cut and where: the next page starts there
    fits: bool = True  # False only where the budget is smaller than what the envelope alone needs

    @property
    def truncated(self) -> bool:
        """Whether anything was cut."""
        return bool(self.omissions)
