"""The texts of an error as plain data, changed and without secrets; loaded without the model of an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.redaction import redact
from shaping.values import to_plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from shaping.errors.detail import ErrorDetail

_TEXTS = ("message", "hint", "detail", "docs_url", "details", "next_actions", "similar", "extensions")


def plain_without_secrets(value: Any) -> Any:
    """Return the value as plain data without secrets."""
    return redact(to_plain(value))[0]


def redact_error(error: ErrorDetail) -> ErrorDetail:
    """Return an error without secrets; the same object where it has none."""
    return change_texts(error, lambda texts: {name: redact(value)[0] for name, value in texts.items()})


def change_texts(error: ErrorDetail, change: Callable[[dict[str, Any]], dict[str, Any]]) -> ErrorDetail:
    """Return an error with its texts changed by a function; the same object where nothing changes."""
    texts = {name: value for name in _TEXTS if (value := getattr(error, name))}
    if error.redirect is not None:
        texts["redirect"] = error.redirect.command
    # It may hold the caller's own objects, which must not be changed: plain data is.
    texts = to_plain(texts)
    clean = change(texts)
    if clean == texts:
        return error
    clean = {name: clean.get(name) for name in texts} | clean
    clean |= {name: tuple(clean[name] or ()) for name in ("next_actions", "similar") if name in clean}
    if error.redirect is not None:
        command = clean["redirect"]
        clean["redirect"] = None if command is None else error.redirect.model_copy(update={"command": command})
    return error.model_copy(update=clean)
