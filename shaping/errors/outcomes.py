"""Errors told by a number: an HTTP status, an exit code, a signal; and the HTTP errors of any client library."""

from __future__ import annotations

import json
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from time import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from shaping.errors.codes import EXIT_TABLES, ExitTable
from shaping.errors.detail import make_error

if TYPE_CHECKING:
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
    """Return the code for an HTTP error status."""
    return _STATUS.get(status) or ("INTERNAL_ERROR" if status >= 500 else "BAD_ARGUMENT")


def from_status(
    status: int,
    message: str | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    **fields: Any,
) -> ErrorDetail:
    """Describe an HTTP error status; `Retry-After` is read where the server sent it."""
    fields.setdefault("http", status if 400 <= status <= 599 else None)
    fields.setdefault("retry_after", retry_after(headers or {}))
    return make_error(code_for_status(status), message or f"HTTP {status} {phrase(status)}".strip(), **fields)


def retry_after(headers: Mapping[str, str]) -> int | None:
    """Read how many seconds a server asks to wait: it says seconds or a date."""
    text = next((value for name, value in headers.items() if name.lower() == "retry-after"), "").strip()
    if text.isdecimal():
        return int(text[:9])
    try:
        return max(0, round(parsedate_to_datetime(text).timestamp() - time()))
    except (ValueError, OverflowError):
        return None


def code_for_exit(
    exit_code: int, signal: object = None, *, foreign: bool = False, table: ExitTable = "contract"
) -> str:
    """Return the code for how a program ended; a foreign one's numbers are its own, but for what the shell adds."""
    if signal is not None or exit_code < 0 or (exit_code - 128) in _SIGNALS:
        return "ABORTED"
    entry = None if foreign else EXIT_TABLES[table].get(exit_code)
    return _SHELL.get(exit_code) or (entry and entry.code) or "INTERNAL_ERROR"


def from_exit_code(
    exit_code: int,
    message: str | None = None,
    *,
    signal: int | str | None = None,
    foreign: bool = False,
    table: ExitTable = "contract",
    **fields: Any,
) -> ErrorDetail:
    """Describe how a program ended, unsuccessfully."""
    ended = f"The command exited with {exit_code}" if signal is None else f"The command was ended by signal {signal}"
    return make_error(code_for_exit(exit_code, signal, foreign=foreign, table=table), message or ended, **fields)


def phrase(status: int) -> str:
    """Return the words that go with a status, if it is a known one."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def http_error(exc: BaseException) -> tuple[str, str, dict[str, Any]] | None:
    """Return the sentence, the code and the rest; None where the exception stands for no HTTP status."""
    status = _status_of(exc)
    if status is None:
        return None
    response = getattr(exc, "response", None)
    items = getattr(getattr(response, "headers", None) or getattr(exc, "headers", None), "items", None)
    wait = retry_after(dict(items()) if callable(items) else {})
    return _http_message(exc, response, status), code_for_status(status), {"http": status, "retry_after": wait}


def _status_of(exc: BaseException) -> int | None:
    """Find the status, however the library spells it."""
    response = getattr(exc, "response", None)
    places = [(response, "status_code"), (response, "status"), (exc, "status_code"), (exc, "status"), (exc, "code")]
    for owner, name in places:
        status = getattr(owner, name, None)
        if isinstance(status, int) and 400 <= status <= 599:
            return status
    return None


def _http_message(exc: BaseException, response: Any, status: int) -> str:
    place = _address(_url(response) or _url(exc))
    upstream = _message_of(response) or getattr(exc, "detail", None)
    reason = f": {upstream[:300]}" if isinstance(upstream, str) and upstream else ""
    return f"HTTP {status} {phrase(status)}".strip() + (f" from {place}" if place else "") + reason


def _url(owner: Any) -> Any:
    try:
        return getattr(owner, "url", None)
    except Exception:  # noqa: BLE001  httpx raises where a response was made without its request
        return None


def _address(url: Any) -> str:
    """Return an address without its user, password, query and fragment."""
    try:
        parts = urlsplit("" if url is None else str(url))
    except ValueError:
        return ""
    return f"{parts.hostname or ''}{parts.path}"


def _message_of(response: Any) -> str | None:
    try:
        return message_in(json.loads(response.content))
    except Exception:  # noqa: BLE001  any client library may be behind this, and its answer may be unread or not JSON
        return None


def message_in(body: Any) -> str | None:
    """Find the sentence that the JSON body of an error holds."""
    for name in ("message", "error", "detail", "title", "error_description"):
        found = body.get(name) if isinstance(body, Mapping) else None
        found = found.get("message") if isinstance(found, Mapping) else found
        if isinstance(found, str) and found:
            return found
    return None
