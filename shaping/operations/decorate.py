"""`@operation` makes an operation of a typed function; `scan` finds the operations in a directory's modules."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import AsyncIterable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, create_model

from shaping.operations.execute import Context
from shaping.operations.spec import Spec, check_spec, make_spec

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

DERIVED = {"query": "query", "subscription": "query", "mutation": "command"}


@dataclass(frozen=True)
class Operation:
    """A function that is an operation: call it as before, or register it with `registry.register(op)`."""

    spec: Spec
    function: Callable[..., Any]
    context_name: str | None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        return self.function(*args, **kwargs)

    @property
    def pair(self) -> tuple[Spec, Callable[..., Any]]:
        """What a registry takes: the spec and its handler."""
        return self.spec, _handler(self.function, self.context_name)


def operation(**more: Any) -> Callable[[Callable[..., Any]], Operation]:
    """Make an operation of a typed function: its parameters are the input, its return annotation the output.

    `more` are fields of `Spec`. `type` (`query` or `mutation`) is required, because a signature does not tell what a
    function changes; an async generator is a `subscription`. A parameter annotated with `Context` receives the call's
    context and is no input. The function can still be called as before; `registry.register(function)` registers it.
    """
    return lambda function: operation_of(function, **more)


def operation_of(function: Callable[..., Any], **more: Any) -> Operation:
    """Read a function's signature and docstring; `more` says what they cannot: type, access, codes."""
    hints = get_type_hints(function, include_extras=True)
    context_name = next((name for name, hint in hints.items() if hint is Context and name != "return"), None)
    if inspect.isasyncgenfunction(function):
        more.setdefault("type", "subscription")
    more.setdefault("operation_type", DERIVED.get(more.get("type", "")))
    spec = make_spec(
        more.pop("name", function.__name__),
        input=more.pop("input", None) or _model(function, hints, context_name),
        output=more.pop("output", None) or _output(hints.get("return")),
        description=more.pop("description", inspect.getdoc(function) or ""),
        **more,
    )
    made = Operation(spec, function, context_name)
    made.__dict__.update(__name__=function.__name__, __doc__=function.__doc__, __wrapped__=function)
    return made


def _model(function: Callable[..., Any], hints: Mapping[str, Any], context_name: str | None) -> Any:
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY}:
            raise TypeError(f"{function.__name__} takes {parameter}; an operation's parameters have names")
        if name != context_name:
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[name] = (hints.get(name, Any), default)
    return create_model(f"{function.__name__}_input", __config__=ConfigDict(extra="forbid"), **fields)


def _output(hint: Any) -> Any:
    """Return what one answer looks like; of a generator, one item."""
    origin = get_origin(hint)
    if isinstance(origin, type) and issubclass(origin, AsyncIterable):
        return next(iter(get_args(hint)), None)
    return None if hint in (None, Any, type(None)) else hint


def _handler(function: Callable[..., Any], context_name: str | None) -> Callable[..., Any]:
    """Spread the input over the function's parameters, as the same kind of function."""

    def arguments(given: Any, context: Context) -> dict[str, Any]:
        # The values stay as the model read them; dumping would turn nested models into dicts.
        named = {name: getattr(given, name) for name in type(given).model_fields}
        return {**named, context_name: context} if context_name else named

    if inspect.iscoroutinefunction(function):

        async def run(given: Any, context: Context) -> Any:
            return await function(**arguments(given, context))

        return run
    return lambda given, context: function(**arguments(given, context))


@dataclass(frozen=True, slots=True)
class ScanProblem:
    """A module that cannot be used, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Scan:
    """What a directory holds: operations with their handlers, specs that wait for one, and what went wrong."""

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
    """Yield modules, depth first; links may lead out of the directory, and `_` or `.` begins what is no operation."""
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
    """Yield what a module exports: `spec` with or without `handler`, and every function that is an operation."""
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
