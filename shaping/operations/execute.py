"""One call of an operation: who calls with which rights, then validate, run, wrap and normalise."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter, time_ns
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
import anyio.to_thread
from pydantic import BaseModel

from shaping.agent.caller import is_async
from shaping.envelope import Envelope, is_envelope, local_envelope
from shaping.errors import ToolError, from_exception, nearest
from shaping.operations.guard import admit
from shaping.response import Warned

if TYPE_CHECKING:
    from shaping.cleaning import Pieces
    from shaping.operations.spec import Spec
    from shaping.shaper import Shaper


Names: TypeAlias = frozenset[str] | set[str] | Sequence[str]


@dataclass(frozen=True, slots=True)
class Identity:
    """Who calls: an id, the scopes it has, and what it may do with which resources.

    `resources` maps `type:id`, or `type:*` for every resource of a type, to actions; the action `*` is every action.
    """

    id: str
    scopes: Names = frozenset()
    resources: Mapping[str, Names] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # A list is common, and one scope alone is text, in which every part of it would be found.
        given = (self.scopes,) if isinstance(self.scopes, str) else self.scopes
        object.__setattr__(self, "scopes", frozenset(given))

    def may(self, action: str, resource_type: str, resource_id: str | None) -> bool:
        """Whether an action is granted on a resource; without an id, only a grant on the whole type counts."""
        places = [f"{resource_type}:*", *([f"{resource_type}:{resource_id}"] if resource_id is not None else [])]
        return any({action, "*"} & set(self.resources.get(place, ())) for place in places)


IdentityResult: TypeAlias = "Identity | Awaitable[Identity | None] | None"


async def resolve_identity(identify: Callable[..., IdentityResult] | None, *about: Any) -> Identity | None:
    """Return the caller's identity by the application's `identify`; None where there is no such function."""
    found = None if identify is None else identify(*about)
    return await found if isinstance(found, Awaitable) else found


@dataclass(frozen=True, slots=True)
class Access:
    """What a caller needs: all of `scopes`, one of `any_scopes`, and `action` on a resource of `resource_type`.

    The resource is `resource_id`, or the one that the input member `id_member` names.
    """

    scopes: Collection[str] = ()
    any_scopes: Collection[str] = ()
    resource_type: str | None = None
    action: str | None = None
    resource_id: str | None = None
    id_member: str | None = None

    def __post_init__(self) -> None:
        for name in ("scopes", "any_scopes"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))

    def check(self, operation: str, identity: Identity | None, given: Any = None) -> None:
        """Raise unless the identity may make this call."""
        if not (self.scopes or self.any_scopes or self.resource_type):
            return
        if identity is None:
            raise ToolError("AUTH_REQUIRED", f"{operation} needs an identity", phase="validation")
        missing_right = self._missing_right(identity, given)
        if missing_right:
            details = {"operation": operation, "needs": missing_right}
            raise ToolError(
                "PERMISSION_DENIED", f"{operation} needs {missing_right}", phase="validation", details=details
            )

    def _missing_right(self, identity: Identity, given: Any) -> str | None:
        missing = [scope for scope in self.scopes if scope not in identity.scopes]
        if missing:
            return f"the scope {missing[0]}" if len(missing) == 1 else f"the scopes {', '.join(missing)}"
        if self.any_scopes and frozenset(identity.scopes).isdisjoint(self.any_scopes):
            return f"one of the scopes {', '.join(self.any_scopes)}"
        if self.resource_type is not None:
            action, resource_id = self.action or "read", self._resource_id(given)
            if not identity.may(action, self.resource_type, resource_id):
                return f"{action} on {self.resource_type}:{'*' if resource_id is None else resource_id}"
        return None

    def _resource_id(self, given: Any) -> str | None:
        if self.resource_id is not None or self.id_member is None:
            return self.resource_id
        value = given.get(self.id_member) if isinstance(given, Mapping) else getattr(given, self.id_member, None)
        return str(value) if isinstance(value, (str, int)) else None


class Trust:
    """The right to call without an identity.

    Holding the object is the right. A registry makes its own and gives it only to whoever set the registry up, so
    neither input, nor an identity, nor a handler can claim it.
    """


class Env(dict[str, Any]):
    """Operations by namespace and name, as items or attributes: `await env.github.get_issue(number=1)`."""

    def __missing__(self, name: str) -> Any:
        raise ToolError("OPERATION_NOT_FOUND", f"there is no {name!r} here", similar=nearest(name, self))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]


@dataclass(frozen=True, slots=True)
class Context:
    """What a handler knows of its call: the operation, the identity, the request id.

    `context.env()` gives the other operations as callables, checked against the same identity:
    `await context.env().github.get_issue(number=1)`.
    """

    operation_id: str
    identity: Identity | None = None
    request_id: str | None = None
    make_env: Callable[[Collection[str] | None], Env] | None = field(default=None, repr=False, compare=False)

    def env(self, namespaces: Collection[str] | None = None) -> Env:
        """Return the other operations as callables; they are checked against the same identity."""
        if self.make_env is None:
            raise RuntimeError("this call was made without a registry, so there is nothing else to call")
        return self.make_env(namespaces)


Handler: TypeAlias = "Callable[..., Any]"


@dataclass(frozen=True, slots=True)
class PreparedHandler:
    """A handler, with what its signature says: whether it takes the context and whether it is async."""

    call: Handler
    takes_context: bool
    is_async: bool

    @classmethod
    def of(cls, handler: Handler) -> PreparedHandler:
        """Inspect a handler's signature once, for all of its calls."""
        try:
            parameters = inspect.signature(handler).parameters.values()
        except (TypeError, ValueError):  # builtins and some C callables have none
            parameters = {}.values()
        places = [p for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}]
        takes_context = len(places) >= 2 or any(p.kind == p.VAR_POSITIONAL for p in parameters)
        return cls(handler, takes_context, is_async(handler))

    def bind(self, value: Any, context: Context) -> Callable[[], Any]:
        """Return the handler with its arguments."""
        return partial(self.call, value, context) if self.takes_context else partial(self.call, value)

    async def run(self, value: Any, context: Context) -> Any:
        """Await the handler; one that is not async runs in a thread, so that it blocks nobody else."""
        bound = self.bind(value, context)
        if self.is_async:
            return await bound()
        result = await anyio.to_thread.run_sync(bound, abandon_on_cancel=True)
        return await result if inspect.isawaitable(result) else result


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """One call of an operation: its spec, handler, input and context, and what is allowed for it."""

    spec: Spec
    handler: PreparedHandler
    input: Any
    context: Context
    allow_eval: bool = False
    trusted: bool = False  # whether the caller has the registry's own trust, which outranks access

    def check(self) -> Any:
        """Check the caller's rights and the input; return the input as the handler gets it."""
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

    def answer(self, result: Any) -> Envelope[Any]:
        """Wrap what the handler returned, unless it is an envelope, and bring its data into the declared form.

        Data that is not in that form is reported, never replaced by a guess.
        """
        if is_envelope(result):
            envelope = result if isinstance(result, Envelope) else Envelope.parse(result, "sourced")
        else:
            envelope = local_envelope(result, self.spec.id)
        if not envelope.ok:
            return envelope
        data, found = self.spec.output.normalise(envelope.data)
        if not found and data is envelope.data:
            return envelope
        mismatches = tuple(Warned("OUTPUT_MISMATCH", issue["message"], issue["path"] or None) for issue in found)
        return envelope.model_copy(update={"data": data, "warnings": (*envelope.warnings, *mismatches)})

    def failure(self, fault: Exception) -> Envelope[Any]:
        """Make the error envelope for an exception."""
        error = from_exception(fault, state_changing=self.spec.state_changing)
        return local_envelope(None, self.spec.id, error=error)


async def execute(call: PreparedCall, time_limit: float | None = None) -> Envelope[Any]:
    """Run one call to its end; only cancellation gets out of here as an exception."""
    started = perf_counter()
    try:
        value = call.check()
        with anyio.fail_after(call.spec.time_limit if time_limit is None else time_limit):
            result = await call.handler.run(value, call.context)
        envelope = call.answer(result)
    except Exception as fault:  # noqa: BLE001  whatever a handler raises is the answer to its call
        envelope = call.failure(fault)
    elapsed = round((perf_counter() - started) * 1000, 3)
    return fill_meta(envelope, request_id=call.context.request_id, duration_ms=elapsed)


def fill_meta(envelope: Envelope[Any], **meta: Any) -> Envelope[Any]:
    """Add meta members that the source did not set."""
    missing = {
        name: value for name, value in meta.items() if value is not None and getattr(envelope.meta, name) is None
    }
    return envelope.model_copy(update={"meta": envelope.meta.model_copy(update=missing)}) if missing else envelope


def shape_envelope(envelope: Envelope[Any], tool: str, shaper: Shaper) -> Envelope[Any]:
    """Shape the data as the config says for this operation; meta stays."""
    made = shaper.shape(envelope.data, tool=tool, source=envelope, error=envelope.error, as_json=True).envelope
    if made.meta.source == envelope.meta.source and made.meta.request_id == envelope.meta.request_id:
        return made
    # Where shaping is off or failed, its answer is a new envelope; only its data and warnings are of use here.
    return envelope.model_copy(update={"data": made.data, "warnings": (*envelope.warnings, *made.warnings)})


def without_earlier(envelope: Envelope[Any], pieces: Pieces, tool: str, shaper: Shaper) -> Envelope[Any]:
    """Take out of an item what belongs to an earlier one: the rest of a private key, private values."""
    data = pieces.clean(envelope.data, shaper.plan(tool)) if shaper.mode == "on" else envelope.data
    return envelope if data is envelope.data else envelope.model_copy(update={"data": data})


async def subscribe(call: PreparedCall, idle_timeout: float | None = None) -> AsyncGenerator[Envelope[Any], None]:
    """Yield an envelope for each item; a failure is the last one.

    An item is asked for when the consumer asks, so a slow consumer holds the handler back and nothing piles up. Closing
    this generator closes the handler's.
    """
    number = 0
    try:
        stream: AsyncGenerator[Any, None] = call.handler.bind(call.check(), call.context)()
        async with aclosing(stream) as items:
            async for item in _items_in_time(items, idle_timeout, call.spec.id):
                yield _with_sequence(call.answer(item), number, call.context)
                number += 1
    except Exception as fault:  # noqa: BLE001  whatever a handler raises is the last item
        yield _with_sequence(call.failure(fault), number, call.context)


async def _items_in_time(items: AsyncIterator[Any], idle_timeout: float | None, name: str) -> AsyncGenerator[Any, None]:
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


def _with_sequence(envelope: Envelope[Any], number: int, context: Context) -> Envelope[Any]:
    """Add which item of the subscription this is, and when it came."""
    meta = envelope.meta
    timestamp = getattr(meta, "timestamp", None) or time_ns() // 1_000_000
    extensions = {**meta.extensions, "sequence": number, "timestamp": timestamp}
    dated = envelope.model_copy(update={"meta": meta.model_copy(update={"extensions": extensions})})
    return fill_meta(dated, request_id=context.request_id)
