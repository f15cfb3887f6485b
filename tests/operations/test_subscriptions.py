from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest

from shaping.envelope import Envelope, http_envelope
from shaping.errors import ToolError
from shaping.operations.registry import Registry
from shaping.operations.spec import make_spec

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


def registered(handler: Any, **more: Any) -> Registry:
    registry = Registry()
    registry.register(make_spec("ticks", **{"operation_type": "query", "type": "subscription", **more}), handler)
    return registry


def taken(registry: Registry, name: str = "ticks", **more: Any) -> list[Envelope[Any]]:
    async def main() -> list[Envelope[Any]]:
        return [envelope async for envelope in registry.subscribe(name, shape=False, **more)]

    return anyio.run(main)


async def three(_: Any) -> AsyncGenerator[Any, None]:
    for number in range(3):
        yield {"n": number}


def test_each_item_is_an_envelope_with_a_number_and_a_time() -> None:
    envelopes = taken(registered(three), request_id="r")
    assert [envelope.data for envelope in envelopes] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert [envelope.meta.extensions["sequence"] for envelope in envelopes] == [0, 1, 2]
    assert all(envelope.meta.extensions["timestamp"] > 10**12 for envelope in envelopes)
    assert {envelope.meta.request_id for envelope in envelopes} == {"r"}


def test_each_item_is_checked() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 1}}}
    assert [len(e.warnings) for e in taken(registered(three, output=schema))] == [0, 0, 1]


def test_each_item_is_shaped_where_that_is_asked_for() -> None:
    from shaping.shaper import Shaper

    registry = Registry(shaper=Shaper(config={"tool_overrides": {"ticks": {"exclude_fields": ["n"]}}}))
    registry.register(make_spec("ticks", operation_type="query", type="subscription"), three)

    async def main() -> list[Any]:
        return [envelope.data async for envelope in registry.subscribe("ticks", shape=True)]

    assert anyio.run(main) == [{}, {}, {}]


def test_an_envelope_is_passed_on_and_numbered() -> None:
    async def handler(_: Any) -> AsyncGenerator[Any, None]:
        yield http_envelope("x", status=200)

    (envelope,) = taken(registered(handler))
    assert (envelope.meta.source, envelope.meta.extensions["sequence"]) == ("http", 0)


def test_a_failure_is_the_last_item() -> None:
    async def handler(_: Any) -> AsyncGenerator[Any, None]:
        yield 1
        raise ToolError("NOT_FOUND", "gone")

    envelopes = taken(registered(handler))
    assert [(e.data, e.error and e.error.code, e.meta.extensions["sequence"]) for e in envelopes] == [
        (1, None, 0),
        (None, "NOT_FOUND", 1),
    ]


@pytest.mark.parametrize(("name", "code"), [("tick", "OPERATION_NOT_FOUND"), ("ticks", "BAD_ARGUMENT")])
def test_what_cannot_be_subscribed_to_says_so_in_an_envelope(name: str, code: str) -> None:
    registry = Registry()
    registry.register(make_spec("ticks", operation_type="query"), lambda _: 1)
    (envelope,) = taken(registry, name)
    assert envelope.error is not None
    assert envelope.error.code == code


def test_a_subscription_cannot_be_executed() -> None:
    envelope = anyio.run(registered(three).execute, "ticks", {})
    assert envelope.error is not None
    assert envelope.error.message == "ticks is a subscription; subscribe to it"


def test_input_is_checked_before_anything_runs() -> None:
    (envelope,) = taken(registered(three, input={"type": "object", "required": ["topic"]}))
    assert envelope.error is not None
    assert envelope.error.code == "BAD_ARGUMENT"


def test_a_silent_source_is_given_up_and_closed() -> None:
    closed: list[str] = []

    async def silent(_: Any) -> AsyncGenerator[Any, None]:
        try:
            yield 1
            await anyio.sleep(600)
        finally:
            closed.append("closed")

    envelopes = taken(registered(silent), idle_timeout=0.01)
    assert [(e.data, e.error and e.error.code) for e in envelopes] == [(1, None), (None, "TIMEOUT")]
    assert closed == ["closed"]


def test_closing_the_consumer_closes_the_generator() -> None:
    closed: list[str] = []

    async def endless(_: Any) -> AsyncGenerator[Any, None]:
        try:
            while True:
                yield 1
        finally:
            closed.append("closed")

    async def main() -> None:
        subscription = registered(endless).subscribe("ticks", shape=False)
        await anext(subscription)
        await subscription.aclose()
        assert closed == ["closed"]

    anyio.run(main)


def test_a_slow_consumer_holds_the_handler_back() -> None:
    made: list[int] = []

    async def eager(_: Any) -> AsyncGenerator[Any, None]:
        for number in range(100):
            made.append(number)
            yield number

    async def main() -> None:
        subscription = registered(eager).subscribe("ticks", shape=False)
        await anext(subscription)
        await anyio.sleep(0.01)
        await anext(subscription)
        await subscription.aclose()

    anyio.run(main)
    assert made == [0, 1]
