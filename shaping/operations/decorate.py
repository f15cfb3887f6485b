"""Making an operation of a typed function."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, create_model

from shaping.operations.context import Context
from shaping.operations.spec import Spec, make_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
    """Make an operation of a typed function: its parameters are the input, its annotation the output.

    What a function does to the world cannot be read from it, so `type` is always said; a generator is a subscription.
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
    """Give what one answer looks like; of a generator, one item."""
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

    if inspect.isasyncgenfunction(function):
        return lambda given, context: function(**arguments(given, context))
    if inspect.iscoroutinefunction(function):

        async def run(given: Any, context: Context) -> Any:
            return await function(**arguments(given, context))

        return run
    return lambda given, context: function(**arguments(given, context))
