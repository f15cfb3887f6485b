"""An error's members on the wire: which say something, and how they are read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from shaping.envelope.model import EnvelopeError, may_redirect
from shaping.errors import ErrorDetail, registry


def said(error: ErrorDetail, names: Iterable[str]) -> dict[str, Any]:
    """Give the members that say something, as JSON."""
    values = error.__dict__
    return {name: _plain(values[name]) for name in names if values[name] is not None and values[name] != ()}


def only_for_this_call(error: ErrorDetail) -> bool:
    """Whether the hint was written for this call, and not taken from the registry."""
    known = registry.find(error.code)
    return error.hint is not None and (known is None or known.hint != error.hint)


def read(wire: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """Take an error from the wire by a dialect's names for its members; null means not said."""
    if not isinstance(wire, Mapping):
        raise EnvelopeError(f"error is {type(wire).__name__}; expected an object")
    return _settled({ours: wire[theirs] for theirs, ours in names.items() if wire.get(theirs) is not None})


def _settled(error: dict[str, Any]) -> dict[str, Any]:
    """Leave out what the contracts tell a reader to ignore: a wait without a retry, a redirect of another code."""
    code = error.get("code")
    ignored = {"retry_after"} if error.get("retryable") is False else set()
    if isinstance(code, str) and not may_redirect(code):
        ignored.add("redirect")
    return {name: value for name, value in error.items() if name not in ignored}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return value.model_dump(exclude_none=True) if hasattr(value, "model_dump") else value
