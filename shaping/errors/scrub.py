"""Taking secrets out of what an error says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from shaping.errors.detail import ErrorDetail

_SAID = ("message", "hint", "detail", "docs_url", "details", "next_actions", "similar")


def scrub(text: str) -> str:
    """Give the text without secrets."""
    from shaping.redaction import redact_text  # noqa: PLC0415  nothing needs the rules until something has gone wrong

    return redact_text(text)[0]


def scrub_value(value: Any) -> Any:
    """Give the value as plain data without secrets."""
    from shaping.redaction import redact  # noqa: PLC0415  nothing needs the rules until something has gone wrong

    return redact(_plain(value))[0]


def scrub_error(error: ErrorDetail) -> ErrorDetail:
    """Give an error without secrets, whoever described it; itself where it has none."""
    from shaping.redaction.hide import suspect  # noqa: PLC0415  nothing needs the rules until something has gone wrong

    said = {name: getattr(error, name) for name in _SAID}
    command = error.redirect.command if error.redirect is not None else None
    if not suspect([said, command]):
        return error
    clean = scrub_value(said)
    clean |= {name: tuple(clean[name]) for name in ("next_actions", "similar")}
    if error.redirect is not None:
        clean["redirect"] = error.redirect.model_copy(update={"command": scrub(error.redirect.command)})
    return error.model_copy(update=clean)


def _plain(value: Any) -> Any:
    try:
        return orjson.loads(orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS))
    except (TypeError, ValueError):  # a lone surrogate or an integer too wide for JSON: its text will do
        return _plain_by_hand(value)


def _plain_by_hand(value: Any) -> Any:
    if isinstance(value, dict):
        return {_text(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return _text(value)


def _text(value: Any) -> str:
    return str(value).encode(errors="replace").decode()
