"""An error: its code, its message, what a caller can do next, and the exception that carries it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from time import time
from typing import Any, Literal, Self, TypeAlias, TypedDict, Unpack
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

from shaping.errors.codes import EXIT_TABLES, CodeDefinition, ExitTable, codes_by, registry
from shaping.errors.texts import redact_error
from shaping.values import to_plain

Phase: TypeAlias = Literal["validation", "execution", "cleanup"]


class Redirect(BaseModel):
    """The exact replacement for a call that has moved, and whether to remember it."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)  # other implementations may add members

    command: str
    permanent: bool
    reason: str | None = None  # renamed, restructured, deprecated, typo_corrected, or another implementation's reason


class ErrorDetail(BaseModel):
    """An error that a program can branch on; a member is None where it is not known."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    code: str = Field(min_length=1)
    message: str
    hint: str | None = None
    retryable: bool | None = None
    http: int | None = None
    retry_after: int | float | None = Field(default=None, ge=0, allow_inf_nan=False)
    phase: Phase | None = None  # "validation" guarantees that nothing was done
    next_actions: tuple[str, ...] = ()
    similar: tuple[Any, ...] = ()  # the nearest valid spellings, best first
    details: dict[str, Any] | None = None
    detail: str | None = None  # the upstream's own message, or the traceback under debug
    redirect: Redirect | None = None
    docs_url: str | None = None
    extensions: dict[str, Any] | None = None  # members that another implementation gave

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.retry_after is not None and self.retryable is False:
            raise ValueError("retry_after is only for an error that is retryable")
        return self

    @property
    def has_own_hint(self) -> bool:
        """Whether the hint was written for this call, and not taken from the registry."""
        known = registry.find(self.code)
        return self.hint is not None and (known is None or known.hint != self.hint)

    def members(self) -> dict[str, Any]:
        """Return every member that is set, as JSON."""
        dumped = self.model_dump(mode="json", exclude_none=True)
        return {name: value for name, value in dumped.items() if value != []}


_PLAIN: tuple[tuple[str, type], ...] = (("details", dict), ("similar", list), ("next_actions", list))
_ARG_ERROR, _REDIRECTED = 3, 13  # exit codes of the contract
_CHECK_FIRST = "The call may have changed something before it failed; look at the current state before you call again."


class ErrorFields(TypedDict, total=False):
    """The optional fields of an error; the registry has defaults for the others."""

    hint: str | None
    details: Mapping[str, Any] | None
    similar: Iterable[Any]
    next_actions: Iterable[str]
    retryable: bool | None
    retry_after: float | None
    phase: Phase | None
    detail: str | None
    http: int | None
    redirect: Redirect | None
    docs_url: str | None
    state_changing: bool
    foreign: bool  # another program sent the code


def make_error(code: str, message: str, **fields: Unpack[ErrorFields]) -> ErrorDetail:
    """Make an error from its code: the fields given for this call, and the registry's defaults for the rest.

    An unregistered code is refused (UnknownCodeError), unless it is `foreign`: another program sent it.
    """
    given: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
    state_changing = given.pop("state_changing", False)
    known = registry.find(code) if given.pop("foreign", False) else registry.definition(code)
    if known is not None:
        given |= _by_definition(given, known, state_changing=state_changing)
    if not given.setdefault("retryable", False):
        given.pop("retry_after", None)
    given |= {name: to_plain(kind(given[name])) for name, kind in _PLAIN if name in given}
    return redact_error(ErrorDetail(code=registry.canonical(code), message=str(message), **{"http": 500, **given}))


def _by_definition(given: dict[str, Any], known: CodeDefinition, *, state_changing: bool) -> dict[str, Any]:
    """Return the fields that a code's definition decides; a call that changes state may not be repeated."""
    # Validation comes before any work, so a call that failed in it may always be repeated.
    risky = state_changing and given.get("phase") != "validation"
    return {
        "retryable": given.get("retryable", known.retryable) and not (risky and known.may_leave_traces),
        "hint": given.get("hint", _CHECK_FIRST if risky and known.exit_code == _ARG_ERROR else known.hint),
        "http": given.get("http", known.http),
        # An envelope refuses any other code with a redirect, and that would cost the caller the error itself.
        "redirect": given.get("redirect") if known.exit_code == _REDIRECTED else None,
    }


class ToolError(Exception):
    """The exception by which a tool reports a coded error: `ToolError("NOT_FOUND", "there is no issue 7")`.

    `code` is a registered code; retryability, HTTP status and hint come from the registry unless `fields` give them:
    `hint`, `details`, `similar`, `next_actions`, `retryable`, `retry_after`, `phase`, `redirect` and the like.
    """

    def __init__(self, code: str, message: str, **fields: Unpack[ErrorFields]) -> None:
        super().__init__(message)
        self.detail = make_error(code, message, **fields)

    @classmethod
    def of(cls, detail: ErrorDetail) -> Self:
        """Make the exception for an error that exists; secrets in it are masked here."""
        detail = redact_error(detail)
        error = cls.__new__(cls, detail.message)
        error.args = (detail.message,)
        error.detail = detail
        return error

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).of, (self.detail,)

    @property
    def code(self) -> str:
        """The stable name to branch on."""
        return self.detail.code

    def __str__(self) -> str:
        return f"{self.detail.code}: {self.detail.message}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.detail.code!r}, {self.detail.message!r})"


_STATUS: Mapping[int, str] = codes_by("statuses")
_SIGNALS = range(1, 65)
# What a shell reports for a program that it could not run: found but not executable, and not found.
_SHELL: Mapping[int, str] = {126: "PERMISSION_DENIED", 127: "DEPENDENCY_UNAVAILABLE"}


def code_for_status(status: int) -> str:
    """Return the code for an HTTP error status."""
    return _STATUS.get(status) or ("INTERNAL_ERROR" if status >= 500 else "BAD_ARGUMENT")


def from_status(
    status: int, message: str | None = None, *, headers: Mapping[str, str] | None = None, **fields: Any
) -> ErrorDetail:
    """Describe an HTTP error status; `Retry-After` is read where the server sent it."""
    fields.setdefault("http", status if 400 <= status <= 599 else None)
    fields.setdefault("retry_after", retry_after(headers or {}))
    return make_error(code_for_status(status), message or f"HTTP {status} {phrase(status)}".strip(), **fields)


def retry_after(headers: Mapping[str, str]) -> int | None:
    """Read the seconds to wait from a Retry-After header, which holds seconds or a date."""
    text = next((value for name, value in headers.items() if name.lower() == "retry-after"), "").strip()
    if text.isdecimal():
        return int(text[:9])
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 (takes 8 ms to import, and few answers give a date)

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
    """Return the reason phrase of a status, empty for an unknown one."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def http_error(exc: BaseException) -> tuple[str, str, dict[str, Any]] | None:
    """Return an HTTP exception's message, code and other fields; None for any other exception."""
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
    """Find the message in the JSON body of an error."""
    for name in ("message", "error", "detail", "title", "error_description"):
        found = body.get(name) if isinstance(body, Mapping) else None
        found = found.get("message") if isinstance(found, Mapping) else found
        if isinstance(found, str) and found:
            return found
    return None
