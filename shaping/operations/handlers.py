"""Calling a handler, whatever kind of callable it is."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from shaping.operations.context import Context

Handler: TypeAlias = "Callable[..., Any]"


@dataclass(frozen=True, slots=True)
class Prepared:
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
        """Give what a subscription's handler yields."""
        stream: AsyncIterator[Any] = self._bound(value, context)()
        return stream

    def _bound(self, value: Any, context: Context) -> Callable[[], Any]:
        return partial(self.call, value, context) if self.takes_context else partial(self.call, value)


def prepare(handler: Handler) -> Prepared:
    """Find out once what every call needs to know."""
    if isinstance(handler, Prepared):
        return handler
    plain = handler.func if isinstance(handler, partial) else handler
    inner = plain if inspect.isroutine(plain) else type(plain).__call__
    return Prepared(handler, _takes_context(handler), inspect.iscoroutinefunction(inner))


def _takes_context(handler: Handler) -> bool:
    """Whether a second positional argument can be given."""
    try:
        parameters = inspect.signature(handler).parameters.values()
    except (TypeError, ValueError):
        return False
    places = [p for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}]
    return len(places) >= 2 or any(p.kind == p.VAR_POSITIONAL for p in parameters)
