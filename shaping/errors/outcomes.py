"""Outcomes that other protocols tell by a number: an HTTP status, an exit code, a signal."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from http import HTTPStatus
from time import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from shaping.errors.exits import EXIT_CODES
from shaping.errors.raising import make_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shaping.errors.detail import ErrorDetail

_STATUS: Mapping[int, str] = MappingProxyType(
    {
        401: "AUTH_REQUIRED",
        402: "PAYMENT_REQUIRED",
        403: "PERMISSION_DENIED",
        404: "NOT_FOUND",
        405: "NOT_IMPLEMENTED",
        408: "TIMEOUT",
        409: "CONFLICT",
        410: "NOT_FOUND",
        412: "PRECONDITION",
        413: "TOO_LARGE",
        414: "TOO_LARGE",
        423: "CONFLICT",
        424: "DEPENDENCY_UNAVAILABLE",
        428: "PRECONDITION",
        429: "RATE_LIMITED",
        431: "TOO_LARGE",
        499: "ABORTED",
        501: "NOT_IMPLEMENTED",
        502: "UNAVAILABLE",
        503: "UNAVAILABLE",
        504: "TIMEOUT",
        507: "RESOURCE_EXHAUSTED",
    },
)
_SIGNALS = range(1, 65)
# What a shell reports for a program that it could not run: found but not executable, and not found.
_SHELL: Mapping[int, str] = MappingProxyType({126: "PERMISSION_DENIED", 127: "DEPENDENCY_UNAVAILABLE"})


def code_for_status(status: int) -> str:
    """Give the code for an HTTP error status."""
    return _STATUS.get(status) or ("INTERNAL_ERROR" if status >= 500 else "BAD_ARGUMENT")


def from_status(
    status: int,
    message: str | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    **said: Any,
) -> ErrorDetail:
    """Describe an HTTP error status; `Retry-After` is read where the server sent it."""
    said.setdefault("http", status if 400 <= status <= 599 else None)
    said.setdefault("retry_after", retry_after(headers or {}))
    return make_error(code_for_status(status), message or f"HTTP {status} {phrase(status)}".strip(), **said)


def retry_after(headers: Mapping[str, str]) -> int | None:
    """Read how many seconds a server asks to wait: it says seconds or a date."""
    text = next((value for name, value in headers.items() if name.lower() == "retry-after"), "").strip()
    if text.isdecimal():
        return int(text[:9])
    try:
        return max(0, round(parsedate_to_datetime(text).timestamp() - time()))
    except (ValueError, OverflowError):
        return None


def code_for_exit(exit_code: int, signal: object = None, *, foreign: bool = False) -> str:
    """Give the code for how a program ended; a foreign one's numbers are its own, but for what the shell adds."""
    if signal is not None or exit_code < 0 or (exit_code - 128) in _SIGNALS:
        return "ABORTED"
    entry = None if foreign else EXIT_CODES.get(exit_code)
    return _SHELL.get(exit_code) or (entry and entry.code) or "INTERNAL_ERROR"


def from_exit_code(
    exit_code: int,
    message: str | None = None,
    *,
    signal: int | str | None = None,
    foreign: bool = False,
    **said: Any,
) -> ErrorDetail:
    """Describe how a program ended, unsuccessfully."""
    ended = f"The command exited with {exit_code}" if signal is None else f"The command was ended by signal {signal}"
    return make_error(code_for_exit(exit_code, signal, foreign=foreign), message or ended, **said)


def phrase(status: int) -> str:
    """Give the words that go with a status, if it is a known one."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
