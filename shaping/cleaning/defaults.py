"""Values that a tool's override lists as default: dropped where they stand at their path and are equal."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from shaping.paths.grammar import Deep, Each, Glob, Name, Step, parse

if TYPE_CHECKING:
    from shaping.response import Json

_GONE = object()


def without_listed(value: Any, listed: tuple[tuple[str, Json], ...]) -> Any:
    """Drop the members that equal a listed default; share what did not change."""
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
    """Give the old container where nothing in it changed."""
    if len(old) != len(new):
        return new
    pairs = zip(old.values(), new.values(), strict=True) if type(old) is dict else zip(old, new, strict=True)
    return old if all(before is after for before, after in pairs) else new
