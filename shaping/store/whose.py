"""Which record each value is of, where a path gives values of several records and some of them have none."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

from shaping.paths import Path, parse
from shaping.paths.grammar import Each, Index, Name, Slice
from shaping.paths.selection import matches

if TYPE_CHECKING:
    from shaping.paths.grammar import Step


def whose(value: Any, path: str) -> str | None:
    """Write the path that shows beside each value what tells its record from the others; None where the order does."""
    steps = parse(path).steps if path else ()
    records, above, below = _records(value, steps)
    if len(records) < 2 or not below or all(_has_one(record, below) for record in records):
        return None
    name = _telling(records)
    return None if name is None else f"{Path((*above, Name(name)))},{path}"


def _records(value: Any, steps: tuple[Step, ...]) -> tuple[list[Any], tuple[Step, ...], tuple[Step, ...]]:
    """Find the list whose elements a path goes through, the steps to those, and the steps below."""
    for at, step in enumerate(steps):
        if isinstance(value, list) and not isinstance(step, Index):
            through = at + isinstance(step, Each | Slice)
            part = value[step.start : step.stop] if isinstance(step, Slice) else value
            return part, steps[:through], steps[through:]
        if not isinstance(step, Name | Index):
            break
        value = value[step.key if isinstance(step, Name) else step.at]
    return [], (), ()


def _has_one(record: Any, steps: tuple[Step, ...]) -> bool:
    return len(list(islice(matches(record, steps), 2))) == 1


def _telling(records: list[Any]) -> str | None:
    """Find the shortest member that is another one in every record."""
    if not all(isinstance(record, dict) for record in records):
        return None
    sizes = {}
    for name in records[0]:
        values = [record.get(name) for record in records]
        if all(type(value) in {int, str} for value in values) and len(set(values)) == len(values):
            sizes[name] = len(orjson.dumps(values))
    return min(sizes, key=sizes.__getitem__, default=None)
