"""Nulls, empty containers, default values and noise go; what is left says the same in fewer words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from shaping.cleaning.defaults import without_listed
from shaping.paths.grammar import join
from shaping.response import Omission, Reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from shaping.response import Draft
    from shaping.settings.plan import Prune

# Below this many bytes of JSON there is no noise worth a look.
QUIET = 512
# Bytes of a notice with its ref, generously: what does not save more than telling of it costs is not left out.
NOTICE = 160

_GONE = object()


def prune(value: Any, draft: Draft) -> Any:
    """Leave out what the plan calls empty, default or noise."""
    plan = draft.plan
    if plan.prune.anything:
        draft.before_prune = value
        value = without_empties(value, plan.prune)
    if plan.noise and (size := _size(value)) >= QUIET:
        value = _without_noise(value, size, draft)
    return value


def _without_noise(value: Any, size: int, draft: Draft) -> Any:
    from shaping.noise import reduce  # noqa: PLC0415 (the rules are loaded when a payload needs them)

    quieter, left_out = reduce(value, draft.plan.noise, arguments=draft.call.arguments)
    spared = size - _size(quieter) if left_out else 0
    if spared <= NOTICE:
        return value
    draft.omissions.extend(left_out)
    draft.spared += spared
    return quieter


def without_empties(value: Any, flags: Prune) -> Any:
    """Drop members that are null, empty or default; share what did not change."""
    kept = without_listed(value, flags.default_values) if flags.defaults and flags.default_values else value
    if type(kept) is dict:
        kept = _object(kept, flags)
    elif type(kept) is list:
        kept = _array(kept, flags)
    # Where nothing would be left, the top level stays as it was: "no matches" must not look like "field removed".
    return value if value and not kept and type(kept) in {dict, list} else kept


def empties_left_out(value: Any, flags: Prune) -> list[Omission]:
    """Say what `without_empties` leaves out, one entry for each path and reason."""
    counts: dict[tuple[str, Reason], int] = {}

    def record(path: str, reason: Reason) -> None:
        counts[path, reason] = counts.get((path, reason), 0) + 1

    kept = without_empties(value, flags)
    if kept is not value:
        _record_missing(value, kept, "", record)
    return [Omission(path, count, reason) for (path, reason), count in counts.items()]


def _object(value: dict[str, Any], flags: Prune) -> dict[str, Any]:
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


def _array(value: list[Any], flags: Prune) -> list[Any]:
    # Elements stay even where they are null or empty: their position and their number are information.
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


def _record_missing(value: Any, kept: Any, path: str, record: Callable[[str, Reason], None]) -> None:
    if type(value) is dict:
        for key, item in value.items():
            here = join(path, key)
            if key not in kept:
                record(here, "null" if item is None else "empty" if type(item) in {dict, list} else "default")
            elif kept[key] is not item:
                _record_missing(item, kept[key], here, record)
    elif type(value) is list:
        for old, new in zip(value, kept, strict=True):
            if new is not old:
                _record_missing(old, new, f"{path}[]", record)


def _size(value: Any) -> int:
    return len(orjson.dumps(value)) if type(value) in {dict, list, str} else 0
