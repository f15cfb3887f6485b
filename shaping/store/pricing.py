"""What it would cost to ask back what was left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.paths import PathError
from shaping.store.choose import choose
from shaping.tokens import counter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shaping.response import Omission
    from shaping.tokens import TokenCounter

_MANY: Final = 200  # elements, above which a list is priced by a sample


def price(omissions: Iterable[Omission], raw: Any, tokenizer: str) -> list[Omission]:
    """Give each omission the tokens that its part of the raw value would cost; None where no path leads there."""
    counting = counter(tokenizer)
    return [replace(omission, tokens=_tokens(omission, raw, counting)) for omission in omissions]


def _tokens(omission: Omission, raw: Any, counting: TokenCounter) -> int | None:
    if omission.path == "**":  # nulls and empties from all over, told together
        return None
    try:
        return _cost(choose(raw, omission.path), counting)
    except (PathError, LookupError, TypeError, ValueError):
        return None


def _cost(value: Any, counting: TokenCounter) -> int:
    # A long list is priced by some of its elements, from all over it: 50 MB are not written to say how much they are.
    if isinstance(value, list) and len(value) > _MANY:
        some = value[:: len(value) // _MANY]
        return _cost_of(some, counting) * len(value) // len(some)
    return _cost_of(value, counting)


def _cost_of(value: Any, counting: TokenCounter) -> int:
    return int(counting.count(orjson.dumps(value).decode()))
