"""A place that holds one record without noise, told by one look at each of its members.

Nested answers consist of hundreds of such places, and none of them needs the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaping.noise.encoded import CODED, is_coded
from shaping.noise.names import meaning, names_links

if TYPE_CHECKING:
    from shaping.response import Json

_MANY = 48  # members from which a record is looked at as a whole
_LONG, _CODE, _SHORT = 320, 64, 8  # characters


def members_inside(row: dict[str, Json]) -> list[str] | None:
    """Return the members of a record that hold records or lists, or None where a member could be noise."""
    if len(row) >= _MANY:
        return None
    inside = []
    for key, value in row.items():
        kind = type(value)
        if kind is str:
            # What is called HTML may say what another member says.
            if not _is_plain(key, value) or "tml" in key or "TML" in key:  # type: ignore[arg-type]
                return None
        elif kind is dict or kind is list:
            if names_links(key):
                return None
            inside.append(key)
    return inside


def _is_plain(key: str, text: str) -> bool:
    if ("/" in text and ("//" in text or "</" in text)) or ("@" in text and "git@" in text):
        return False
    size = len(text)
    if size < _SHORT:
        return True
    if size > _LONG or "\n" in text or (said := meaning(key)).opaque:
        return False
    if size < _CODE:
        return True
    given = said.identifies or said.handed
    return not text.isalnum() and (size < CODED or given or not is_coded(text))
