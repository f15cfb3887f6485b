from __future__ import annotations

import gc
import os
import random
import shutil
import subprocess
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from shaping.envelope import Envelope, local_envelope, mcp_envelope
from shaping.errors import ToolError, make_error
from shaping.operations.access import Identity
from shaping.operations.calls import (
    Aborted,
    CallHandler,
    Completed,
    Event,
    Failed,
    InProcess,
    PendingCalls,
    RedisTransport,
    Requested,
    Responded,
    read_event,
    write_event,
)
from shaping.operations.registry import Registry
from shaping.operations.spec import make_spec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from shaping.operations.calls import Transport


class Shop:
    """Operations for calls, and what happened to them."""

    def __init__(self) -> None:
        self.started: list[Any] = []
        self.cancelled: list[Any] = []
        self.registry = Registry()
        handlers: dict[str, Any] = {
            "echo": lambda given: {"echo": given},
            "whoami": lambda _, context: context.identity and [context.identity.id, sorted(context.identity.scopes)],
            "refused": lambda _: mcp_envelope(None, content=[], error=make_error("NOT_FOUND", "no such thing")),
            "broken": self.broken,
            "odd": lambda _: object(),
            "wait": self.wait,
        }
        for name, handler in handlers.items():
            self.registry.register(make_spec(name, operation_type="query"), handler)

    def broken(self, _: Any) -> Any:
        raise ToolError("CONFLICT", "it raised")

    async def wait(self, given: Any) -> Any:
        self.started.append(given)
        try:
            await anyio.sleep(given.get("seconds", 600))
        except BaseException:
            self.cancelled.append(given)
            raise
        return "slept"


@asynccontextmanager
async def serving(shop: Shop, transport: Transport | None = None) -> AsyncIterator[tuple[PendingCalls, CallHandler]]:
    transport = transport or InProcess()
    async with CallHandler(shop.registry, transport, shape=False) as handler, PendingCalls(transport) as calls:
        yield calls, handler
        assert calls.pending == ()


async def disconnect(transport: InProcess, channel: str) -> None:
    for stream in [stream for listened, stream in transport._listeners if listened == channel]:
        await stream.aclose()


async def until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(60):
        while not holds():  # noqa: ASYNC110  what is waited for happens inside the code under test
            await anyio.sleep(0.001)


LONGER = (0.05, 1, 5, 20)  # seconds to try, where a deadline must not pass before the other side has begun


def code(envelope: Envelope[Any]) -> str | None:
    return envelope.error.code if envelope.error else None


def test_a_call_is_answered_with_the_operations_envelope() -> None:
    async def main() -> None:
        async with serving(Shop()) as (calls, handler):
            envelope = await calls.call("echo", {"a": [1]}, request_id="mine")
            assert (envelope.data, envelope.meta.request_id, envelope.meta.source) == (
                {"echo": {"a": [1]}},
                "mine",
                "local",
            )
            assert handler.running == ()

    anyio.run(main)


def test_the_identity_travels_with_the_call() -> None:
    async def main() -> None:
        async with serving(Shop()) as (calls, _):
            identity = Identity("ann", frozenset({"b", "a"}), {"project:1": ["read"]})
            assert (await calls.call("whoami", None, identity)).data == ["ann", ["a", "b"]]
            assert (await calls.call("whoami")).data is None

    anyio.run(main)


def test_an_answer_that_is_an_error_is_an_answer_and_only_a_raise_is_an_error_event() -> None:
    async def main() -> list[str]:
        transport, shop = InProcess(), Shop()
        said: list[str] = []
        async with CallHandler(shop.registry, transport, shape=False), transport.listen("me") as messages:
            for name in ("refused", "broken", "odd", "missing"):
                request = Requested(request_id=name, operation=name, reply_to="me")
                await transport.publish("calls", write_event(request))
                event = read_event(await anext(messages))
                said.append(event.type)
                if isinstance(event, Responded):
                    assert isinstance(read_event(await anext(messages)), Completed)
                    assert code(Envelope.parse(event.output)) == "NOT_FOUND"
        return said

    assert anyio.run(main) == ["call.responded", "call.error", "call.error", "call.error"]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [("refused", "NOT_FOUND"), ("broken", "CONFLICT"), ("odd", "BAD_RESPONSE"), ("missing", "OPERATION_NOT_FOUND")],
)
def test_every_failure_reaches_the_caller_as_an_envelope(operation: str, expected: str) -> None:
    async def main() -> None:
        async with serving(Shop()) as (calls, _):
            assert code(await calls.call(operation)) == expected

    anyio.run(main)


def test_only_an_envelope_is_a_response() -> None:
    async def main() -> None:
        async with serving(Shop()) as (_, handler):
            request = Requested(request_id="1", operation="echo", reply_to="me")
            with pytest.raises(ValueError, match="the output of a call is an envelope"):
                await handler.respond(request, {"data": 1})
            await handler.respond(request, local_envelope(1, "echo").render("sourced"))

    anyio.run(main)
    with pytest.raises(ValueError, match="the output of a call is an envelope"):
        Responded(request_id="1", output={"data": 1})


def test_a_deadline_ends_the_call_on_both_sides() -> None:
    shop = Shop()

    async def main() -> None:
        async with serving(shop) as (calls, handler):
            for deadline in LONGER:
                assert code(await calls.call("wait", {}, deadline=deadline)) == "TIMEOUT"
                await until(lambda: not handler.running)
                if shop.started:
                    break

    anyio.run(main)
    assert shop.cancelled == [{}]


def test_abort_really_cancels_the_handler_on_the_other_side() -> None:
    shop = Shop()

    async def main() -> None:
        async with serving(shop) as (calls, handler), anyio.create_task_group() as tasks:
            answers: list[Envelope[Any]] = []

            async def ask() -> None:
                answers.append(await calls.call("wait", {}, request_id="mine"))

            tasks.start_soon(ask)
            await until(lambda: bool(shop.started))
            assert await calls.abort("mine", "changed my mind")
            await until(lambda: bool(answers) and not handler.running)
            assert (code(answers[0]), answers[0].error and answers[0].error.message) == ("ABORTED", "changed my mind")
            assert await calls.abort("mine") is False

    anyio.run(main)
    assert shop.cancelled == [{}]


def test_a_caller_that_is_cancelled_cancels_the_handler() -> None:
    shop = Shop()

    async def main() -> None:
        async with serving(shop) as (calls, handler):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(lambda: calls.call("wait", {}))
                await until(lambda: bool(shop.started))
                tasks.cancel_scope.cancel()
            await until(lambda: not handler.running)

    anyio.run(main)
    assert shop.cancelled == [{}]


def test_a_request_id_is_used_by_one_call_at_a_time() -> None:
    shop = Shop()

    async def main() -> None:
        async with serving(shop) as (calls, _), anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: calls.call("wait", {}, request_id="same"))
            await until(lambda: bool(shop.started))
            assert code(await calls.call("echo", request_id="same")) == "CONFLICT"
            await calls.abort("same")

    anyio.run(main)


def test_two_callers_may_use_the_same_request_id() -> None:
    async def main() -> list[Any]:
        shop, transport, answers = Shop(), InProcess(), list[Any]()
        async with (
            serving(shop, transport) as (calls, _),
            PendingCalls(transport) as others,
            anyio.create_task_group() as tasks,
        ):

            async def ask(who: PendingCalls, name: str) -> None:
                answers.append((name, code(await who.call("wait", {}, request_id="1"))))

            tasks.start_soon(ask, calls, "one")
            tasks.start_soon(ask, others, "other")
            await until(lambda: len(shop.started) == 2)
            await calls.abort("1")
            await until(lambda: len(answers) == 1 and len(shop.cancelled) == 1)
            assert (calls.pending, others.pending) == ((), ("1",))
            await others.abort("1")
        return answers

    assert anyio.run(main) == [("one", "ABORTED"), ("other", "ABORTED")]


def test_input_that_is_not_json_is_refused_before_it_is_sent() -> None:
    async def main() -> None:
        async with serving(Shop()) as (calls, _):
            assert code(await calls.call("echo", {"x": object()})) == "BAD_ARGUMENT"

    anyio.run(main)


def test_a_call_that_nobody_serves_fails_at_once() -> None:
    async def main() -> None:
        calls = PendingCalls(InProcess())
        assert code(await calls.call("echo")) == "UNAVAILABLE"
        async with calls:
            assert code(await calls.call("echo")) == "UNAVAILABLE"
            assert calls.pending == ()

    anyio.run(main)


def test_nothing_stays_pending_when_the_callers_connection_is_lost() -> None:
    async def main() -> None:
        shop, transport = Shop(), InProcess()
        async with serving(shop, transport) as (calls, _), anyio.create_task_group() as tasks:
            answers: list[Envelope[Any]] = []

            async def ask() -> None:
                answers.append(await calls.call("wait", {}))

            for _n in range(5):
                tasks.start_soon(ask)
            await until(lambda: len(shop.started) == 5)
            await disconnect(transport, calls._replies)
            await until(lambda: len(answers) == 5)
            assert {code(answer) for answer in answers} == {"UNAVAILABLE"}

    anyio.run(main)


def test_a_server_that_stops_tells_its_callers() -> None:
    shop = Shop()

    async def main() -> None:
        transport = InProcess()
        answers: list[Envelope[Any]] = []
        async with (
            PendingCalls(transport) as calls,
            anyio.create_task_group() as tasks,
            CallHandler(shop.registry, transport, shape=False),
        ):

            async def ask() -> None:
                answers.append(await calls.call("wait", {}))

            tasks.start_soon(ask)
            await until(lambda: bool(shop.started))
        assert [answer.error and answer.error.message for answer in answers] == ["the server stopped"]

    anyio.run(main)
    assert shop.cancelled == [{}]


def test_a_server_whose_connection_is_lost_stops_what_it_ran() -> None:
    shop = Shop()

    async def main() -> None:
        transport = InProcess()
        async with serving(shop, transport) as (calls, handler), anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: calls.call("wait", {}))
            await until(lambda: bool(shop.started))
            await disconnect(transport, "calls")
            await until(lambda: not handler.running)

    anyio.run(main)
    assert shop.cancelled == [{}]


def test_messages_that_are_no_events_are_dropped() -> None:
    async def main() -> None:
        transport = InProcess()
        async with serving(Shop(), transport) as (calls, _):
            await transport.publish("calls", b"{")
            await transport.publish(calls._replies, b"{")
            await transport.publish(calls._replies, write_event(Completed(request_id="nobody")))
            await transport.publish("calls", write_event(Aborted(request_id="nobody")))
            assert (await calls.call("echo", 1)).data == {"echo": 1}

    anyio.run(main)


def test_events_about_a_call_settle_it_once() -> None:
    async def main() -> None:
        transport = InProcess()
        async with PendingCalls(transport) as calls, transport.listen("calls") as requests:
            events: list[Event] = [
                Completed(request_id="0"),
                Aborted(request_id="1"),
                Failed(request_id="2", error=make_error("CONFLICT", "x")),
                Requested(request_id="3", operation="x", reply_to="x"),
            ]
            for number, event in enumerate(events):
                async with anyio.create_task_group() as tasks:
                    answers: list[str | None] = []

                    async def ask(number: int = number, answers: list[str | None] = answers) -> None:
                        # Only the last, which no event settles, is to run into its deadline.
                        deadline = 600 if number < 3 else 0.05
                        answers.append(code(await calls.call("echo", request_id=str(number), deadline=deadline)))

                    tasks.start_soon(ask)
                    await anext(requests)
                    await transport.publish(calls._replies, write_event(event))
                    await transport.publish(calls._replies, write_event(event))
                assert answers == [["BAD_RESPONSE"], ["ABORTED"], ["CONFLICT"], ["TIMEOUT"]][number]

    anyio.run(main)


class Failing(InProcess):
    """A transport whose connection breaks where it is told to."""

    def __init__(self, *channels: str) -> None:
        super().__init__()
        self.broken = set(channels)

    async def publish(self, channel: str, message: bytes) -> int:
        if any(channel.startswith(name) for name in self.broken):
            raise ConnectionError
        return await super().publish(channel, message)

    @asynccontextmanager
    async def listen(self, channel: str) -> AsyncIterator[AsyncIterator[bytes]]:
        async with super().listen(channel) as messages:
            yield self._until_broken(messages)

    async def _until_broken(self, messages: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for message in messages:
            if message == b"break":
                raise ConnectionError
            yield message


def test_a_connection_that_fails_is_an_error_envelope() -> None:
    async def main() -> None:
        transport = Failing()
        async with serving(Shop(), transport) as (calls, handler):
            transport.broken = {"calls:replies"}
            assert code(await calls.call("wait", {"seconds": 0.001}, deadline=0.05)) == "TIMEOUT"
            assert code(await calls.call("broken", deadline=0.05)) == "TIMEOUT"
            transport.broken = {"calls"}
            assert code(await calls.call("echo")) == "UNAVAILABLE"
            await until(lambda: not handler.running)
            transport.broken = set()
            await transport.publish("calls", b"break")
            await transport.publish(calls._replies, b"break")
            await until(lambda: transport._listeners == [])
            assert code(await calls.call("echo")) == "UNAVAILABLE"

    anyio.run(main)


def test_a_call_that_cannot_be_claimed_ends_nothing_else() -> None:
    class Unclaimed(InProcess):
        async def claim(self, request_id: str) -> bool:
            if request_id.endswith("lost"):
                raise ConnectionError
            return await super().claim(request_id)

    async def main() -> None:
        async with serving(Shop(), Unclaimed()) as (calls, _):
            assert code(await calls.call("echo", request_id="lost", deadline=0.05)) == "TIMEOUT"
            assert (await calls.call("echo", 1)).data == {"echo": 1}

    anyio.run(main)


def test_many_calls_with_random_aborts_and_deadlines_leave_nothing_behind() -> None:
    """The project's bar is ten thousand of them: `SHAPING_STORM=10000 pytest` runs them all."""
    outcomes = anyio.run(storm, int(os.environ.get("SHAPING_STORM", "600")))
    assert {"ok", "ABORTED", "TIMEOUT", "CONFLICT", "NOT_FOUND"} >= set(outcomes)


async def storm(count: int) -> dict[str, int]:
    dice, shop, transport, outcomes = random.Random(7), Shop(), InProcess(), dict[str, int]()  # noqa: S311  the same storm each time
    async with CallHandler(shop.registry, transport, shape=False) as handler, PendingCalls(transport) as calls:

        async def one(number: int) -> None:
            operation = dice.choice(["echo", "wait", "wait", "refused", "broken"])
            given = {"seconds": dice.choice([0, 0.001, 0.01, 1])}
            with anyio.move_on_after(dice.choice([0.02, 5])):
                answer = await calls.call(operation, given, request_id=str(number), deadline=dice.choice([0.005, 0.05]))
                outcomes[code(answer) or "ok"] = outcomes.get(code(answer) or "ok", 0) + 1

        async def stopper() -> None:
            while True:
                await anyio.sleep(0.001)
                if calls.pending:
                    await calls.abort(dice.choice(calls.pending))

        async with anyio.create_task_group() as around:
            around.start_soon(stopper)
            for start in range(0, count, 200):
                async with anyio.create_task_group() as tasks:
                    for number in range(start, min(count, start + 200)):
                        tasks.start_soon(one, number)
            around.cancel_scope.cancel()
        await until(lambda: not handler.running)
        assert calls.pending == ()
    assert transport._listeners == []
    gc.collect()
    assert [task.name for task in anyio.get_running_tasks() if task != anyio.get_current_task()] == []
    return outcomes


@pytest.fixture
def redis_url(tmp_path: Path, free_port: Callable[[], int], until_it_listens: Callable[..., None]) -> Iterator[str]:
    if not (server := shutil.which("redis-server")):
        pytest.skip("no redis-server on this machine")
    port = free_port()
    process = subprocess.Popen(
        [server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)],
        stdout=subprocess.DEVNULL,
    )
    try:
        until_it_listens(process, port)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.kill()
        process.wait(60)


def test_calls_go_over_a_real_redis_and_are_served_once(redis_url: str) -> None:
    shop = Shop()

    async def main() -> None:
        here, there, also = (RedisTransport(redis_url) for _ in range(3))
        try:
            async with (
                CallHandler(shop.registry, also, shape=False),
                CallHandler(shop.registry, there, shape=False),
                PendingCalls(here) as calls,
            ):
                assert (await calls.call("echo", {"a": 1})).data == {"echo": {"a": 1}}
                assert (await calls.call("wait", {"seconds": 0})).data == "slept"
                for deadline in LONGER:
                    assert code(await calls.call("wait", {}, deadline=deadline)) == "TIMEOUT"
                    if len(shop.started) == 2:
                        break
                assert calls.pending == ()
                await until(lambda: shop.cancelled == [{}])
        finally:
            for transport in (here, there, also):
                await transport.aclose()

    anyio.run(main)
    assert len(shop.started) == 2
    assert shop.cancelled == [{}]


def test_a_redis_that_goes_away_leaves_nothing_pending(redis_url: str) -> None:
    async def main() -> None:
        shop, here, there = Shop(), RedisTransport(redis_url), RedisTransport(redis_url)
        async with CallHandler(shop.registry, there, shape=False), PendingCalls(here) as calls:
            async with anyio.create_task_group() as tasks:
                answers: list[str | None] = []

                async def ask() -> None:
                    answers.append(code(await calls.call("wait", {}, deadline=600)))

                tasks.start_soon(ask)
                await until(lambda: bool(shop.started))
                admin = RedisTransport(redis_url)
                with suppress(Exception):
                    await admin._redis.shutdown(nosave=True)
                with pytest.raises(ConnectionError):
                    await admin.publish("x", b"x")
                await admin.aclose()
            assert answers == ["UNAVAILABLE"]
            assert calls.pending == ()
            assert code(await calls.call("echo")) == "UNAVAILABLE"
        await here.aclose()
        await there.aclose()

    anyio.run(main)


def test_without_redis_there_is_an_instruction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)
    with pytest.raises(ImportError, match=r'pip install "shaping\[redis\]"'):
        RedisTransport("redis://127.0.0.1:1/0")
