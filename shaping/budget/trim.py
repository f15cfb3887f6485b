"""The limits that hold for every list and every string, whatever the tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shaping.budget.sizes import scalar
from shaping.budget.strings import shorten

if TYPE_CHECKING:
    from shaping.budget.model import Budget

# No text has more than so many bytes a token in practice; what lies beyond is not looked at.
_BYTES_A_TOKEN: Final = 32


class Trim:
    """Applies max_items and max_string to as much of a value as a token budget can show."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._left = float("inf") if budget.max_tokens is None else budget.max_tokens * _BYTES_A_TOKEN
        self.whole: dict[int, str] = {}  # the full text of each string that was cut, by the cut one's id
        self._alive: list[str] = []  # so that no id is used twice

    def value(self, value: Any) -> Any:
        """Give the value with its lists and strings within the limits; the same object where they are."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return self._list(value)
        if isinstance(value, dict):
            new = {key: self.value(member) for key, member in value.items()}
            return new if any(new[key] is not member for key, member in value.items()) else value
        return value

    def _list(self, value: list[Any]) -> list[Any]:
        new: list[Any] = []
        for item in value[: self._budget.max_items]:
            if self._left <= 0 and new:
                break
            self._left -= 1
            new.append(self.value(item))
        same = len(new) == len(value) and all(a is b for a, b in zip(new, value, strict=True))
        return value if same else new

    def _text(self, text: str) -> str:
        limit = self._budget.max_string
        new = text if limit is None else shorten(text, limit)
        self._left -= scalar(new)
        if new is not text:
            self.whole[id(new)] = text
            self._alive.append(new)
        return new
