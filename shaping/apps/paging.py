"""The next page of a cut answer: the elements after it, as many as were asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orjson import dumps

from shaping.store.expand import cursor_at, resume
from shaping.store.pages import Position

if TYPE_CHECKING:
    from shaping.shaper import Shaper


@dataclass(frozen=True, slots=True)
class Next:
    """What comes next: the values as they were, where in the answer they stand, and where to go on."""

    value: Any
    path: str
    cursor: str | None


def next_page(shaper: Shaper, ref: str, cursor: str, limit: int | None) -> Next:
    """Expand one page, and of a list no more than the limit; a wrong ref or cursor raises what it is."""
    shaped = shaper.expand(ref, cursor=cursor, surface="command", written=lambda page: dumps(page.value).decode())
    secret, value, after = shaper.keeper("command").secret or b"", shaped.data, shaped.cursor
    path, start = resume(secret, ref, cursor)
    plain = isinstance(value, list) and (
        after is None or resume(secret, ref, after) == (path, Position(start.trail, start.offset + len(value)))
    )
    if plain and limit is not None and len(value) > limit:
        going_on = Position(start.trail, start.offset + limit)
        return Next(value[:limit], path, cursor_at(secret, ref, path, going_on))
    return Next(value, path, after)
