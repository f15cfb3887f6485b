"""What a cut value lacks, found by laying it beside the whole one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from shaping.budget.cut import columns
from shaping.budget.limits import gone
from shaping.paths import join
from shaping.response import Listed, Omission, Reason

_MAP: Final = 32  # members above which an object's members are told together, as a list's elements are

Place: TypeAlias = "tuple[str, str]"  # the exact path, and the same with every element as `[]`


@dataclass
class Lack:
    """What was found missing so far; equal things in many elements of a list are one."""

    lists: dict[tuple[str, int], list[tuple[str, int]]] = field(default_factory=dict)
    others: dict[tuple[str, Reason], list[tuple[str, int]]] = field(default_factory=dict)
    first: tuple[str, int] | None = None  # the first list that was cut, and how many elements are shown
    first_text: tuple[str, int] | None = None  # the first text that was cut, and where

    def omissions(self) -> tuple[Omission, ...]:
        """List what is missing, one entry for each rule."""
        tails = [_tail(general, shown, places) for (general, shown), places in self.lists.items()]
        return (*tails, *(_grouped(general, reason, places) for (general, reason), places in self.others.items()))

    def listed(self) -> tuple[Listed, ...]:
        """List, for each list that was cut, how many of how many elements are shown."""
        return tuple(_listed(general, shown, places) for (general, shown), places in self.lists.items())


def lacks(before: Any, after: Any) -> Lack:
    """Compare a value with what is left of it; parts that are the same objects are not looked at."""
    found = Lack()
    _compare(before, after, ("", ""), found)
    return found


def _compare(before: Any, after: Any, place: Place, found: Lack) -> None:
    if before is after:
        return
    if isinstance(before, list):
        for number, (old, new) in enumerate(zip(before, after, strict=False)):
            if old is new:  # so that no path is written for the many that stay
                continue
            _compare(old, new, (join(place[0], number), join(place[1], slice(None))), found)
        if len(after) < len(before):
            found.lists.setdefault((place[1], len(after)), []).append((place[0], len(before)))
            found.first = found.first or (place[0], len(after))
    elif isinstance(before, dict):
        _compare_members(before, after, place, found)
    elif before != after:
        head, missing = gone(before, after)
        found.others.setdefault((place[1], "string"), []).append((place[0], missing))
        found.first_text = found.first_text or (place[0], head)


def _compare_members(before: dict[str, Any], after: dict[str, Any], place: Place, found: Lack) -> None:
    together = before if len(before) > _MAP else columns(before)
    general = f"{place[1]}.*".removeprefix(".")
    for key, old in before.items():
        if key in after:
            where = general if key in together else join(place[1], key)
            _compare(old, after[key], (join(place[0], key), where), found)
    if len(after) < len(before):
        found.others.setdefault((place[1], "depth"), []).append((place[0], len(before) - len(after)))


def _listed(general: str, shown: int, places: list[tuple[str, int]]) -> Listed:
    totals = [total for _, total in places]
    if len(places) > 1 and general.endswith("*") and min(totals) == max(totals):
        # Columns of a table: the number of its rows is what a reader needs to ask for the others.
        return Listed(general, shown, totals[0])
    return Listed(places[0][0] if len(places) == 1 else general, shown * len(places), sum(totals))


def _tail(general: str, shown: int, places: list[tuple[str, int]]) -> Omission:
    count = sum(total - shown for _, total in places)
    if len(places) == 1:
        return Omission(join(places[0][0], slice(shown, places[0][1])), count, "items")
    return Omission(join(general, slice(shown, None)), count, "items")


def _grouped(general: str, reason: Reason, places: list[tuple[str, int]]) -> Omission:
    path = places[0][0] if len(places) == 1 else general
    return Omission(path, sum(count for _, count in places), reason)
