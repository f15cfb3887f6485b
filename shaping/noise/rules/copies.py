"""Members that hold the record once more, for programs, are dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaping.noise.records import NoiseRule
from shaping.noise.vocabulary import COPIES

if TYPE_CHECKING:
    from shaping.noise.records import Records


_NARRATIVE = "div"


def copies(records: Records) -> None:
    """Drop what the rest of the object says."""
    for key in COPIES.intersection(records.kinds):
        records.drop_member(key, "boilerplate")
    # A narrative of FHIR (`"text": {"status": "generated", "div": …}`), which the standard says has nothing of its own.
    rows = [row for row in records.rows if _NARRATIVE in row]
    if rows and all(row.get("status") == "generated" for row in rows):
        records.drop_member(_NARRATIVE, "boilerplate")


RULE = NoiseRule(
    "boilerplate", frozenset({"long", "nested", "plain", "markup"}), copies, (COPIES | {_NARRATIVE}).__contains__
)
