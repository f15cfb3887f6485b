"""One call of an operation: who, what, run, wrap, check, shape; a failure on the way is an envelope like any other."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import anyio
from pydantic import BaseModel

from shaping.envelope import Envelope, is_envelope, local_envelope
from shaping.errors import ErrorDetail, from_exception
from shaping.operations.guard import admit
from shaping.response import Warned

if TYPE_CHECKING:
    from shaping.operations.context import Context
    from shaping.operations.handlers import Prepared
    from shaping.operations.kinds import Manifest
    from shaping.operations.spec import Spec
    from shaping.shaper import Shaper


@dataclass(frozen=True, slots=True)
class Entry:
    """An operation that can be called."""

    spec: Spec
    handler: Prepared
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for every call of a registry."""

    allow_eval: bool = False
    debug: bool = False


def admitted(entry: Entry, given: Any, context: Context, policy: Policy, *, trusted: bool) -> Any:
    """Check who calls and what with; give the input as the handler gets it."""
    given = given.model_dump(mode="json") if isinstance(given, BaseModel) else given
    if not trusted:
        entry.spec.access.check(entry.spec.id, context.identity, given)
    admit(entry.manifest, given, allow_eval=policy.allow_eval)
    value = entry.spec.input.read(given)
    if not trusted:
        # Reading may have changed what the input says, so what the handler will see is checked as well.
        entry.spec.access.check(entry.spec.id, context.identity, value if isinstance(value, BaseModel) else given)
    return value


async def execute(
    entry: Entry,
    given: Any,
    context: Context,
    policy: Policy,
    *,
    trusted: bool = False,
    time_limit: float | None = None,
) -> Envelope[Any]:
    """Run one call to its end; only cancellation gets out of here as an exception."""
    started = perf_counter()
    try:
        envelope = await perform(entry, given, context, policy, trusted=trusted, time_limit=time_limit)
    except Exception as fault:  # noqa: BLE001  whatever a handler raises is the answer to its call
        envelope = failure(fault, entry.spec, policy)
    return stamped(envelope, request_id=context.request_id, duration_ms=round((perf_counter() - started) * 1000, 3))


async def perform(
    entry: Entry,
    given: Any,
    context: Context,
    policy: Policy,
    *,
    trusted: bool = False,
    time_limit: float | None = None,
) -> Envelope[Any]:
    """Run one call and let out what it raises; for those who tell a raise from an answer that is an error."""
    value = admitted(entry, given, context, policy, trusted=trusted)
    with anyio.fail_after(entry.spec.time_limit if time_limit is None else time_limit):
        result = await entry.handler.run(value, context)
    return checked(wrapped(result, entry.spec), entry.spec)


def wrapped(result: Any, spec: Spec) -> Envelope[Any]:
    """Pass an envelope through; wrap anything else as what a local function returned."""
    if isinstance(result, Envelope):
        return result
    return Envelope.parse(result, "sourced") if is_envelope(result) else local_envelope(result, spec.id)


def checked(envelope: Envelope[Any], spec: Spec) -> Envelope[Any]:
    """Bring data into its declared form, or say that it is not in it; it is never replaced by a guess."""
    if not envelope.ok:
        return envelope
    data, found = spec.output.settle(envelope.data)
    if not found and data is envelope.data:
        return envelope
    mismatches = tuple(Warned("OUTPUT_MISMATCH", issue["message"], issue["path"] or None) for issue in found)
    return envelope.model_copy(update={"data": data, "warnings": (*envelope.warnings, *mismatches)})


def failure(fault: Exception, spec: Spec, policy: Policy) -> Envelope[Any]:
    """Describe what a call failed with."""
    error = from_exception(fault, debug=policy.debug, state_changing=spec.state_changing)
    return refused(error, spec.id)


def refused(error: ErrorDetail, operation_id: str) -> Envelope[Any]:
    """Wrap an error that no source but this process told."""
    return local_envelope(None, operation_id, error=error)


def stamped(envelope: Envelope[Any], **meta: Any) -> Envelope[Any]:
    """Add to meta what the source did not say itself."""
    news = {name: value for name, value in meta.items() if value is not None and getattr(envelope.meta, name) is None}
    return envelope.model_copy(update={"meta": envelope.meta.model_copy(update=news)}) if news else envelope


def shaped(envelope: Envelope[Any], tool: str, shaper: Shaper) -> Envelope[Any]:
    """Shape the data as the config says for this operation; meta stays."""
    made = shaper.shape(envelope.data, tool=tool, source=envelope, error=envelope.error).envelope
    if made.meta.source == envelope.meta.source and made.meta.request_id == envelope.meta.request_id:
        return made
    # Where shaping is off or failed, its answer is a new envelope; only its data and warnings are of use here.
    return envelope.model_copy(update={"data": made.data, "warnings": (*envelope.warnings, *made.warnings)})
