"""One value's way through the rules: what is hit is replaced, what is not is handed on as the same object."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from shaping.paths.grammar import join
from shaping.redaction import places
from shaping.redaction.hide import hide, suspect
from shaping.redaction.names import hide_assigned, sensitive
from shaping.redaction.rules import Hit, mark

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shaping.redaction.places import State
    from shaping.response import Json

Trail: TypeAlias = "tuple[Trail, str | int] | None"  # where we are, innermost step last: written out only for a hit

_NAMING: Final = ("name", "key", "header", "Name", "Key")
_NAMED: Final = ("value", "Value")
_BEGINS, _ENDS = "-----BEGIN", "-----END"
_BODY: Final = re.compile(r"\s*[A-Za-z0-9+/]{8,}={0,2}\s*")


class Walk:
    """The state of one call: which rules are on, and what they have hit so far."""

    def __init__(self, paths: Iterable[str] = (), *, values: bool, names: bool) -> None:
        self.hits: list[Hit] = []
        self._start = places.start(paths)
        self._values = values
        self._names = names
        self._by_value_only = values and not names and not self._start
        self._at_root = True
        self._inside_key = False  # between BEGIN and END of a private key that was split into lines

    def value(self, value: Any, trail: Trail = None, context: str = "", state: State | None = None) -> Any:
        """Give the value with secrets replaced; whatever cannot be looked at is masked, never passed."""
        try:
            return self._value(value, trail, context, self._start if state is None else state)
        except Exception:  # noqa: BLE001  redaction fails closed: a fault in it must not let a secret through
            self._hit("unreadable", trail)
            return mark("unreadable")

    def _value(self, value: Any, trail: Trail, context: str, state: State) -> Any:
        if () in state:
            return self._mask(value, "path", trail)
        if self._names and context and sensitive(context):
            return self._mask(value, "field-name", trail)
        if isinstance(value, str):
            return self._text(value, trail, context)
        if isinstance(value, (dict, list, tuple)):
            if self._clean(value):
                return value
            return self._object(value, trail, state) if isinstance(value, dict) else self._array(value, trail, state)
        if value is None or isinstance(value, (bool, int, float)):
            return value
        raise TypeError(type(value))

    def _clean(self, value: Any) -> bool:
        # Writing a branch and testing it at once is ten times faster than walking it; names and paths need the walk.
        if self._at_root:
            self._at_root = False  # whoever starts a walk has looked at the whole
            return False
        return self._by_value_only and not self._inside_key and not suspect(value)

    def _object(self, value: dict[str, Any], trail: Trail, state: State) -> dict[str, Any]:
        named = _named(value)
        changed = False
        new: dict[str, Any] = {}
        for key, member in value.items():
            written = self._key(key, trail, new)
            context = named if named and key in _NAMED else key
            inner = self.value(member, (trail, written), context, places.member(state, key))
            changed = changed or inner is not member or written is not key
            new[written] = inner
        return new if changed else value

    def _array(self, value: list[Any] | tuple[Any, ...], trail: Trail, state: State) -> Any:
        outer = self._inside_key
        pair = value[0] if len(value) == 2 and isinstance(value[0], str) else ""
        new = [
            self.value(item, (trail, index), pair if index else "", places.element(state, index, len(value)))
            for index, item in enumerate(value)
        ]
        self._inside_key = outer
        return new if any(map(_differs, new, value)) else value

    def _key(self, key: str, trail: Trail, taken: dict[str, Any]) -> str:
        written = self._text(key, trail, "") if len(key) > 11 else key
        if written is key:
            return key
        number = 1
        while written in taken:  # two secrets as keys of one object stay two keys
            number += 1
            written = f"{written.rstrip('0123456789# ')} #{number}"
        return written

    def _text(self, text: str, trail: Trail, context: str) -> str:
        rules: list[str] = []
        new = text
        if self._values:
            new, rules = self._in_split_key(text) or hide(text, context)
        if self._names and ("=" in new or ":" in new):
            assigned = hide_assigned(new, mark("field-name"))
            rules += ["field-name"] * (assigned != new)
            new = assigned
        for rule in rules:
            self._hit(rule, trail)
        return new if rules else text

    def _in_split_key(self, text: str) -> tuple[str, list[str]] | None:
        if self._inside_key:
            self._inside_key = _ENDS not in text
            return (mark("private-key"), ["private-key"]) if _BODY.fullmatch(text) else None
        self._inside_key = _BEGINS in text and "PRIVATE KEY" in text and _ENDS not in text
        return None

    def _mask(self, value: Any, rule: str, trail: Trail) -> Any:
        masked = masked_like(value, mark(rule))
        if masked == value and type(masked) is type(value):
            return value
        self._hit(rule, trail)
        return masked

    def _hit(self, rule: str, trail: Trail) -> None:
        self.hits.append(Hit(rule, write(trail)))


def masked_like(value: Any, text: str) -> Json:
    """Give a value of the same shape that says nothing: the text, 0, false, and the same within containers."""
    if isinstance(value, dict):
        return {key: masked_like(member, text) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked_like(item, text) for item in value]
    if value is None or value == "" or (isinstance(value, str) and value.startswith("[redacted:")):
        return None if value is None else str(value)
    if isinstance(value, (bool, int, float)):
        return type(value)(0)
    return text


def _named(value: dict[str, Any]) -> str:
    """Find the name in objects that keep name and value apart: `{"name": "AWS_SECRET_ACCESS_KEY", "value": …}`."""
    if not any(key in value for key in _NAMED):
        return ""
    return next((value[key] for key in _NAMING if isinstance(value.get(key), str)), "")


def _differs(new: object, old: object) -> bool:
    return new is not old


def write(trail: Trail) -> str:
    """Write a trail in the path language."""
    steps: list[str | int] = []
    while trail is not None:
        trail, step = trail
        steps.append(step)
    path = ""
    for step in reversed(steps):
        path = join(path, step)
    return path
