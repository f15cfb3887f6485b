"""Subscriptions: each item in an envelope of its own, numbered and dated, at the consumer's pace."""

from __future__ import annotations

from contextlib import aclosing
from time import time_ns
from typing import TYPE_CHECKING, Any

import anyio

from shaping.errors import ToolError
from shaping.operations.execute import admitted, checked, failure, stamped, wrapped

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from shaping.envelope import Envelope
    from shaping.operations.context import Context
    from shaping.operations.execute import Entry, Policy


async def subscribe(
    entry: Entry,
    given: Any,
    context: Context,
    policy: Policy,
    *,
    trusted: bool = False,
    idle_timeout: float | None = None,
) -> AsyncGenerator[Envelope[Any], None]:
    """Yield an envelope for each item; a failure is the last one.

    An item is asked for when the consumer asks, so a slow consumer holds the handler back and nothing piles up. Closing
    this generator closes the handler's.
    """
    number = 0
    try:
        value = admitted(entry, given, context, policy, trusted=trusted)
        async with aclosing(entry.handler.iterate(value, context)) as items:  # type: ignore[type-var]  # any async iterator of a handler is a generator
            async for item in _each(items, idle_timeout, entry.spec.id):
                yield _numbered(checked(wrapped(item, entry.spec), entry.spec), number, context)
                number += 1
    except Exception as fault:  # noqa: BLE001  whatever a handler raises is the last item
        yield _numbered(failure(fault, entry.spec, policy), number, context)


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
    """Say which item of the subscription this is, and when it came."""
    meta = envelope.meta
    timestamp = getattr(meta, "timestamp", None) or time_ns() // 1_000_000
    extensions = {**meta.extensions, "sequence": number, "timestamp": timestamp}
    dated = envelope.model_copy(update={"meta": meta.model_copy(update={"extensions": extensions})})
    return stamped(dated, request_id=context.request_id)
