"""The registry: operations from anywhere, called one way, answered with one envelope."""

from __future__ import annotations

from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

from shaping.envelope import unwrap
from shaping.errors import ToolError, nearest
from shaping.operations.decorate import Operation
from shaping.operations.execute import (
    Context,
    Env,
    PreparedCall,
    PreparedHandler,
    Trust,
    error_envelope,
    execute,
    fill_meta,
    shape_envelope,
    subscribe,
)
from shaping.operations.guard import visible
from shaping.operations.spec import Spec, check_spec
from shaping.shaper import Shaper

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Iterable

    from shaping.envelope import Envelope
    from shaping.operations.execute import Handler, Identity


class RegistrationError(ValueError):
    """An operation that cannot be registered as asked."""


class Registry:
    """Operations by `namespace.name`: register them, list them, call them; every call is answered with an envelope.

    `shaper` shapes answers where a call asks for it (else one made from the config that is found), `allow_eval` lets
    operations run that evaluate code (else the config says), and `debug` puts tracebacks into errors.
    `registry.add(from_openapi(document))` registers what an adapter returns, `registry.register(op)` a function under
    `@operation`; `await registry.execute("github.get_issue", {"number": 1}, identity)` calls one.
    """

    def __init__(self, *, shaper: Shaper | None = None, allow_eval: bool | None = None, debug: bool = False) -> None:
        self._specs: dict[str, Spec] = {}
        self._handlers: dict[str, PreparedHandler] = {}
        self._shaper = shaper
        self._trust = Trust()
        self._allow_eval = allow_eval
        self._debug = debug

    @property
    def allow_eval(self) -> bool:
        """Whether an operation may evaluate code now."""
        if self._allow_eval is not None:
            return self._allow_eval
        # A registry that evaluates nothing needs no config to know that it does not.
        evaluates = any(spec.operation_type == "eval" for spec in self._specs.values())
        return evaluates and self.shaper.generation.config.allow_eval

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
        """Add what is known of an operation; it can be called once it has a handler."""
        check_spec(spec)
        if spec.id in self._specs and not replace:
            raise RegistrationError(
                f"{spec.id!r} is registered already; pass replace=True to put this one in its place"
            )
        self._specs[spec.id] = spec

    def register_handler(self, name: str, handler: Handler, *, replace: bool = False) -> None:
        """Add the handler of an operation whose spec is or will be registered."""
        if name in self._handlers and not replace:
            raise RegistrationError(f"{name!r} has a handler already; pass replace=True to put this one in its place")
        self._handlers[name] = PreparedHandler.of(handler)

    def add(self, operations: Iterable[tuple[Spec, Handler]], *, replace: bool = False) -> None:
        """Register the pairs of spec and handler that an adapter (`from_openapi`, `McpServer.operations`) returns."""
        for spec, handler in operations:
            self.register(spec, handler, replace=replace)

    def get(self, name: str) -> Spec | None:
        """Return the spec of an operation that may be known to callers."""
        spec = self._specs.get(name)
        return spec if spec is not None and visible([spec], allow_eval=self.allow_eval) else None

    def list(self) -> list[Spec]:
        """List the operations that can be called."""
        ready = [spec for name, spec in self._specs.items() if name in self._handlers]
        return visible(ready, allow_eval=self.allow_eval)

    def trust(self) -> Trust:
        """Return the right to call anything; for whoever sets the registry up, never for a handler or a caller."""
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
        """Call an operation; whatever happens to the call, the answer is an envelope.

        Its data is validated and normalised by the operation's schema; `shape` also shapes it for a model.
        """
        call = self._prepare(name, input, identity, request_id, trust)
        if not isinstance(call, PreparedCall):
            return call
        envelope = await execute(call, time_limit)
        return shape_envelope(envelope, name, self.shaper) if shape else envelope

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
        """Yield an envelope for each item of a subscription; closing this closes the handler's generator."""
        call = self._prepare(name, input, identity, request_id, trust, subscribes=True)
        if not isinstance(call, PreparedCall):
            yield call
            return
        async with aclosing(subscribe(call, idle_timeout)) as envelopes:
            async for envelope in envelopes:
                yield shape_envelope(envelope, name, self.shaper) if shape else envelope

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

    def _prepare(
        self,
        name: str,
        given: Any,
        identity: Identity | None,
        request_id: str | None,
        trust: Trust | None,
        *,
        subscribes: bool = False,
    ) -> PreparedCall | Envelope[Any]:
        """Return the call to make, or the error that answers one that cannot be made."""

        def make_env(only: Collection[str] | None) -> Env:
            return self.build_env(identity, namespaces=only, request_id=request_id)

        try:
            spec = self._find(name, subscribes=subscribes)
        except ToolError as wrong:
            return fill_meta(error_envelope(wrong.detail, name), request_id=request_id)
        return PreparedCall(
            spec,
            self._handlers[name],
            {} if given is None else given,
            Context(name, identity, request_id, make_env),
            allow_eval=self.allow_eval,
            debug=self._debug,
            trusted=trust is self._trust,
        )

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
