"""From an exception to an error that a program can branch on."""

from __future__ import annotations

from traceback import format_exception
from typing import TYPE_CHECKING

from shaping.errors.accounts import Account, account, by_kind
from shaping.errors.catalogue import registry
from shaping.errors.exceptions import TABLE, look_up
from shaping.errors.raising import ToolError, make_error
from shaping.errors.scrub import scrub

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shaping.errors.detail import ErrorDetail


def from_exception(
    exc: BaseException,
    *,
    table: Mapping[str | type, str] | Mapping[str, str] | None = None,
    debug: bool = False,
    state_changing: bool = False,
) -> ErrorDetail:
    """Describe an exception; entries of the table, by type or qualified name, outrank our own."""
    if isinstance(exc, ToolError):
        return _adjusted(exc, debug=debug, state_changing=state_changing)
    if isinstance(exc, BaseExceptionGroup):
        return from_exception(exc.exceptions[0], table=table, debug=debug, state_changing=state_changing)
    told = _account(exc)
    code = look_up(type(exc), table or {}) or told.code or look_up(type(exc), TABLE) or "INTERNAL_ERROR"
    trace = _trace(exc) if debug else None
    return make_error(code, told.message, detail=trace, state_changing=state_changing, **told.said)


def _account(exc: BaseException) -> Account:
    """Tell what happened; an exception that cannot be looked at is told by its kind."""
    try:
        return account(exc)
    except Exception:  # noqa: BLE001 (properties of any library's exception are read, and may raise anything)
        return Account(by_kind(exc))


def _adjusted(exc: ToolError, *, debug: bool, state_changing: bool) -> ErrorDetail:
    detail = exc.detail
    known = registry.find(detail.code)
    if state_changing and detail.phase != "validation" and known is not None and known.may_leave_traces:
        detail = detail.model_copy(update={"retryable": False, "retry_after": None})
    return detail.model_copy(update={"detail": detail.detail or scrub(_trace(exc))}) if debug else detail


def _trace(exc: BaseException) -> str:
    return "".join(format_exception(exc))
