"""What to do with a response: the rules of the agent's side, in the order in which they decide."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import orjson
from pydantic.alias_generators import to_snake

from shaping.clients import joined_texts
from shaping.envelope import Envelope, dialects
from shaping.envelope.dialects.members import lenient_error, mapping
from shaping.envelope.model import COMMON, SOURCES
from shaping.errors import EXIT_TABLES, ErrorDetail, ExitCode, ExitTable, ToolError, registry

Form: TypeAlias = Literal["lean", "flat", "sourced", "invariant", "none", "mcp"]

FIVE = frozenset({"ok", "data", "error", "warnings", "meta"})


class UnreadableError(Exception):
    """A wire form from which nothing can be read."""


@dataclass(frozen=True, slots=True)
class WireReading:
    """A response as far as it could be read."""

    form: Form
    ok: bool | None = None
    data: Any = None
    error: ErrorDetail | None = None
    says_error: bool = True  # whether there was an error member at all, be it null
    warnings: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    def flag(self, name: str) -> bool:
        """Whether a member of meta is true."""
        return self.meta.get(name) is True

    @property
    def cursor(self) -> str | None:
        """Where the next page begins."""
        cursor = self.meta.get("cursor")
        return cursor if isinstance(cursor, str) and cursor else None


def read_response(wire: Any, form: Form | None = None) -> WireReading:
    """Read any wire form; the form is recognised first, because each has its own rules about what may be absent."""
    inner = getattr(wire, "envelope", None)
    model = inner if isinstance(inner, Envelope) else wire
    if isinstance(model, (Envelope, ErrorDetail, ToolError)):
        return _from_model(model)
    plain = _plain(wire, form)
    if not isinstance(plain, Mapping) or form == "none":
        return WireReading("none", data=plain)
    return _read(plain, form or recognise_form(plain))


def recognise_form(wire: Mapping[str, Any]) -> Form:
    """Return the form of a JSON object by the members that only it has."""
    if isinstance(wire.get("content"), list) and ("isError" in wire or "structuredContent" in wire):
        return "mcp"
    whole = dialects.recognise(wire)
    return whole if whole != "none" else _guess(wire)


def _guess(wire: Mapping[str, Any]) -> Form:
    """Return what a damaged envelope was meant to be, so that its damage is found and not taken for data."""
    meta, present = wire.get("meta"), len(FIVE & wire.keys())
    if isinstance(meta, Mapping) and meta.get("source") in tuple(SOURCES) and "ok" not in wire:
        return "sourced"
    if "ok" in wire and ("_meta" in wire or isinstance(wire.get("error"), str)):
        return "flat"
    if ("ok" in wire and present > 1) or present >= 4:
        return "invariant"
    return "lean" if isinstance(wire.get("error"), Mapping) and wire.keys() <= {*FIVE, *COMMON} else "none"


def _plain(wire: Any, form: Form | None) -> Any:
    if isinstance(wire, (str, bytes, bytearray, memoryview)):
        try:
            return orjson.loads(wire)
        except ValueError:
            if form == "none" and isinstance(wire, str):
                return wire
            raise UnreadableError("the response is not JSON") from None
    if hasattr(wire, "model_dump") and not isinstance(wire, type):
        return wire.model_dump(mode="json", by_alias=True, exclude_none=True)
    if wire is None or isinstance(wire, (bool, int, float, list, tuple, Mapping)):
        return wire
    raise UnreadableError(f"the response is a {type(wire).__name__}, not JSON")


def _from_model(model: Envelope[Any] | ErrorDetail | ToolError) -> WireReading:
    if isinstance(model, Envelope):
        warnings = tuple(warned.message for warned in model.warnings)
        meta = model.meta.model_dump()
        return WireReading("sourced", model.ok, model.data, model.error, warnings=warnings, meta=meta)
    return WireReading("sourced", ok=False, error=model.detail if isinstance(model, ToolError) else model)


def _read(wire: Mapping[str, Any], form: Form) -> WireReading:
    if form == "mcp":
        return _mcp(wire)
    parts = dialects.FORMS[form].read(wire)
    return WireReading(
        form,
        ok=parts.ok if isinstance(parts.ok, bool) else None,
        data=parts.data,
        error=lenient_error(parts.error),
        says_error=parts.has_error,
        warnings=_sentences(parts.warnings),
        meta=parts.meta,
    )


def _mcp(wire: Mapping[str, Any]) -> WireReading:
    """Read an MCP result, whose payload may itself be an envelope."""
    outer = mapping(wire.get("_meta"))
    meta = {**outer, **mapping(outer.get("shaping"))}
    payload = wire.get("structuredContent")
    if payload is None:
        payload = _text_of(wire.get("content"))
    inner = (
        _read(payload, recognise_form(payload)) if isinstance(payload, Mapping) else WireReading("none", data=payload)
    )
    if wire.get("isError") is True:
        # `_meta` has what the text for the model leaves out: whether to retry, and the phase.
        stated = lenient_error(outer.get("shaping/error")) or inner.error or lenient_error(meta.get("error"))
        return WireReading("mcp", ok=False, error=stated or lenient_error(payload), meta=meta)
    if inner.form in {"invariant", "flat", "sourced", "lean"}:
        return replace(inner, meta={**meta, **inner.meta}) if inner.form == "lean" else inner
    return WireReading("mcp", ok=True, data=payload, warnings=_sentences(meta.get("warnings")), meta=meta)


def _text_of(content: Any) -> Any:
    """Return the text of an MCP result's blocks, as JSON where it is JSON."""
    text = joined_texts(content)
    try:
        return orjson.loads(text)
    except ValueError:
        return text


def _sentences(warnings: Any) -> tuple[str, ...]:
    """Return warnings as sentences; absent or of no known kind means none."""
    texts = (item.get("message") if isinstance(item, Mapping) else item for item in _items(warnings))
    return tuple(text for text in texts if isinstance(text, str))


def _items(value: Any) -> Iterable[Any]:
    return value if isinstance(value, (list, tuple)) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionBase:
    """The warnings of a response, which every decision carries."""

    warnings: tuple[str, ...] = ()

    @property
    def updates(self) -> tuple[str, ...]:
        """The warnings that announce an end: change the call in a later session."""
        return tuple(warning for warning in self.warnings if ENDING.search(warning))

    @property
    def action(self) -> str:
        """The decision in one word: `use_data`, `next_page`, `give_up`."""
        return to_snake(type(self).__name__)


@dataclass(frozen=True, slots=True)
class UseData(DecisionBase):
    """The call succeeded: act on the data, or, where it is not complete, narrow the query first."""

    data: Any
    complete: bool = True
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class UseCache(DecisionBase):
    """Nothing has changed: use the data of the last response."""


@dataclass(frozen=True, slots=True)
class NextPage(DecisionBase):
    """The data is one page of several: draw no conclusion before the rest is fetched."""

    cursor: str
    data: Any


@dataclass(frozen=True, slots=True)
class Retry(DecisionBase):
    """The same call may succeed after so many seconds; this will be its attempt-th repetition."""

    after: float
    attempt: int
    error: ErrorDetail


@dataclass(frozen=True, slots=True)
class RefreshCredentials(DecisionBase):
    """The token is past its time: refresh it, then repeat the call once."""

    error: ErrorDetail


@dataclass(frozen=True, slots=True)
class AcquireCredentials(DecisionBase):
    """The credentials are missing or no good: get new ones; repeating the call is no use before."""

    error: ErrorDetail


@dataclass(frozen=True, slots=True)
class FollowRedirect(DecisionBase):
    """The call has moved: run the command as it is given, and remember it where it is permanent."""

    command: str
    permanent: bool
    error: ErrorDetail


@dataclass(frozen=True, slots=True)
class GiveUp(DecisionBase):
    """The call failed, and repeating it as it is will not help."""

    error: ErrorDetail


@dataclass(frozen=True, slots=True)
class Malformed(DecisionBase):
    """The response breaks its own contract: do not act on it, report it."""

    reason: str


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


Attempts: TypeAlias = Mapping[str, int] | int  # the retries so far, by code or in all

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
        reading = read_response(wire, dialect)
        return replace(_decide(reading, exited, attempts, state_changing), warnings=reading.warnings)
    except UnreadableError as problem:
        if exited and exited.number:
            return _fail(WireReading("none", error=_from_exit(exited, wire)), exited, attempts, state_changing)
        return Malformed(str(problem))
    except Exception as fault:  # noqa: BLE001  a response may be anything, and an agent needs an answer to all of it
        return Malformed(f"the response could not be read ({type(fault).__name__})")


def _decide(reading: WireReading, exited: ExitCode | None, attempts: Attempts, state_changing: bool) -> Decision:
    if reason := _broken(reading):
        return Malformed(reason)
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
    if reading.flag("not_modified"):
        return UseCache()
    if reading.data is None and reading.error is not None:
        return Malformed("the exit code says success, but there is an error and no data")
    if not reading.flag("truncated"):
        return UseData(reading.data, cursor=reading.cursor)
    if reading.cursor is None:
        return UseData(reading.data, complete=False)
    return NextPage(reading.cursor, reading.data)


def _fail(reading: WireReading, exited: ExitCode | None, attempts: Attempts, state_changing: bool) -> Decision:
    error = reading.error or _from_exit(exited, None)
    if error.redirect is not None and (exited is None or exited.name == "REDIRECTED"):
        return FollowRedirect(error.redirect.command, error.redirect.permanent, error)
    if exited is not None and exited.name == "REDIRECTED":
        return Malformed("the exit code says redirected, but no command is given")
    code = registry.canonical(error.code)
    made = _retries(attempts, error.code, code)
    if code == "TOKEN_EXPIRED" and made < 1:
        return RefreshCredentials(error)
    wants_credentials = code in {"TOKEN_EXPIRED", "TOKEN_INVALID", "TOKEN_MISSING", "AUTH_REQUIRED"}
    if wants_credentials or (exited is not None and exited.name == "AUTH_REQUIRED"):
        return AcquireCredentials(error)
    if made >= MAX_RETRIES or not _retryable(error, code, exited, state_changing):
        return GiveUp(error)
    return Retry(_wait(error, code, exited), made + 1, error)


def _retries(attempts: Attempts, *spellings: str) -> int:
    counts = [attempts.get(spelling) for spelling in spellings] if isinstance(attempts, Mapping) else [attempts]
    return max((count for count in counts if type(count) is int), default=0)


def _retryable(error: ErrorDetail, code: str, exited: ExitCode | None, state_changing: bool) -> bool:
    """Whether a retry may help: by the response, else by the exit code, else by the registry."""
    known = registry.find(code)
    if state_changing and error.phase != "validation" and (known is None or known.may_leave_traces):
        return False
    if error.retryable is not None:
        return error.retryable
    if exited is not None and exited.name:
        return exited.retryable
    return known is not None and known.retryable


def _wait(error: ErrorDetail, code: str, exited: ExitCode | None) -> float:
    if error.retry_after is not None:
        return float(error.retry_after)
    known = registry.find(code)
    # A caller's own mistake is gone once it is corrected; anything else needs time to pass.
    entry = exited or (EXIT_TABLES["contract"].get(known.exit_code) if known is not None else None)
    mistaken = entry is not None and entry.name == "ARG_ERROR"
    return 0.0 if mistaken or error.phase == "validation" else DEFAULT_WAIT


def _from_exit(exited: ExitCode | None, wire: Any) -> ErrorDetail:
    """Make the error for an exit code without an envelope; its message is the output of the command."""
    name = exited.name if exited and exited.name else "GENERAL_ERROR"
    printed = wire[:2000].strip() if isinstance(wire, str) else ""
    message = printed or (f"the command exited with {exited.number}" if exited else "the response says it failed")
    return ErrorDetail(code=registry.canonical(name), message=message)
