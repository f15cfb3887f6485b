"""`scan` finds operations in modules, and a registry calls operations, each answered with an envelope."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from shaping.cleaning import Pieces
from shaping.envelope import Envelope, local_envelope, unwrap
from shaping.errors import ToolError, nearest
from shaping.operations.execute import (
    Context,
    Env,
    Handler,
    Identity,
    PreparedCall,
    PreparedHandler,
    Trust,
    execute,
    shape_envelope,
    subscribe,
    without_earlier,
)
from shaping.operations.guard import visible
from shaping.operations.spec import Operation, Spec, check_spec, make_spec
from shaping.shaper import Shaper

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


@dataclass(frozen=True, slots=True)
class ScanProblem:
    """A module that cannot be used, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Scan:
    """The operations of a directory: those with handlers, specs without one, and modules that failed."""

    operations: list[tuple[Spec, Callable[..., Any]]] = field(default_factory=list)
    specs: list[Spec] = field(default_factory=list)
    problems: list[ScanProblem] = field(default_factory=list)


def scan(directory: str | Traversable) -> Scan:
    """Import every module under a directory, each on its own, and collect the operations that it exports.

    A module exports `spec` (with or without `handler`) or functions under `@operation`; a module that cannot be
    imported is one of the result's `problems`. Besides a path, `directory` may be any `Traversable`, as of a zip file.
    """
    found = Scan()
    for file in _modules(Path(directory) if isinstance(directory, str) else directory):
        try:
            exports = list(_exports(_load(str(file), file.read_bytes())))
        except KeyboardInterrupt:
            raise
        except BaseException as fault:  # noqa: BLE001  a module may do anything when it is imported, even exit
            found.problems.append(ScanProblem(str(file), _reason(fault)))
            continue
        for spec, handler in exports:
            if handler is None:
                found.specs.append(spec)
            else:
                found.operations.append((spec, handler))
    return found


def _modules(directory: Traversable) -> Iterator[Traversable]:
    """Yield modules, depth first, without links and without names that begin with `_` or `.`."""
    for entry in sorted(directory.iterdir(), key=lambda entry: entry.name):
        if entry.name.startswith(("_", ".")) or (isinstance(entry, Path) and entry.is_symlink()):
            continue
        if entry.is_dir():
            yield from _modules(entry)
        elif entry.name.endswith(".py"):
            yield entry


def _load(path: str, source: bytes) -> ModuleType:
    """Run a module under a name of its own, so that two of one name do not meet."""
    name = f"shaping_scanned_{hashlib.sha256(path.encode()).hexdigest()[:16]}"
    module = ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102  importing is what was asked for
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _exports(module: ModuleType) -> Iterator[tuple[Spec, Callable[..., Any] | None]]:
    """Yield the operations of a module: `spec` with or without `handler`, and every function under `@operation`."""
    members = dict(vars(module))
    spec, handler = members.get("spec"), members.get("handler")
    if spec is not None:
        if handler is not None and not callable(handler):
            raise TypeError(f"handler is {type(handler).__name__}; expected a callable")
        yield _spec(spec), handler
    for member in members.values():
        # What it imported from elsewhere is exported there.
        if isinstance(member, Operation) and member.function.__module__ == module.__name__:
            yield member.pair


def _spec(declared: Any) -> Spec:
    if isinstance(declared, Spec):
        return check_spec(declared)
    if isinstance(declared, Mapping):
        return make_spec(**declared)
    raise TypeError(f"spec is {type(declared).__name__}; expected a Spec or a mapping")


def _reason(fault: BaseException) -> str:
    lines = str(fault).strip().splitlines()
    return f"{type(fault).__name__}: {lines[0]}" if lines else type(fault).__name__


class RegistrationError(ValueError):
    """An operation that cannot be registered."""


class Registry:
    """Operations by `namespace.name`: register them, list them, call them; every call is answered with an envelope.

    `shaper` shapes answers where a call asks for it (else one made from the config that is found), `allow_eval` lets
    operations run that evaluate code (else the config says).
    `registry.add(from_openapi(document))` registers what an adapter returns, `registry.register(op)` a function under
    `@operation`; `await registry.execute("github.get_issue", {"number": 1}, identity)` calls one.
    """

    def __init__(self, *, shaper: Shaper | None = None, allow_eval: bool | None = None) -> None:
        self._specs: dict[str, Spec] = {}
        self._handlers: dict[str, PreparedHandler] = {}
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
        """Call an operation; the answer is always an envelope.

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
        pieces = Pieces()
        async with aclosing(subscribe(call, idle_timeout)) as envelopes:
            async for envelope in envelopes:
                if shape:
                    envelope = without_earlier(envelope, pieces, name, self.shaper)  # noqa: PLW2901  the same item
                    envelope = shape_envelope(envelope, name, self.shaper)  # noqa: PLW2901  the same item
                yield envelope

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
            return local_envelope(None, name, error=wrong.detail, request_id=request_id)
        return PreparedCall(
            spec,
            self._handlers[name],
            {} if given is None else given,
            Context(name, identity, request_id, make_env),
            allow_eval=self.allow_eval,
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
