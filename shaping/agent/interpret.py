"""What to do with a response: the rules of the agent's side, in the order in which they decide."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from shaping.agent.reading import Form, UnreadableError, WireReading, read_response
from shaping.errors import EXIT_TABLES, CodeDefinition, ErrorDetail, ExitCode, ExitTable, registry


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionBase:
    """What the response said beside its outcome."""

    warnings: tuple[str, ...] = ()
    updates: tuple[str, ...] = ()  # the warnings that announce an end: change the call in a later session


@dataclass(frozen=True, slots=True)
class UseData(DecisionBase):
    """The call succeeded: act on the data, or, where it is not complete, narrow the query first."""

    data: Any
    complete: bool = True
    cursor: str | None = None
    action: Literal["use_data"] = field(default="use_data", init=False)


@dataclass(frozen=True, slots=True)
class UseCache(DecisionBase):
    """Nothing has changed: act on what the last response held."""

    action: Literal["use_cache"] = field(default="use_cache", init=False)


@dataclass(frozen=True, slots=True)
class NextPage(DecisionBase):
    """The data is one page of several: draw no conclusion before the rest is fetched."""

    cursor: str
    data: Any
    action: Literal["next_page"] = field(default="next_page", init=False)


@dataclass(frozen=True, slots=True)
class Retry(DecisionBase):
    """The same call may succeed after so many seconds; this will be its attempt-th repetition."""

    after: float
    attempt: int
    error: ErrorDetail
    action: Literal["retry"] = field(default="retry", init=False)


@dataclass(frozen=True, slots=True)
class RefreshCredentials(DecisionBase):
    """The token is past its time: refresh it, then repeat the call once."""

    error: ErrorDetail
    action: Literal["refresh_credentials"] = field(default="refresh_credentials", init=False)


@dataclass(frozen=True, slots=True)
class AcquireCredentials(DecisionBase):
    """The credentials are missing or no good: get new ones; repeating the call is no use before."""

    error: ErrorDetail
    action: Literal["acquire_credentials"] = field(default="acquire_credentials", init=False)


@dataclass(frozen=True, slots=True)
class FollowRedirect(DecisionBase):
    """The call has moved: run the command as it is given, and remember it where it is permanent."""

    command: str
    permanent: bool
    error: ErrorDetail
    action: Literal["follow_redirect"] = field(default="follow_redirect", init=False)


@dataclass(frozen=True, slots=True)
class GiveUp(DecisionBase):
    """The call failed, and repeating it as it is will not help."""

    error: ErrorDetail
    action: Literal["give_up"] = field(default="give_up", init=False)


@dataclass(frozen=True, slots=True)
class Malformed(DecisionBase):
    """The response breaks its own contract: do not act on it, tell someone."""

    reason: str
    action: Literal["malformed"] = field(default="malformed", init=False)


Decision: TypeAlias = (
    UseData
    | UseCache
    | NextPage
    | Retry
    | RefreshCredentials
    | AcquireCredentials
    | FollowRedirect
    | GiveUp
    | Malformed
)


Attempts: TypeAlias = Mapping[str, int] | int  # the retries so far, by code or of whatever code

MAX_RETRIES = 3  # of one code, as long as nothing has changed in between
DEFAULT_WAIT = 1.0
ENDING = re.compile(
    r"deprecat|will be removed|to be removed|no longer (?:be )?supported|obsolete|sunset|end[- ]of[- ]life",
    re.IGNORECASE,
)


def interpret(
    wire: Any,
    exit_code: int | None = None,
    attempts: Attempts = 0,
    *,
    dialect: Form | None = None,
    state_changing: bool = False,
    exit_codes: ExitTable = "contract",
) -> Decision:
    """Decide what to do next with a response: use its data, retry, fetch the next page, refresh credentials, give up.

    `wire` is the response as it came, in any dialect or as an MCP result; `dialect` names the form where it is known.
    `exit_code` is a command's, read by the table `exit_codes`. `attempts` counts the retries so far, in all or by code.
    A failure of a `state_changing` call is retried only where nothing can have been done. Branch on the result's type
    or on its `action`.
    """
    exited = None
    if type(exit_code) is int:
        # A number that no table has is a command's own.
        exited = EXIT_TABLES[exit_codes].get(exit_code) or ExitCode(exit_code, "", None)
    try:
        return _decide(read_response(wire, dialect), exited, attempts, state_changing)
    except UnreadableError as problem:
        if exited and exited.number:
            return _fail(WireReading("none", error=_from_exit(exited, wire)), exited, attempts, state_changing)
        return Malformed(str(problem))
    except Exception as fault:  # noqa: BLE001  a response may be anything, and an agent needs an answer to all of it
        return Malformed(f"the response could not be read ({type(fault).__name__})")


def _decide(reading: WireReading, exited: ExitCode | None, attempts: Attempts, state_changing: bool) -> Decision:
    if reason := _broken(reading):
        return Malformed(reason, warnings=reading.warnings, updates=_updates(reading))
    failed = exited.number != 0 if exited is not None else reading.error is not None or reading.ok is False
    return _fail(reading, exited, attempts, state_changing) if failed else _succeed(reading)


def _broken(reading: WireReading) -> str | None:
    """Describe how absent and null members break a rule, which only the invariant form has."""
    if reading.form != "invariant":
        return None
    if not reading.says_error:
        return "the error member is absent"
    if reading.data is None and reading.error is None and not reading.flag("not_modified"):
        return "data and error are both null"
    return None


def _succeed(reading: WireReading) -> Decision:
    notes: dict[str, Any] = {"warnings": reading.warnings, "updates": _updates(reading)}
    if reading.flag("not_modified"):
        return UseCache(**notes)
    if reading.data is None and reading.error is not None:
        return Malformed("the exit code says success, but there is an error and no data", **notes)
    if not reading.flag("truncated"):
        return UseData(reading.data, cursor=reading.cursor, **notes)
    if reading.cursor is None:
        return UseData(reading.data, complete=False, **notes)
    return NextPage(reading.cursor, reading.data, **notes)


def _fail(reading: WireReading, exited: ExitCode | None, attempts: Attempts, state_changing: bool) -> Decision:
    error = reading.error or _from_exit(exited, None)
    notes: dict[str, Any] = {"warnings": reading.warnings, "updates": _updates(reading)}
    if error.redirect is not None and (exited is None or exited.name == "REDIRECTED"):
        return FollowRedirect(error.redirect.command, error.redirect.permanent, error, **notes)
    if exited is not None and exited.name == "REDIRECTED":
        return Malformed("the exit code says redirected, but no command is given", **notes)
    code = registry.canonical(error.code)
    made = _retries(attempts, error.code, code)
    if code == "TOKEN_EXPIRED" and made < 1:
        return RefreshCredentials(error, **notes)
    if code in {"TOKEN_EXPIRED", "TOKEN_INVALID", "TOKEN_MISSING", "AUTH_REQUIRED"}:
        return AcquireCredentials(error, **notes)
    if exited is not None and exited.name == "AUTH_REQUIRED":
        return AcquireCredentials(error, **notes)
    if made >= MAX_RETRIES or not _retryable(error, code, exited, state_changing):
        return GiveUp(error, **notes)
    return Retry(_wait(error, code, exited), made + 1, error, **notes)


def _retries(attempts: Attempts, *spellings: str) -> int:
    counts = [attempts.get(spelling) for spelling in spellings] if isinstance(attempts, Mapping) else [attempts]
    return max((count for count in counts if type(count) is int), default=0)


def _retryable(error: ErrorDetail, code: str, exited: ExitCode | None, state_changing: bool) -> bool:
    """Whether a repetition may help: by what the response says, else by its exit code, else by the registry."""
    known = registry.find(code)
    if state_changing and error.phase != "validation" and _may_have_acted(known):
        return False
    if error.retryable is not None:
        return error.retryable
    if exited is not None and exited.name:
        return exited.retryable
    return known is not None and known.retryable


def _may_have_acted(known: CodeDefinition | None) -> bool:
    return known is None or known.may_leave_traces


def _wait(error: ErrorDetail, code: str, exited: ExitCode | None) -> float:
    if error.retry_after is not None:
        return float(error.retry_after)
    known = registry.find(code)
    # A caller's own mistake is gone once it is corrected; anything else needs time to pass.
    entry = exited or (EXIT_TABLES["contract"].get(known.exit_code) if known is not None else None)
    mistaken = entry is not None and entry.name == "ARG_ERROR"
    return 0.0 if mistaken or error.phase == "validation" else DEFAULT_WAIT


def _from_exit(exited: ExitCode | None, wire: Any) -> ErrorDetail:
    """Make the error that an exit code alone tells; what a failing command printed is all there is to say about it."""
    name = exited.name if exited and exited.name else "GENERAL_ERROR"
    printed = wire[:2000].strip() if isinstance(wire, str) else ""
    message = printed or (f"the command exited with {exited.number}" if exited else "the response says it failed")
    return ErrorDetail(code=registry.canonical(name), message=message)


def _updates(reading: WireReading) -> tuple[str, ...]:
    return tuple(warning for warning in reading.warnings if ENDING.search(warning))
