"""A failure that only an envelope's source tells: a status, an exit code, blocks of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shaping.errors import from_exit_code, from_status

if TYPE_CHECKING:
    from shaping.errors import ErrorDetail


def untold(meta: Mapping[str, Any]) -> ErrorDetail | None:
    """Describe the failure by the source's own sign, where it is one that a code stands for."""
    status, exit_code = meta.get("status_code"), meta.get("exit_code")
    if type(status) is int and status >= 400:
        return from_status(status, headers=_headers(meta.get("headers")))
    if type(exit_code) is int and exit_code > 0:
        return from_exit_code(exit_code, foreign=True)
    return None


def _headers(said: Any) -> dict[str, str]:
    """Give each header once; the last of several is the one that counts here."""
    if not isinstance(said, Mapping):
        return {}
    single = {name: value[-1] if isinstance(value, list) and value else value for name, value in said.items()}
    return {name: value for name, value in single.items() if isinstance(name, str) and isinstance(value, str)}
