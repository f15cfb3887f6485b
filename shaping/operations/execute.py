"""One call of an operation: check access, validate, run, wrap, normalise. A failure becomes an error envelope."""

from __future__ import annotations

import inspect
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from time import perf_counter, time_ns
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
import anyio.to_thread
from pydantic import BaseModel

from shaping.envelope import Envelope, is_envelope, local_envelope
from shaping.errors import ErrorDetail, ToolError, from_exception
from shaping.operations.guard import admit
from shaping.response import Warned

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from shaping.operations.context import Context
    from shaping.operations.spec import Spec
    from shaping.shaper import Shaper


Handler: TypeAlias = "Callable[..., Any]"


@dataclass(frozen=True, slots=True)
class PreparedHandler:
    """A handler and what was found out about it when it was registered."""

    call: Handler
    takes_context: bool
    is_async: bool

    async def run(self, value: Any, context: Context) -> Any:
        """Await the handler; one that is not async runs in a thread, so that it blocks nobody else."""
        bound = self._bound(value, context)
        if self.is_async:
            return await bound()
        result = await anyio.to_thread.run_sync(bound, abandon_on_cancel=True)
        return await result if inspect.isawaitable(result) else result

    def iterate(self, value: Any, context: Context) -> AsyncIterator[Any]:
        """Return what a subscription's handler yields."""
        stream: AsyncIterator[Any] = self._bound(value, context)()
        return stream

    def _bound(self, value: Any, context: Context) -> Callable[[], Any]:
        return partial(self.call, value, context) if self.takes_context else partial(self.call, value)


def prepare(handler: Handler) -> PreparedHandler:
    """Find out once what every call needs to know."""
    if isinstance(handler, PreparedHandler):
        return handler
    plain = handler.func if isinstance(handler, partial) else handler
    inner = plain if inspect.isroutine(plain) else type(plain).__call__
    return PreparedHandler(handler, _takes_context(handler), inspect.iscoroutinefunction(inner))


def _takes_context(handler: Handler) -> bool:
    """Whether a second positional argument can be given."""
    try:
        parameters = inspect.signature(handler).parameters.values()
    except (TypeError, ValueError):
        return False
    places = [p for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}]
    return len(places) >= 2 or any(p.kind == p.VAR_POSITIONAL for p in parameters)


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """One call of an operation: its spec, its handler, its input, its context, and what is allowed for it."""

    spec: Spec
    handler: PreparedHandler
    input: Any
    context: Context
    allow_eval: bool = False
    debug: bool = False  # whether an error carries its traceback
    trusted: bool = False  # whether the caller has the registry's own trust, which outranks access

    def check(self) -> Any:
        """Check who calls and what with; return the input as the handler gets it."""
        given = self.input.model_dump(mode="json") if isinstance(self.input, BaseModel) else self.input
        self._check_access(given)
        admit(self.spec, given, allow_eval=self.allow_eval)
        value = self.spec.input.read(given)
        # Reading may have changed what the input says, so what the handler will see is checked as well.
        self._check_access(value if isinstance(value, BaseModel) else given)
        return value

    def _check_access(self, given: Any) -> None:
        if not self.trusted:
            self.spec.access.check(self.spec.id, self.context.identity, given)


async def execute(call: PreparedCall, time_limit: float | None = None) -> Envelope[Any]:
    """Run one call to its end; only cancellation gets out of here as an exception."""
    started = perf_counter()
    try:
        envelope = await perform(call, time_limit)
    except Exception as fault:  # noqa: BLE001  whatever a handler raises is the answer to its call
        envelope = failure_envelope(fault, call)
    elapsed = round((perf_counter() - started) * 1000, 3)
    return fill_meta(envelope, request_id=call.context.request_id, duration_ms=elapsed)


async def perform(call: PreparedCall, time_limit: float | None = None) -> Envelope[Any]:
    """Run one call and let its exceptions through; for those who tell an exception from an answer that is an error."""
    value = call.check()
    with anyio.fail_after(call.spec.time_limit if time_limit is None else time_limit):
        result = await call.handler.run(value, call.context)
    return normalise_output(as_envelope(result, call.spec), call.spec)


def as_envelope(result: Any, spec: Spec) -> Envelope[Any]:
    """Pass an envelope through; wrap anything else as what a local function returned."""
    if isinstance(result, Envelope):
        return result
    return Envelope.parse(result, "sourced") if is_envelope(result) else local_envelope(result, spec.id)


def normalise_output(envelope: Envelope[Any], spec: Spec) -> Envelope[Any]:
    """Bring data into its declared form, or say that it is not in it; it is never replaced by a guess."""
    if not envelope.ok:
        return envelope
    data, found = spec.output.settle(envelope.data)
    if not found and data is envelope.data:
        return envelope
    mismatches = tuple(Warned("OUTPUT_MISMATCH", issue["message"], issue["path"] or None) for issue in found)
    return envelope.model_copy(update={"data": data, "warnings": (*envelope.warnings, *mismatches)})


def failure_envelope(fault: Exception, call: PreparedCall) -> Envelope[Any]:
    """Describe what a call failed with."""
    error = from_exception(fault, debug=call.debug, state_changing=call.spec.state_changing)
    return error_envelope(error, call.spec.id)


def error_envelope(error: ErrorDetail, operation_id: str) -> Envelope[Any]:
    """Wrap an error that no source but this process told."""
    return local_envelope(None, operation_id, error=error)


def fill_meta(envelope: Envelope[Any], **meta: Any) -> Envelope[Any]:
    """Add to meta what the source did not say itself."""
    missing = {
        name: value for name, value in meta.items() if value is not None and getattr(envelope.meta, name) is None
    }
    return envelope.model_copy(update={"meta": envelope.meta.model_copy(update=missing)}) if missing else envelope


def shape_envelope(envelope: Envelope[Any], tool: str, shaper: Shaper) -> Envelope[Any]:
    """Shape the data as the config says for this operation; meta stays."""
    made = shaper.shape(envelope.data, tool=tool, source=envelope, error=envelope.error).envelope
    if made.meta.source == envelope.meta.source and made.meta.request_id == envelope.meta.request_id:
        return made
    # Where shaping is off or failed, its answer is a new envelope; only its data and warnings are of use here.
    return envelope.model_copy(update={"data": made.data, "warnings": (*envelope.warnings, *made.warnings)})


async def subscribe(call: PreparedCall, idle_timeout: float | None = None) -> AsyncGenerator[Envelope[Any], None]:
    """Yield an envelope for each item; a failure is the last one.

    An item is asked for when the consumer asks, so a slow consumer holds the handler back and nothing piles up. Closing
    this generator closes the handler's.
    """
    number = 0
    try:
        value = call.check()
        async with aclosing(call.handler.iterate(value, call.context)) as items:  # type: ignore[type-var]  # any async iterator of a handler is a generator
            async for item in _each(items, idle_timeout, call.spec.id):
                yield _numbered(normalise_output(as_envelope(item, call.spec), call.spec), number, call.context)
                number += 1
    except Exception as fault:  # noqa: BLE001  whatever a handler raises is the last item
        yield _numbered(failure_envelope(fault, call), number, call.context)


async def _each(items: AsyncIterator[Any], idle_timeout: float | None, name: str) -> AsyncGenerator[Any, None]:
    """Yield item by item, and stop waiting for one that does not come."""
    while True:
        try:
            with anyio.fail_after(idle_timeout):
                item = await anext(items)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise ToolError("TIMEOUT", f"{name} gave nothing for {idle_timeout} seconds") from None
        yield item


def _numbered(envelope: Envelope[Any], number: int, context: Context) -> Envelope[Any]:
    """Add which item of the subscription this is, and when it came."""
    meta = envelope.meta
    timestamp = getattr(meta, "timestamp", None) or time_ns() // 1_000_000
    extensions = {**meta.extensions, "sequence": number, "timestamp": timestamp}
    dated = envelope.model_copy(update={"meta": meta.model_copy(update={"extensions": extensions})})
    return fill_meta(dated, request_id=context.request_id)
