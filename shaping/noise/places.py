"""Where values stand in a payload: the way to them, and what is around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from shaping.paths import join

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shaping.response import Json

    Owners = Callable[[], Sequence[dict[str, Json]]]

# The way to a place, last step first: a member's name, or None for the elements of a list. Most are never written out.
Trail: TypeAlias = "tuple[Trail, str | None] | None"


class Place(NamedTuple):
    """Where values stand: in a list, in a record with a page of its own, in a record with so many other members."""

    listed: bool = False
    nested: bool = False
    around: int = 0
    owners: Owners | None = None


def written(trail: Trail) -> str:
    """Write the way to a place in the path language."""
    steps = []
    while trail is not None:
        trail, step = trail
        steps.append(step)
    path = ""
    for step in reversed(steps):
        path = f"{path}[]" if step is None else joined(path, step)
    return path


def joined(path: str, key: str) -> str:
    """Write a member's path; most names need no quotes, and there are many."""
    return f"{path}.{key}" if path and key.isidentifier() else join(path, key)


def picked(owners: Owners | None, places: list[int]) -> Owners | None:
    """Give the owners of some of the values."""
    if owners is None:
        return None

    def pick() -> list[dict[str, Json]]:
        every = owners()
        return [every[index] for index in places]

    return pick


def spread(owners: Owners | None, lists: Sequence[list[Any]]) -> Owners | None:
    """Give every element of a list the owner of the list; few places ever ask."""
    if owners is None:
        return None
    return lambda: [owner for owner, elements in zip(owners(), lists, strict=True) for _ in elements]
