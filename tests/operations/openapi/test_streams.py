"""Event streams of a real server, as subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest

from shaping.operations.openapi import client, from_openapi
from shaping.operations.openapi.client import HttpConfig
from shaping.operations.registry import Registry

if TYPE_CHECKING:
    from shaping.envelope import Envelope


@pytest.fixture(autouse=True)
def reconnects_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "RETRY_SECONDS", 0.001)


def taken(server: str, name: str, limit: int | None = None, *, method: str = "get", **more: Any) -> list[Envelope[Any]]:
    async def main() -> list[Envelope[Any]]:
        answer = {"200": {"content": {"text/event-stream": {"schema": {"type": ["integer", "string", "object"]}}}}}
        described = {
            "openapi": "3.1.0",
            "paths": {f"/stream/{name}": {method: {"operationId": "op", "responses": answer}}},
        }
        api = from_openapi(described, HttpConfig(base_url=server))
        registry = Registry()
        registry.add(api)
        found: list[Envelope[Any]] = []
        subscription = registry.subscribe("op", shape=False, request_id="r", **more)
        async for envelope in subscription:
            found.append(envelope)
            if limit is not None and len(found) == limit:
                break
        await subscription.aclose()
        await api.aclose()
        return found

    return anyio.run(main)


def test_each_event_is_an_envelope(server: str, streams: Any) -> None:
    streams.scripts["plain"] = [['data: 1\n\nevent: tick\ndata: {"a"', ": 2}\n\n", "data: text\n\n"]]
    envelopes = taken(server, "plain")
    assert [envelope.error for envelope in envelopes] == [None] * 3
    assert [envelope.data for envelope in envelopes] == [1, {"a": 2}, "text"]
    assert [envelope.meta.extensions["event"] for envelope in envelopes] == ["message", "tick", "message"]
    assert [envelope.meta.extensions["sequence"] for envelope in envelopes] == [0, 1, 2]
    assert {envelope.meta.source for envelope in envelopes} == {"http"}


@pytest.mark.parametrize("chunk", ["data: " + "x" * 700_000, "data: " + "x" * 600_000 + "\n"])
def test_an_event_without_end_is_refused(server: str, streams: Any, chunk: str) -> None:
    streams.scripts["endless"] = [[chunk, chunk]]
    (envelope,) = taken(server, "endless")
    assert envelope.error is not None
    assert (envelope.error.code, "more than 1048576 characters" in envelope.error.message) == ("TOO_LARGE", True)


def test_a_byte_order_mark_and_blocks_without_data_are_no_part_of_an_event(server: str, streams: Any) -> None:
    streams.scripts["marked"] = [["\ufeffdata: 1\r\n\r\n", ": ping\n\n", "data: [DONE]\n\n"]]
    assert [envelope.data for envelope in taken(server, "marked")] == [1]


def test_a_stream_with_ids_goes_on_after_its_last_event_until_the_server_says_it_is_over(
    server: str, streams: Any
) -> None:
    streams.asked.clear()
    streams.scripts["ids"] = [
        ["id: 1\ndata: 1\n\n", "retry: 1\n\nid: 2\ndata: 2\n\ndata: lost"],
        ["id: 3\ndata: 3\n\n"],
    ]
    assert [envelope.data for envelope in taken(server, "ids")] == [1, 2, 3]
    assert streams.asked == [None, "2", "3"]


def test_a_stream_that_breaks_off_goes_on(server: str, streams: Any) -> None:
    streams.asked.clear()
    streams.scripts["broken"] = [["id: 1\ndata: 1\n\n", "BREAK"], ["data: 2\n\n", "data: [DONE]\n\n", "data: 3\n\n"]]
    assert [envelope.data for envelope in taken(server, "broken")] == [1, 2]
    assert streams.asked == [None, "1"]


@pytest.mark.parametrize("ending", ["BREAK", ""])
def test_a_request_that_does_something_is_never_sent_again(server: str, streams: Any, ending: str) -> None:
    streams.asked.clear()
    streams.scripts["once"] = [["id: 1\ndata: 1\n\n", *filter(None, [ending])], ["id: 2\ndata: 2\n\n"]]
    envelopes = taken(server, "once", method="post")
    assert envelopes[0].data == 1
    assert [envelope.error is not None for envelope in envelopes[1:]] == ([True] if ending else [])
    assert streams.asked == [None]


def test_an_answer_on_offer_whole_and_as_a_stream_is_two_operations(server: str, streams: Any) -> None:
    streams.scripts["both"] = [["data: 1\n\n", "data: 2\n\n"]]
    content = {"application/json": {"schema": {"type": "object"}}, "text/event-stream": {"schema": {"type": "integer"}}}
    post = {"operationId": "create", "responses": {"200": {"content": content}}}

    async def main() -> tuple[list[str], list[Any]]:
        api = from_openapi({"openapi": "3.1.0", "paths": {"/stream/both": {"post": post}}}, HttpConfig(base_url=server))
        registry = Registry()
        for spec, handler in api:
            registry.register(spec, handler)
        data = [envelope.data async for envelope in registry.subscribe("create_stream", shape=False)]
        await api.aclose()
        return [f"{spec.id} {spec.type} {spec.output.json['type']}" for spec in registry.list()], data

    assert anyio.run(main) == (["create mutation object", "create_stream subscription integer"], [1, 2])


def test_a_stream_that_only_breaks_is_given_up(server: str, streams: Any) -> None:
    streams.scripts["silent"] = [["id: 1\ndata: 1\n\n"], *[[": nothing\n\n"]] * 9]
    envelopes = taken(server, "silent")
    assert [(envelope.data, envelope.error and envelope.error.code) for envelope in envelopes] == [
        (1, None),
        (None, "UNAVAILABLE"),
    ]


def test_a_stream_without_ids_that_breaks_off_is_an_error(server: str, streams: Any) -> None:
    streams.scripts["bare"] = [["data: 1\n\n", "BREAK"]]
    envelopes = taken(server, "bare")
    assert [(envelope.data, envelope.error and envelope.error.code) for envelope in envelopes] == [
        (1, None),
        (None, "UNAVAILABLE"),
    ]


def test_closing_the_subscription_closes_the_connection(server: str, streams: Any) -> None:
    streams.closed.clear()
    streams.scripts["open"] = [["data: 1\n\n", "HANG"]]
    assert [envelope.data for envelope in taken(server, "open", limit=1)] == [1]
    assert streams.closed.wait(60)


def test_a_silent_stream_is_given_up_after_its_idle_time(server: str, streams: Any) -> None:
    for seconds in (1, 5, 20):  # more where a slow machine did not even answer in time
        streams.scripts["idle"] = [["data: 1\n\n", "HANG"]]
        envelopes = taken(server, "idle", idle_timeout=seconds)
        if envelopes[0].ok:
            break
    assert [(envelope.data, envelope.error and envelope.error.code) for envelope in envelopes] == [
        (1, None),
        (None, "TIMEOUT"),
    ]


@pytest.mark.parametrize(("path", "code"), [("../status/404", "NOT_FOUND"), ("../kind/text", "BAD_RESPONSE")])
def test_an_answer_that_is_no_stream_is_an_error(server: str, path: str, code: str) -> None:
    (envelope,) = taken(server, path)
    assert envelope.error is not None
    assert envelope.error.code == code
