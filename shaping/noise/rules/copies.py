"""Members that hold the record once more, for programs, are dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaping.noise.records import NoiseRule
from shaping.noise.vocabulary import COPIES

if TYPE_CHECKING:
    from shaping.noise.records import Records


def copies(records: Records) -> None:
    """Drop what the rest of the object says."""
    for key in COPIES.intersection(records.kinds):
        records.drop_member(key, "boilerplate")


RULE = NoiseRule("boilerplate", frozenset({"long", "nested", "plain", "markup"}), copies, COPIES.__contains__)
