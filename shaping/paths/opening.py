"""How a walk looks inside a value that is not plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Opener: TypeAlias = Callable[[Any], Any]

# The exact types that have no inside. Subclasses are left out on purpose: an opener decides about those.
SCALARS = frozenset((str, int, float, bool, type(None)))
PLAIN = SCALARS | {dict, list}


def open_plainly(value: Any) -> Any:
    """Open mappings and the standard containers one level, and refuse what only an opener can look into.

    Letting an unknown object through would let excluded fields through with it.
    """
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if hasattr(value, "__dict__") and not isinstance(value, str | int | float):
        raise TypeError(f"cannot filter inside a {type(value).__name__} without an opener")
    return value


def opened(value: Any, opener: Opener) -> Any:
    """Open one value that is not plain: the result is an exact dict, an exact list, or has no inside."""
    inside = opener(value)
    if type(inside) is dict or type(inside) is list or type(inside) in SCALARS:
        return inside
    # An opener that hands back a subclass of a container has not opened it.
    return open_plainly(inside) if isinstance(inside, Mapping | list | tuple | set | frozenset) else inside
