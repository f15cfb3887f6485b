"""How large the parts of a value are, in bytes of JSON, looked at no further than it matters."""

from __future__ import annotations

from typing import Any

import orjson


class Sizes:
    """Sizes of one value's parts; each element of a list is written once, and remembered."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}

    def of(self, value: Any, cap: int) -> int:
        """Give the size of a value, or any number above the cap as soon as it is clear that it is larger."""
        if isinstance(value, dict):
            return self._object(value, cap)
        if isinstance(value, list):
            return self._list(value, cap)
        return scalar(value)

    def element(self, value: Any) -> int:
        """Give the size of a list's element, comma included."""
        if not isinstance(value, (dict, list)):
            return scalar(value) + 1
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = _written(value) + 1
        return known

    def _list(self, value: list[Any], cap: int) -> int:
        total = 2
        for item in value:
            total += self.element(item)
            if total > cap:
                break
        return total

    def _object(self, value: dict[str, Any], cap: int) -> int:
        total = 2
        for key, member in value.items():
            total += len(key) + 4 + self.of(member, cap - total)
            if total > cap:
                break
        return total


def scalar(value: Any) -> int:
    """Give the size of a string, a number, a boolean or null."""
    return len(value) + 2 if isinstance(value, str) else len(str(value))


def _written(value: Any) -> int:
    try:
        return len(orjson.dumps(value))
    except (TypeError, ValueError, RecursionError):  # deeper than orjson goes: measured by its text
        return len(str(value))
