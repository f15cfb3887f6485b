"""Errors that a tool raises on purpose, and how an error's blanks are filled from the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from shaping.errors.catalogue import registry
from shaping.errors.detail import ErrorDetail, Phase, Redirect
from shaping.errors.scrub import scrub, scrub_error, scrub_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_REDIRECTED = 13  # the exit code


def make_error(
    code: str,
    message: str,
    *,
    hint: str | None = None,
    details: Mapping[str, Any] | None = None,
    similar: Iterable[Any] = (),
    next_actions: Iterable[str] = (),
    retryable: bool | None = None,
    retry_after: float | None = None,
    phase: Phase | None = None,
    detail: str | None = None,
    http: int | None = None,
    redirect: Redirect | None = None,
    docs_url: str | None = None,
    state_changing: bool = False,
) -> ErrorDetail:
    """Describe an error by its code: what is said for this call stands, the registry says the rest."""
    known = registry.find(code)
    if known is not None:
        # Validation comes before any work, so a call that failed in it may be repeated whatever it would have changed.
        risky = state_changing and phase != "validation"
        retryable = (known.retryable if retryable is None else retryable) and not (risky and known.may_leave_traces)
        hint = known.hint if hint is None else hint
        http = known.http if http is None else http
        # An envelope refuses any other code with a redirect, and that would cost the caller the error itself.
        redirect = redirect if known.exit_code == _REDIRECTED else None
    return ErrorDetail(
        code=registry.canonical(code),
        message=scrub(str(message)),
        hint=None if hint is None else scrub(hint),
        retryable=bool(retryable),
        http=500 if http is None else http,
        retry_after=retry_after if retryable else None,
        phase=phase,
        next_actions=tuple(scrub(action) for action in next_actions),
        similar=tuple(scrub_value(list(similar))),
        details=None if details is None else scrub_value(dict(details)),
        detail=None if detail is None else scrub(detail),
        redirect=redirect,
        docs_url=docs_url,
    )


class Said(TypedDict, total=False):
    """What may be said about an error beside its code and message; see `make_error`."""

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


class ToolError(Exception):
    """What a tool raises to say what went wrong, in a way its caller can act on."""

    def __init__(self, code: str, message: str, **said: Unpack[Said]) -> None:
        super().__init__(message)
        self.detail = make_error(code, message, **said)

    @classmethod
    def of(cls, detail: ErrorDetail) -> Self:
        """Raise an error that is already described; its secrets go here, because others may have described it."""
        detail = scrub_error(detail)
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
