from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel

from shaping import Shaper
from shaping.envelope import Envelope, http_envelope
from shaping.errors import ToolError, UnknownCodeError, registry
from shaping.operations.access import Identity
from shaping.operations.registry import RegistrationError, Registry
from shaping.operations.spec import ManifestError, make_spec

if TYPE_CHECKING:
    from shaping.operations.access import Context


def spec(name: str = "get", **more: Any) -> Any:
    return make_spec(name, **{"namespace": "shop", "operation_type": "query", **more})


def called(registry: Registry, name: str, given: Any = None, **more: Any) -> Envelope[Any]:
    async def call() -> Envelope[Any]:
        return await registry.execute(name, given, shape=False, **more)

    return anyio.run(call)


def test_an_operation_is_called_by_its_full_name() -> None:
    registry = Registry()
    registry.register(spec(), lambda given: {"echo": given})
    envelope = called(registry, "shop.get", {"id": 1}, request_id="r1")
    assert (envelope.data, envelope.ok) == ({"echo": {"id": 1}}, True)
    assert (envelope.meta.source, envelope.meta.request_id) == ("local", "r1")


@pytest.mark.parametrize("kind", ["sync", "async", "object", "awaitable"])
def test_any_callable_is_a_handler(kind: str) -> None:
    async def asynchronous(given: Any) -> str:
        await anyio.lowlevel.checkpoint()
        return "async"

    class Object:
        async def __call__(self, given: Any, context: Context) -> str:
            return "object"

    handlers: dict[str, Any] = {
        "sync": lambda _: "sync",
        "async": asynchronous,
        "object": Object(),
        "awaitable": lambda given: asynchronous([given]),
    }
    registry = Registry()
    registry.register(spec(), handlers[kind])
    assert called(registry, "shop.get").data == ("async" if kind == "awaitable" else kind)


def test_a_handler_with_two_parameters_is_told_about_the_call() -> None:
    registry = Registry()
    registry.register(spec(), lambda given, context: (context.operation_id, context.identity.id, context.request_id))
    envelope = called(registry, "shop.get", identity=Identity("ann"), request_id="r")
    assert envelope.data == ("shop.get", "ann", "r")


def test_spec_and_handler_may_come_one_after_the_other() -> None:
    registry = Registry()
    registry.register(spec())
    missing = called(registry, "shop.get")
    assert (missing.error and missing.error.message) == "'shop.get' has no handler"
    registry.register_handler("shop.get", lambda _: 1)
    assert called(registry, "shop.get").data == 1


def test_a_duplicate_is_refused_unless_it_replaces() -> None:
    registry = Registry()
    registry.add([(spec(), lambda _: 1)])
    with pytest.raises(RegistrationError, match="is registered already"):
        registry.register(spec(), lambda _: 2)
    with pytest.raises(RegistrationError, match="has a handler already"):
        registry.register_handler("shop.get", lambda _: 2)
    registry.register(spec(), lambda _: 2, replace=True)
    assert called(registry, "shop.get").data == 2


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    registry = Registry()
    registry.register(spec(), lambda _: 1)
    error = called(registry, "shop.gte").error
    assert error is not None
    assert (error.code, error.similar, error.phase) == ("OPERATION_NOT_FOUND", ("shop.get",), "validation")


def test_an_operation_without_a_known_type_is_refused() -> None:
    with pytest.raises(ManifestError, match="declares no operation_type"):
        make_spec("get")
    with pytest.raises(ManifestError, match="it has no name"):
        make_spec("", operation_type="query")
    with pytest.raises(ManifestError, match="type is 'reading'"):
        make_spec("get", operation_type="query", type="reading")


def test_a_spec_with_an_unknown_code_is_refused() -> None:
    with pytest.raises(UnknownCodeError):
        spec(codes=["NOT_FUOND"])


def test_a_spec_describes_its_codes() -> None:
    assert registry.describe("Gets.", spec(codes=["NOT_FOUND"]).codes) == "Gets.\nErrors: NOT_FOUND"


def test_eval_operations_are_neither_listed_nor_callable_unless_allowed() -> None:
    script = spec("run", operation_type="eval", language="python")
    for allowed, names, code in [(False, [], "OPERATION_NOT_FOUND"), (True, ["shop.run"], "EVAL_BLOCKED_KEYWORD")]:
        registry = Registry(allow_eval=allowed)
        registry.register(script, lambda _: 1)
        error = called(registry, "shop.run", {"code": "import subprocess"}).error
        assert ([s.id for s in registry.list()], error and error.code) == (names, code)


@pytest.mark.parametrize(("said", "asked", "listed"), [(True, None, 1), (False, None, 0), (True, False, 0)])
def test_the_config_says_whether_eval_is_allowed_where_the_program_does_not(
    said: bool, asked: bool | None, listed: int
) -> None:
    registry = Registry(shaper=Shaper({"allow_eval": said}), allow_eval=asked)
    registry.register(spec("run", operation_type="eval", language="python"), lambda _: 1)
    assert len(registry.list()) == listed
    error = called(registry, "shop.run", {"code": "1"}).error
    assert (error is None) is bool(listed)


def test_a_registry_that_evaluates_nothing_reads_no_config() -> None:
    registry = Registry()
    registry.register(spec(), lambda _: 1)
    assert (registry.allow_eval, registry.get("shop.get") is not None) == (False, True)
    assert registry._shaper is None


class Order(BaseModel):
    number: int
    note: str = ""


def test_invalid_input_lists_every_issue_and_never_reaches_the_handler() -> None:
    registry = Registry()
    registry.register(spec(input=Order), lambda given: pytest.fail("called"))
    error = called(registry, "shop.get", {"number": "x", "note": 7}).error
    assert error is not None
    assert (error.code, error.phase) == ("BAD_ARGUMENT", "validation")
    assert [issue["path"] for issue in (error.details or {})["issues"]] == ["number", "note"]


def test_a_handler_gets_what_the_schema_read() -> None:
    registry = Registry()
    registry.register(spec(input=Order), lambda given: given.number + 1)
    assert called(registry, "shop.get", {"number": "41"}).data == 42
    assert called(registry, "shop.get", Order(number=41)).data == 42


@pytest.mark.parametrize(
    ("given", "paths"), [({"id": 1}, None), ({"id": "secret-7"}, ["id"]), ({}, [""]), (float("nan"), [""])]
)
def test_a_json_schema_checks_input_without_quoting_it(given: Any, paths: list[str] | None) -> None:
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    registry = Registry()
    registry.register(spec(input=schema), lambda given: given["id"])
    error = called(registry, "shop.get", given).error
    found = None if error is None else [issue["path"] for issue in (error.details or {})["issues"]]
    assert found == paths
    assert error is None or "secret-7" not in error.model_dump_json()


def test_an_envelope_passes_through_as_it_is() -> None:
    registry = Registry()
    registry.register(spec(), lambda _: http_envelope([1], status=200, headers={"a": "b"}))
    registry.register(spec("json"), lambda _: http_envelope([1], status=200, headers={"a": "b"}).render("sourced"))
    for name in ("shop.get", "shop.json"):
        envelope = called(registry, name)
        assert (envelope.data, envelope.meta.source) == ([1], "http")


def test_an_exception_is_the_answer_to_the_call() -> None:
    def missing(_: Any) -> Any:
        raise ToolError("NOT_FOUND", "no such order")

    registry = Registry()
    registry.register(spec(), missing)
    error = called(registry, "shop.get").error
    assert error is not None
    assert (error.code, error.message) == ("NOT_FOUND", "no such order")
    with pytest.raises(ToolError, match="no such order"):
        anyio.run(registry.execute_or_raise, "shop.get")


async def slow(_: Any) -> None:
    await anyio.sleep(600)


@pytest.mark.parametrize(("kind", "retryable"), [("query", True), ("mutation", False)])
def test_a_call_that_takes_too_long_is_stopped(kind: str, retryable: bool) -> None:
    registry = Registry()
    registry.register(spec(type=kind, operation_type="command", time_limit=0.01), slow)
    error = called(registry, "shop.get").error
    assert error is not None
    assert (error.code, error.retryable) == ("TIMEOUT", retryable)
    error = called(registry, "shop.get", time_limit=0.001).error
    assert error is not None
    assert error.code == "TIMEOUT"


def test_cancelling_the_caller_cancels_the_handler() -> None:
    ended: list[str] = []

    async def main() -> None:
        begun = anyio.Event()

        async def handler(_: Any) -> None:
            begun.set()
            try:
                await anyio.sleep(600)
            finally:
                ended.append("cancelled")

        registry = Registry()
        registry.register(spec(), handler)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: registry.execute("shop.get", shape=False))
            await begun.wait()
            tasks.cancel_scope.cancel()

    anyio.run(main)
    assert ended == ["cancelled"]


def test_answers_are_shaped_as_the_config_says_where_that_is_asked_for() -> None:
    from shaping.shaper import Shaper

    registry = Registry(shaper=Shaper(config={"tool_overrides": {"shop.*": {"include_only": ["id"]}}}))
    registry.register(spec(), lambda _: http_envelope({"id": 1, "note": "x"}, status=200))

    async def call() -> Envelope[Any]:
        return await registry.execute("shop.get", shape=True)

    envelope = anyio.run(call)
    assert (envelope.data, envelope.meta.source) == ({"id": 1}, "http")


def test_answers_are_whole_unless_shaping_is_asked_for() -> None:
    registry = Registry()
    whole: dict[str, Any] = {"id": 1, "note": None, "labels": [], "url": "https://api.example.com/things/1"}
    registry.register(spec(output={"type": "object", "required": ["note"]}), lambda _: http_envelope(whole, status=200))
    assert anyio.run(registry.execute, "shop.get").data == whole


def test_an_answer_keeps_what_it_says_about_itself_where_shaping_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAPING", "off")
    registry = Registry()
    registry.register(spec(), lambda _: http_envelope({"id": None}, status=200))

    async def call() -> Envelope[Any]:
        return await registry.execute("shop.get", request_id="r")

    envelope = anyio.run(call)
    assert (envelope.data, envelope.meta.source, envelope.meta.request_id) == ({"id": None}, "http", "r")


def test_without_a_shaper_the_config_that_is_found_decides() -> None:
    assert Registry().shaper is not None


# Output.


@pytest.mark.parametrize(
    ("value", "data", "warned"),
    [
        ({"number": "7", "extra": 1}, {"number": 7, "note": ""}, [None]),
        (Order(number=7, note="x"), {"number": 7, "note": "x"}, []),
        ({"note": "x"}, {"note": "x"}, ["number"]),
        ("odd", "odd", [None]),
    ],
)
def test_output_of_a_typed_operation_is_brought_into_form_or_reported(value: Any, data: Any, warned: list[Any]) -> None:
    registry = Registry()
    registry.register(spec(output=Order), lambda _: value)
    envelope = called(registry, "shop.get")
    assert (envelope.ok, envelope.data) == (True, data)
    assert [(w.code, w.path) for w in envelope.warnings] == [("OUTPUT_MISMATCH", path) for path in warned]


def test_a_failed_call_has_no_output_to_check() -> None:
    registry = Registry()
    registry.register(
        spec(output=Order), lambda _: http_envelope(None, status=404, error=ToolError("NOT_FOUND", "x").detail)
    )
    assert called(registry, "shop.get").warnings == ()


def test_a_fault_in_shaping_costs_an_answer_neither_its_meta_nor_its_secrecy(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "ghp_" + "a1B2" * 9
    operations = Registry(shaper=Shaper({}))
    headers = {"X-Request-ID": "r1", "Authorization": "Bearer abc", "X-Note": secret}
    answer = http_envelope({"token": secret}, status=200, headers=headers)
    operations.register(spec(), lambda _: answer)
    monkeypatch.setattr("shaping.shaper.clean", lambda *_, **__: 1 / 0)

    async def call() -> Envelope[Any]:
        return await operations.execute("shop.get", shape=True)

    shaped: Any = anyio.run(call)
    assert (shaped.ok, shaped.meta.source, shaped.meta.status) == (True, "http", 200)
    assert [warned.code for warned in shaped.warnings] == ["SHAPING_FAULT"]
    assert secret not in repr(shaped)
    assert "Bearer abc" not in repr(shaped)
