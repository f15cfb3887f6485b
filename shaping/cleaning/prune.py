"""Pruning: members that are null, empty or default go."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from shaping.paths.grammar import Deep, Each, Glob, Name, Step, parse

if TYPE_CHECKING:
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
        value = _drop(value, _steps(path), default)
    return value


@lru_cache(maxsize=256)
def _steps(path: str) -> tuple[Step, ...]:
    return parse(path).steps


def _drop(value: Any, steps: tuple[Step, ...], default: Json) -> Any:
    if type(value) is list:
        inner = steps[1:] if steps and isinstance(steps[0], Each) else steps
        return _replaced(value, [_drop(item, inner, default) for item in value])
    if type(value) is not dict or not steps:
        return value
    if isinstance(steps[0], Deep):
        value = _drop(value, steps[1:], default)
        return _replaced(value, {key: _drop(item, steps, default) for key, item in value.items()})
    if not isinstance(steps[0], Name | Glob):
        return value
    members = {key: _member(item, steps, default) if steps[0].fits(key) else item for key, item in value.items()}
    return _replaced(value, {key: item for key, item in members.items() if item is not _GONE})


def _member(item: Any, steps: tuple[Step, ...], default: Json) -> Any:
    if len(steps) > 1:
        return _drop(item, steps[1:], default)
    return _GONE if type(item) is type(default) and item == default else item


def _replaced(old: Any, new: Any) -> Any:
    """Return the old container where nothing in it changed."""
    if len(old) != len(new):
        return new
    pairs = zip(old.values(), new.values(), strict=True) if type(old) is dict else zip(old, new, strict=True)
    return old if all(before is after for before, after in pairs) else new
