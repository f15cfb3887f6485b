"""A registry of operations, and the calling of them: each call is answered with an envelope."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable
from contextlib import aclosing
from functools import partial
from time import perf_counter, time_ns
from typing import Any, TypeAlias

import anyio
import anyio.to_thread
from pydantic import BaseModel

from shaping.agent.caller import is_async
from shaping.cleaning import Pieces
from shaping.envelope import Envelope, is_envelope, local_envelope, unwrap
from shaping.errors import ToolError, from_exception, nearest
from shaping.errors.codes import CodedError
from shaping.operations.access import Access, Context, Env, Identity, Trust
from shaping.operations.guard import admit, visible
from shaping.operations.spec import Operation, Spec
from shaping.response import Warned
from shaping.shaper import Shaper

Handler: TypeAlias = Callable[..., Any]


class RegistrationError(CodedError, ValueError):
    """An operation that cannot be registered."""

    code = "CONFLICT"


class Registry:
    """Operations by `namespace.name`: register them, list them, call them; every call is answered with an envelope.

    `shaper` shapes answers where a call asks for it (else one made from the config that is found), `allow_eval` lets
    operations run that evaluate code (else the config says).
    `registry.add(from_openapi(document))` registers what an adapter returns, `registry.register(op)` a function under
    `@operation`; `await registry.execute("github.get_issue", {"number": 1}, identity)` calls one.
    """

    def __init__(self, *, shaper: Shaper | None = None, allow_eval: bool | None = None) -> None:
        self._specs: dict[str, Spec] = {}
        self._handlers: dict[str, Handler] = {}
        self._shaper = shaper
        self._trust = Trust()
        self._allow_eval = allow_eval

    @property
    def allow_eval(self) -> bool:
        """Whether an operation may evaluate code now."""
        if self._allow_eval is not None:
            return self._allow_eval
        # A registry that evaluates nothing needs no config to know that it does not.
        evaluates = any(spec.operation_type == "eval" for spec in self._specs.values())
        return evaluates and self.shaper.loaded_config.config.allow_eval

    @property
    def shaper(self) -> Shaper:
        """What shapes the answers; by default, by the config that is found."""
        if self._shaper is None:
            self._shaper = Shaper()
        return self._shaper

    def register(self, spec: Spec | Operation, handler: Handler | None = None, *, replace: bool = False) -> None:
        """Add an operation with its handler; a name that is taken is refused unless it is to be replaced."""
        if isinstance(spec, Operation):  # what `@operation` makes knows its own handler
            spec, own = spec.pair
            handler = own if handler is None else handler
        self.register_spec(spec, replace=replace)
        if handler is not None:
            self.register_handler(spec.id, handler, replace=replace)

    def register_spec(self, spec: Spec, *, replace: bool = False) -> None:
        """Add the spec of an operation; it can be called once it has a handler."""
        _put(self._specs, spec.id, spec, "is registered", replace=replace)

    def register_handler(self, name: str, handler: Handler, *, replace: bool = False) -> None:
        """Add the handler of an operation whose spec is or will be registered."""
        _put(self._handlers, name, handler, "has a handler", replace=replace)

    def add(self, operations: Iterable[tuple[Spec, Handler]], *, replace: bool = False) -> None:
        """Register the pairs of spec and handler that an adapter (`from_openapi`, `McpServer.operations`) returns."""
        for spec, handler in operations:
            self.register(spec, handler, replace=replace)

    def get(self, name: str) -> Spec | None:
        """Return the spec of an operation that callers may see."""
        spec = self._specs.get(name)
        return spec if spec is not None and visible([spec], allow_eval=self.allow_eval) else None

    def list(self) -> list[Spec]:
        """List the operations that can be called."""
        ready = [spec for name, spec in self._specs.items() if name in self._handlers]
        return visible(ready, allow_eval=self.allow_eval)

    def trust(self) -> Trust:
        """Return the object that allows any call, for the code that sets the registry up."""
        return self._trust

    async def execute(
        self,
        name: str,
        input: Any = None,  # noqa: A002  the operation's own word
        identity: Identity | None = None,
        *,
        request_id: str | None = None,
        time_limit: float | None = None,
        shape: bool = False,
        trust: Trust | None = None,
    ) -> Envelope[Any]:
        """Call an operation; the answer is always an envelope, and only cancellation gets out as an exception.

        Its data is validated and normalised by the operation's schema; `shape` also shapes it for a model.
        """
        started = perf_counter()
        try:
            spec = self._find(name, subscribes=False)
            value = self._check(spec, input, identity, trust)
            with anyio.fail_after(spec.time_limit if time_limit is None else time_limit):
                result = await _run(self._handlers[name], value, self._context(name, identity, request_id))
            envelope = _answer(spec, result)
        except Exception as fault:  # noqa: BLE001  whatever a handler raises is the answer to its call
            envelope = self._failure(name, fault)
        elapsed = round((perf_counter() - started) * 1000, 3)
        envelope = _fill_meta(envelope, request_id=request_id, duration_ms=elapsed)
        return _shaped(envelope, name, self.shaper) if shape else envelope

    async def execute_or_raise(
        self,
        name: str,
        input: Any = None,  # noqa: A002  as above
        identity: Identity | None = None,
        **more: Any,
    ) -> Any:
        """Call an operation and return its data; raise `ToolError` where it failed."""
        return unwrap(await self.execute(name, input, identity, **more))

    async def subscribe(
        self,
        name: str,
        input: Any = None,  # noqa: A002  as above
        identity: Identity | None = None,
        *,
        request_id: str | None = None,
        idle_timeout: float | None = None,
        shape: bool = False,
        trust: Trust | None = None,
    ) -> AsyncGenerator[Envelope[Any], None]:
        """Yield an envelope for each item of a subscription, a failure as the last one.

        An item is asked for when the consumer asks, so a slow consumer holds the handler back and nothing piles up.
        Closing this closes the handler's generator.
        """
        number, pieces = 0, Pieces()

        def finished(envelope: Envelope[Any]) -> Envelope[Any]:
            envelope = _fill_meta(_numbered(envelope, number), request_id=request_id)
            if not shape:
                return envelope
            return _shaped(without_earlier(envelope, pieces, name, self.shaper), name, self.shaper)

        try:
            spec = self._find(name, subscribes=True)
            value = self._check(spec, input, identity, trust)
            stream = _call(self._handlers[name], value, self._context(name, identity, request_id))()
            async with aclosing(stream) as items:
                async for item in _items_in_time(items, idle_timeout, name):
                    yield finished(_answer(spec, item))
                    number += 1
        except Exception as fault:  # noqa: BLE001  whatever a handler raises is the last item
            yield finished(self._failure(name, fault))

    def build_env(
        self,
        identity: Identity | None = None,
        *,
        namespaces: Collection[str] | None = None,
        request_id: str | None = None,
        trust: Trust | None = None,
    ) -> Env:
        """Return the operations as callables by namespace, subscriptions left out; answers are whole, not shaped."""

        async def call_one(operation_id: str, /, given: Any = None, **members: Any) -> Envelope[Any]:
            given = {**(given or {}), **members} if members else given
            return await self.execute(operation_id, given, identity, request_id=request_id, trust=trust)

        env = Env()
        for spec in self.list():
            if spec.type != "subscription" and (namespaces is None or spec.namespace in namespaces):
                env.setdefault(spec.namespace, Env())[spec.name] = partial(call_one, spec.id)
        return env

    def _find(self, name: str, *, subscribes: bool) -> Spec:
        spec = self.get(name)
        if spec is None or name not in self._handlers:
            reason = "is not registered" if spec is None else "has no handler"
            similar = nearest(name, [known.id for known in self.list()])
            raise ToolError("OPERATION_NOT_FOUND", f"{name!r} {reason}", phase="validation", similar=similar)
        if (spec.type == "subscription") != subscribes:
            instead = "execute it" if subscribes else "subscribe to it"
            raise ToolError("BAD_ARGUMENT", f"{name} is a {spec.type}; {instead}", phase="validation")
        return spec

    def _check(self, spec: Spec, given: Any, identity: Identity | None, trust: Trust | None) -> Any:
        """Check the caller's rights and the input; return the input as the handler gets it."""
        access = Access() if trust is self._trust else spec.access
        given = {} if given is None else given
        given = given.model_dump(mode="json") if isinstance(given, BaseModel) else given
        access.check(spec.id, identity, given)
        admit(spec, given, allow_eval=self.allow_eval)
        value = spec.input.read(given)
        # Reading may have changed what the input says, so what the handler will see is checked as well.
        access.check(spec.id, identity, value if isinstance(value, BaseModel) else given)
        return value

    def _context(self, name: str, identity: Identity | None, request_id: str | None) -> Context:
        return Context(name, identity, request_id, partial(self.build_env, identity, request_id=request_id))

    def _failure(self, name: str, fault: Exception) -> Envelope[Any]:
        """Make the error envelope for an exception."""
        changes = name in self._specs and self._specs[name].state_changing
        return local_envelope(None, name, error=from_exception(fault, state_changing=changes))


def _put(entries: dict[str, Any], name: str, entry: Any, state: str, *, replace: bool) -> None:
    """Enter an operation's spec or handler; a name that is taken is refused unless it is to be replaced."""
    if name in entries and not replace:
        raise RegistrationError(f"{name!r} {state} already; pass replace=True to put this one in its place")
    entries[name] = entry


def _call(handler: Handler, value: Any, context: Context) -> Callable[[], Any]:
    """Return a handler with its arguments: the input and, where it takes two, the context."""
    try:
        parameters = inspect.signature(handler).parameters.values()
    except (TypeError, ValueError):  # builtins and some C callables have none
        parameters = {}.values()
    places = sum(p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD} for p in parameters)
    takes_context = places >= 2 or any(p.kind == p.VAR_POSITIONAL for p in parameters)
    return partial(handler, value, context) if takes_context else partial(handler, value)


async def _run(handler: Handler, value: Any, context: Context) -> Any:
    """Await a handler; one that is not async runs in a thread, so that it blocks nobody else."""
    call = _call(handler, value, context)
    if is_async(handler):
        return await call()
    result = await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
    return await result if inspect.isawaitable(result) else result


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


def _answer(spec: Spec, result: Any) -> Envelope[Any]:
    """Wrap what the handler returned, unless it is an envelope, and bring its data into the declared form.

    Data that is not in that form is reported, never replaced by a guess.
    """
    if not is_envelope(result):
        envelope = local_envelope(result, spec.id)
    else:
        envelope = result if isinstance(result, Envelope) else Envelope.parse(result, "sourced")
    if not envelope.ok:
        return envelope
    data, found = spec.output.normalise(envelope.data)
    if not found and data is envelope.data:
        return envelope
    mismatches = tuple(Warned("OUTPUT_MISMATCH", issue["message"], issue["path"] or None) for issue in found)
    return envelope.model_copy(update={"data": data, "warnings": (*envelope.warnings, *mismatches)})


def _numbered(envelope: Envelope[Any], number: int) -> Envelope[Any]:
    """Add which item of the subscription this is, and when it came."""
    meta = envelope.meta
    timestamp = getattr(meta, "timestamp", None) or time_ns() // 1_000_000
    extensions = {**meta.extensions, "sequence": number, "timestamp": timestamp}
    return envelope.model_copy(update={"meta": meta.model_copy(update={"extensions": extensions})})


def _fill_meta(envelope: Envelope[Any], **meta: Any) -> Envelope[Any]:
    """Add meta members that the source did not set."""
    missing = {
        name: value for name, value in meta.items() if value is not None and getattr(envelope.meta, name) is None
    }
    return envelope.model_copy(update={"meta": envelope.meta.model_copy(update=missing)}) if missing else envelope


def _shaped(envelope: Envelope[Any], tool: str, shaper: Shaper) -> Envelope[Any]:
    """Shape the data as the config says for this operation; meta stays."""
    return shaper.shape(envelope.data, tool=tool, source=envelope, error=envelope.error, as_json=True).envelope


def without_earlier(envelope: Envelope[Any], pieces: Pieces, tool: str, shaper: Shaper) -> Envelope[Any]:
    """Take out of an item what belongs to an earlier one: the rest of a private key, private values."""
    data = pieces.clean(envelope.data, shaper.plan(tool)) if shaper.mode == "on" else envelope.data
    return envelope if data is envelope.data else envelope.model_copy(update={"data": data})
