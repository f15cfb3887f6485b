"""What a noise rule is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from shaping.noise.kinds import Kind
    from shaping.noise.records import Records


@dataclass(frozen=True, slots=True)
class NoiseRule:
    """A rule: the group that a config names it by, the members it looks at, and the function that decides.

    The engine shows the rule all records at one path, where they have a member of one of its kinds.
    """

    group: str
    kinds: tuple[Kind, ...]
    apply: Callable[[Records], None]
    least: int = 1  # records at one path from which the rule has anything to say


__all__ = ["NoiseRule"]
