"""Pruning: members that are null, empty or default go."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from shaping.paths.rules import after, fits_key, rule

if TYPE_CHECKING:
    from shaping.paths.rules import Rest
    from shaping.response import Json
    from shaping.settings.plan import Empties


_GONE = object()
_NESTED = frozenset({dict, list})
_MAY_GO = _NESTED | {type(None)}
_MANY = 32  # members or elements from which it is faster to look at all of their types first


def without_empties(value: Any, flags: Empties) -> Any:
    """Drop members that are null, empty or default; share what did not change."""
    kept = _without_listed(value, flags.default_values) if flags.defaults and flags.default_values else value
    if type(kept) is dict:
        kept = _object(kept, flags)
    elif type(kept) is list:
        kept = _array(kept, flags)
    # Where nothing would be left, the top level stays as it was: "no matches" must not look like "field removed".
    return value if value and not kept and type(kept) in {dict, list} else kept


def _object(value: dict[str, Any], flags: Empties) -> dict[str, Any]:
    if len(value) > _MANY and _MAY_GO.isdisjoint(map(type, value.values())):
        return value
    out: dict[str, Any] | None = None
    for key, item in value.items():
        kind = type(item)
        if kind is str:
            continue
        if item is None:
            new = _GONE if flags.nulls else item
        elif kind is dict:
            new = _object(item, flags)
            if not new and flags.empty_objects:
                new = _GONE
        elif kind is list:
            new = _array(item, flags)
            if not new and flags.empty_arrays:
                new = _GONE
        else:
            continue
        if new is not item:
            if out is None:
                out = dict(value)
            if new is _GONE:
                del out[key]
            else:
                out[key] = new
    return value if out is None else out


def _array(value: list[Any], flags: Empties) -> list[Any]:
    # Elements stay even where they are null or empty: their position and their number are information.
    if len(value) > _MANY and _NESTED.isdisjoint(map(type, value)):
        return value
    out: list[Any] | None = None
    for index, item in enumerate(value):
        kind = type(item)
        if kind is dict:
            new: Any = _object(item, flags)
        elif kind is list:
            new = _array(item, flags)
        else:
            continue
        if new is not item:
            if out is None:
                out = list(value)
            out[index] = new
    return value if out is None else out


def _without_listed(value: Any, listed: tuple[tuple[str, Json], ...]) -> Any:
    """Drop members at listed paths whose value equals the listed default; share what did not change."""
    for path, default in listed:
        value = _drop(value, frozenset((_rule(path),)), default)
    return value


_rule = lru_cache(maxsize=256)(rule)


def _drop(value: Any, rests: frozenset[Rest], default: Json) -> Any:
    if type(value) is list:
        return _replaced(value, [_drop(item, rests, default) for item in value])
    if type(value) is not dict:
        return value
    members: dict[str, Any] = {}
    for key, item in value.items():
        left = frozenset(after(rests, fits_key(key)))
        if () not in left or type(item) is not type(default) or item != default:
            members[key] = _drop(item, left - {()}, default) if left else item
    return _replaced(value, members)


def _replaced(old: Any, new: Any) -> Any:
    """Return the old container where nothing in it changed."""
    if len(old) != len(new):
        return new
    pairs = zip(old.values(), new.values(), strict=True) if type(old) is dict else zip(old, new, strict=True)
    return old if all(before is now for before, now in pairs) else new
