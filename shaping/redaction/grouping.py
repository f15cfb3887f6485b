"""Hits as a reader is told them: a secret in each element of a list is one thing to know, not a thousand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shaping.paths.grammar import Each, Index, Path, parse
from shaping.redaction.rules import Hit

if TYPE_CHECKING:
    from collections.abc import Iterable

_PLACES: Final = 8  # of one rule that are told apart; an object keyed by ids could have thousands


def grouped(hits: Iterable[Hit]) -> list[Hit]:
    """Tell hits of one rule in alike elements together, and the places beyond the first few as `**`."""
    together: dict[tuple[str, str], Hit] = {}
    places: dict[str, int] = {}
    for hit in hits:
        key = hit.rule, _general(hit.path)
        if key not in together:
            places[hit.rule] = places.get(hit.rule, 0) + 1
        if places[hit.rule] > _PLACES and key not in together:
            key = hit.rule, "**"
        before = together.get(key)
        together[key] = _first(hit, key[1]) if before is None else Hit(hit.rule, key[1], before.count + 1)
    return list(together.values())


def _first(hit: Hit, general: str) -> Hit:
    return Hit(hit.rule, "**") if general == "**" else hit


def _general(path: str) -> str:
    if "[" not in path:
        return path
    return str(Path(tuple(Each() if isinstance(step, Index) else step for step in parse(path).steps)))
