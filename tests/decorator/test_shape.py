from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import json
import pickle
import re
import sys
from collections import UserDict
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_origin

import pytest
from pydantic import BaseModel, TypeAdapter

import shaping
from shaping import Shaper, ToolError, response, shape
from shaping.tokens import exact


class Owner(BaseModel):
    login: str
    node_id: str


class Issue(BaseModel):
    number: int
    title: str
    owner: Owner


ISSUE = Issue(number=1, title="Broken", owner=Owner(login="ada", node_id="MDQ6"))
ONLY_TITLES = {"tool_overrides": {"search": {"include_only": ["number", "title"]}}}


def test_a_sync_function_stays_sync() -> None:
    @shape(shaper=Shaper(ONLY_TITLES))
    def search(q: str) -> list[Issue]:
        """Find issues."""
        return [ISSUE]

    assert search("x") == {"data": [{"number": 1, "title": "Broken"}]}
    assert search.__name__ == "search"
    assert search.__doc__ == "Find issues."


def test_an_async_function_stays_async() -> None:
    @shape(tool="search", shaper=Shaper(ONLY_TITLES))
    async def find(q: str) -> Issue:
        await asyncio.sleep(0)
        return ISSUE

    assert inspect.iscoroutinefunction(find)
    assert asyncio.run(find("x")) == {"data": {"number": 1, "title": "Broken"}}


def test_a_generator_yields_shaped_items() -> None:
    closed = []

    @shape(tool="search", shaper=Shaper(ONLY_TITLES))
    def stream() -> Iterator[Issue]:
        try:
            yield ISSUE
            yield ISSUE
        finally:
            closed.append(True)

    items = stream()
    assert next(items) == {"data": {"number": 1, "title": "Broken"}}
    items.close()
    assert closed == [True]
    assert list(stream()) == [{"data": {"number": 1, "title": "Broken"}}] * 2


def test_an_async_generator_yields_shaped_items_and_an_error_as_the_last() -> None:
    @shape(tool="search", shaper=Shaper(ONLY_TITLES))
    async def stream() -> AsyncIterator[Issue]:
        yield ISSUE
        raise ToolError("NOT_FOUND", "no more")

    async def collect() -> list[Any]:
        return [item async for item in stream()]

    first, last = asyncio.run(collect())
    assert first == {"data": {"number": 1, "title": "Broken"}}
    assert last["error"]["error_code"] == "not_found"


def test_a_sync_function_that_returns_an_awaitable_is_awaited() -> None:
    async def later() -> dict[str, Any]:
        return {"a": 1}

    @shape(shaper=Shaper({}))
    def start() -> Any:
        return later()

    assert asyncio.run(start()) == {"data": {"a": 1}}


class Service:
    shaper = Shaper({})

    @shape(shaper=shaper)
    def method(self, x: int) -> dict[str, int]:
        return {"x": x, "y": None}  # type: ignore[dict-item]

    @shape(shaper=shaper)
    @classmethod
    def of_class(cls) -> dict[str, str]:
        return {"name": cls.__name__}

    @classmethod
    @shape(shaper=shaper)
    def under_classmethod(cls) -> dict[str, str]:
        return {"name": cls.__name__}

    @shape(shaper=shaper)
    @staticmethod
    def static() -> dict[str, int]:
        return {"z": 3}


def test_methods_class_methods_and_static_methods_are_shaped() -> None:
    assert Service().method(1) == {"data": {"x": 1}}
    assert Service.of_class() == {"data": {"name": "Service"}}
    assert Service.under_classmethod() == {"data": {"name": "Service"}}
    assert Service.static() == {"data": {"z": 3}}
    assert Service().static() == {"data": {"z": 3}}


def test_decorating_twice_is_decorating_once() -> None:
    @shape
    @shape(shaper=Shaper({}))
    def tool() -> dict[str, int]:
        return {"a": 1}

    assert tool() == {"data": {"a": 1}}


def test_what_a_decorated_function_returned_is_not_shaped_again() -> None:
    shaper = Shaper({})

    @shape(shaper=shaper)
    def inner() -> dict[str, int]:
        return {"a": 1}

    @shape(shaper=shaper)
    def outer() -> Any:
        return inner()

    assert outer() == {"data": {"a": 1}}
    assert shaper.shape(inner()).value == {"data": {"a": 1}}


def _renamed(answer: Any) -> None:
    answer["note"] = "edited"


def _nested(answer: Any) -> None:
    answer["data"].append({"a": "edited", "key": "AKIA" + "QYLPMN5HHHFPZAM2"})


@pytest.mark.parametrize("edit", [_renamed, _nested])
@pytest.mark.parametrize("form", ["envelope", "text"])
def test_what_a_function_changes_in_the_answer_of_another_is_shaped_with_its_changes(edit: Any, form: Any) -> None:
    @shape(config={})
    def inner() -> list[dict[str, Any]]:
        return [{"a": 1}]

    @shape(config={}, form=form)
    def outer() -> Any:
        answer = inner()
        edit(answer)
        return answer

    assert "edited" in str(outer())
    assert "AKIA" not in str(outer())


def test_parameters_and_defaults_stay_and_the_return_annotation_tells_the_shaped_schema() -> None:
    @shape(shaper=Shaper(ONLY_TITLES))
    def search(q: str, limit: int = 10) -> list[Issue]:
        return [ISSUE]

    signature = inspect.signature(search)
    assert list(signature.parameters) == ["q", "limit"]
    assert signature.parameters["q"].annotation is str
    assert signature.parameters["limit"].default == 10
    schema = TypeAdapter(signature.return_annotation).json_schema()
    assert schema["type"] == "object"
    assert schema["properties"]["data"]["type"] == "array"
    assert "owner" not in str(schema)
    assert "additionalProperties" not in schema or schema["additionalProperties"] is True


def test_a_function_without_return_annotation_gets_none() -> None:
    @shape(shaper=Shaper({}))
    def tool(x: int):  # type: ignore[no-untyped-def]  # noqa: ANN202 (what is tested)
        return x

    assert inspect.signature(tool).return_annotation is inspect.Signature.empty
    assert tool(3) == {"data": 3}


def test_a_raised_tool_error_becomes_an_error_envelope() -> None:
    @shape(shaper=Shaper({}))
    def tool() -> Any:
        raise ToolError("NOT_FOUND", "no such file: /missing.py")

    assert tool() == {"error": {"error": "no such file: /missing.py", "error_code": "not_found"}}


def test_any_exception_becomes_a_coded_error_without_a_traceback() -> None:
    @shape(shaper=Shaper({}))
    def tool() -> Any:
        raise TimeoutError("took too long")

    assert tool()["error"]["error_code"] == "timeout"
    assert "Traceback" not in str(tool())


@pytest.mark.parametrize("passing", [KeyboardInterrupt, SystemExit, asyncio.CancelledError, GeneratorExit])
def test_what_ends_a_program_or_a_task_always_passes(passing: type[BaseException]) -> None:
    @shape(shaper=Shaper({}))
    def tool() -> Any:
        raise passing

    with pytest.raises(passing):
        tool()


def test_notes_of_the_tool_reach_the_envelope() -> None:
    @shape(shaper=Shaper({}, tier="community", tool_version="1.2", capabilities=["envelope-v1"]), profile="debug")
    def tool() -> dict[str, int]:
        shaping.note(warning="half of it", request_id="abc")
        shaping.note(upgrade_hint={"feature": "taint", "tier": "pro", "reason": "needs the graph"})
        return {"a": 1}

    answer = tool()
    assert answer["data"] == {"a": 1}
    assert answer["request_id"] == "abc"
    assert answer["upgrade_hints"] == [{"feature": "taint", "tier": "pro", "reason": "needs the graph"}]
    assert answer["tier"] == "community"
    assert answer["tool_id"] == "tool"
    assert answer["duration_ms"] >= 0
    assert "half of it" in str(answer["warnings"])


def test_a_note_outside_a_tool_is_nobodys() -> None:
    shaping.note(warning="nobody hears this")


def test_an_upgrade_hint_must_be_whole() -> None:
    @shape(shaper=Shaper({}))
    def tool() -> Any:
        shaping.note(upgrade_hint={"feature": "x"})

    assert "needs feature, tier and reason" in str(tool())


def test_a_tag_that_still_fits_gives_not_modified() -> None:
    @shape(shaper=Shaper({}), if_none_match="etag")
    def tool(etag: str | None = None) -> dict[str, int]:
        return {"a": 1}

    tag = Shaper({}).shape({"a": 1}, profile="debug").etag
    assert tag is not None
    assert tool(etag=tag)["not_modified"] is True
    assert "data" not in tool(etag=tag) or tool(etag=tag)["data"] is None
    assert tool(etag="other")["data"] == {"a": 1}


def test_switched_off_the_function_is_as_if_undecorated(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = {"a": None}

    @shape(shaper=Shaper({}))
    def tool(fail: bool = False) -> dict[str, None]:
        if fail:
            raise LookupError("x")
        return raw

    for word in ("off", "observe"):
        monkeypatch.setenv("SHAPING", word)
        assert tool() is raw
        with pytest.raises(LookupError):
            tool(fail=True)


def test_editing_the_config_beside_the_tool_changes_the_next_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "response_config.json"
    config.write_text('{"tool_overrides": {"tool": {"include_only": ["a"]}}}')

    @shape
    def tool() -> dict[str, int]:
        return {"a": 1, "b": 2}

    assert tool() == {"data": {"a": 1}}
    config.write_text('{"tool_overrides": {"tool": {"include_only": ["b"]}}}')
    assert eventually(tool, {"data": {"b": 2}})


def eventually(call: Any, expected: Any, seconds: float = 60) -> bool:
    import time

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if call() == expected:
            return True
        time.sleep(0.02)
    return bool(call() == expected)


def test_a_failure_under_the_bare_dialect_is_raised_with_its_code() -> None:
    @shape(config={"global": {"dialect": "none"}})
    def fail() -> None:
        raise TimeoutError("too slow")

    with pytest.raises(ToolError, match="TIMEOUT: too slow") as raised:
        fail()
    assert isinstance(raised.value.__cause__, TimeoutError)


def test_a_tools_own_coded_error_is_raised_as_it_is_under_the_bare_dialect() -> None:
    error = ToolError("NOT_FOUND", "gone")

    @shape(config={"global": {"dialect": "none"}})
    def fail() -> None:
        raise error

    with pytest.raises(ToolError) as raised:
        fail()
    assert raised.value is error


@pytest.mark.parametrize("kind", [ValueError, lambda said: ToolError("NOT_FOUND", said)])
def test_a_secret_does_not_leave_in_an_error_that_is_raised(kind: Any) -> None:
    def fail() -> None:
        raise kind("no user for ghp_" + "a1B2" * 9)

    for decorated in (shape(config={}, form="text"), shape(config={"global": {"dialect": "none"}})):
        with pytest.raises(ToolError, match=r"no user for \[redacted:github-token\]"):
            decorated(fail)()


@pytest.mark.parametrize(("state_changing", "retryable"), [(False, True), (True, False)])
def test_a_timeout_of_a_state_changing_tool_is_not_retryable(state_changing: bool, retryable: bool) -> None:
    @shape(config={}, profile="standard", state_changing=state_changing)
    def pay() -> None:
        raise TimeoutError

    assert pay()["error"]["retryable"] is retryable


def test_the_environment_and_a_block_outrank_the_decorators_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    @shape(config={}, profile="standard")
    def tool() -> dict[str, int]:
        return {"a": 1}

    assert tool().shaped.plan.profile == "standard"
    with shaping.using(profile="minimal"):
        assert tool().shaped.plan.profile == "minimal"
    monkeypatch.setenv("SHAPING_DEBUG", "1")
    assert tool().shaped.plan.profile == "debug"


def test_a_tools_override_outranks_the_decorators_profile_and_that_of_global() -> None:
    def plan(config: Any) -> Any:
        return shape(tool="t", config=config, profile="standard")(lambda: [1])().shaped.plan

    assert plan({"global": {"profile": "debug"}}).profile == "standard"
    assert plan({"tool_overrides": {"t": {"profile": "debug"}}}).profile == "debug"
    assert plan({"tool_overrides": {"t": {"max_tokens": 50}}}).max_tokens == 50
    assert plan({"global": {"max_tokens": 60}}).max_tokens == 60


def test_a_decorators_profile_that_there_is_not_is_told_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    assert shape(config={}, profile="minimla")(lambda: {"a": 1})() == {"data": {"a": 1}}
    assert "Did you mean 'minimal'" in caplog.text


def test_what_a_returned_generator_raises_is_the_tools_error() -> None:
    def stream() -> Iterator[int]:
        yield 1
        raise ToolError("NOT_FOUND", "no more")

    @shape(config={})
    def tool() -> Any:
        return stream()

    assert tool() == {"error": {"error": "no more", "error_code": "not_found"}}


@pytest.mark.parametrize("thing", [property(lambda self: 1), "search", 5])
def test_what_is_not_a_function_is_refused_when_it_is_decorated(thing: Any) -> None:
    with pytest.raises(TypeError, match="stands above a function"):
        shape(thing)


def test_a_partial_function_has_the_name_of_its_function() -> None:
    def search(q: str) -> dict[str, str]:
        return {"q": q}

    tool = shape(functools.partial(functools.partial(search), "x"))
    assert tool.__shaping__.name == "search"  # type: ignore[attr-defined]
    assert tool() == {"data": {"q": "x"}}


def test_what_is_sent_into_a_generator_arrives_and_what_it_returns_comes_out() -> None:
    @shape(config={})
    def talk() -> Generator[Any, Any, str]:
        got = yield 1
        yield got
        return "end"

    items = talk()
    assert next(items) == {"data": 1}
    assert items.send("hello") == {"data": "hello"}
    with pytest.raises(StopIteration) as end:
        next(items)
    assert end.value.value == "end"


def test_what_is_sent_into_an_async_generator_arrives() -> None:
    @shape(config={})
    async def talk() -> AsyncGenerator[Any, Any]:
        got = yield 1
        yield got

    async def run() -> Any:
        items: Any = talk()
        return await anext(items), await items.asend("hello")

    assert asyncio.run(run()) == ({"data": 1}, {"data": "hello"})


def test_what_is_thrown_into_a_generator_comes_out_and_ends_it() -> None:
    closed: list[bool] = []

    @shape(config={})
    def talk() -> Generator[Any, Any, None]:
        try:
            yield 1
        finally:
            closed.append(True)

    items = talk()
    next(items)
    with pytest.raises(ValueError, match="mine"):
        items.throw(ValueError("mine"))
    assert closed == [True]


def test_what_is_thrown_into_an_async_generator_comes_out_and_ends_it() -> None:
    closed: list[bool] = []

    @shape(config={})
    async def talk() -> AsyncGenerator[Any, Any]:
        try:
            yield 1
        finally:
            closed.append(True)

    async def run() -> None:
        items: Any = talk()
        await anext(items)
        with pytest.raises(ValueError, match="mine"):
            await items.athrow(ValueError("mine"))

    asyncio.run(run())
    assert closed == [True]


def test_an_answer_can_be_copied_and_pickled_as_plain_data() -> None:
    @shape(config={"tool_overrides": {"rows": {"dialect": "none"}}}, tool="rows")
    def rows() -> list[Any]:
        return [{"a": None, "b": 1}]

    @shape(config={})
    def tool() -> dict[str, int]:
        return {"a": 1}

    for answer in (tool(), rows()):
        assert copy.deepcopy(answer) == answer
        assert type(pickle.loads(pickle.dumps(answer))) in {dict, list}  # noqa: S301 (our own bytes)


def test_notes_of_a_cancelled_tool_do_not_swallow_those_of_its_caller() -> None:
    @shape(config={})
    async def slow() -> None:
        await asyncio.sleep(10)

    @shape(config={}, profile="standard")
    async def outer() -> dict[str, int]:
        try:
            async with asyncio.timeout(0.001):
                await slow()
        except TimeoutError:
            shaping.note(warning="slow was too slow")
        return {"a": 1}

    assert asyncio.run(outer())["warnings"] == [{"code": "TOOL", "message": "slow was too slow"}]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, asyncio.CancelledError, GeneratorExit])
def test_what_stops_a_program_passes_every_kind_of_tool_and_leaves_no_notes_behind(stop: type[BaseException]) -> None:
    @shape(config={})
    def plain() -> None:
        raise stop

    @shape(config={})
    def items() -> Iterator[int]:
        yield 1
        raise stop

    async def later() -> None:
        raise stop

    @shape(config={})
    def awaited() -> Any:
        return later()

    @shape(config={})
    async def stream() -> AsyncIterator[int]:
        yield 1
        raise stop

    def by_hand(awaitable: Any) -> None:
        with pytest.raises(stop):
            awaitable.send(None)

    with pytest.raises(stop):
        plain()
    with pytest.raises(stop):
        list(items())
    by_hand(awaited())
    by_hand(shape(config={})(later)())
    several: Any = stream()
    with pytest.raises(StopIteration):
        anext(several).send(None)
    by_hand(anext(several))
    assert response._notes.get() is None


def test_notes_of_a_tool_that_is_awaited_elsewhere_are_its_own() -> None:
    async def later() -> dict[str, int]:
        shaping.note(warning="mind")
        return {"a": 1}

    @shape(config={}, profile="standard")
    def start() -> Any:
        return later()

    async def run() -> Any:
        answer = await asyncio.create_task(start())
        return answer["warnings"], response._notes.get()

    assert asyncio.run(run()) == ([{"code": "TOOL", "message": "mind"}], None)


def test_a_wrong_call_of_a_tagged_tool_is_told_like_any_other() -> None:
    @shape(config={}, if_none_match="tag")
    def tool(tag: str = "") -> str:
        return tag

    assert tool("1", 2, 3)["error"]["error_code"] == "internal_error"  # type: ignore[call-arg]


def test_the_shapers_own_environment_switches_a_failing_tool_off_too() -> None:
    @shape(shaper=Shaper({}, environ={"SHAPING": "off"}))
    def fail() -> None:
        raise ValueError("as it is")

    with pytest.raises(ValueError, match="as it is"):
        fail()


def test_a_tag_is_looked_for_only_in_an_argument_that_is_there() -> None:
    with pytest.raises(TypeError, match="if_none_match names an argument; search has no 'etag'"):

        @shape(if_none_match="etag")
        def search(q: str) -> dict[str, Any]:
            return {"q": q}


def test_a_fault_of_a_tool_is_logged_with_its_place_and_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    @shape
    def look_up(name: str) -> str:
        return {"token=ghp_0123456789abcdefghijklmnopqrstuvwxyz": "x"}[name]

    assert look_up("customer 4711")["error"]["error_code"] == "internal_error"
    (said,) = caplog.messages
    assert said.startswith("'look_up' failed with KeyError\n")
    assert "in look_up" in said
    assert "customer 4711" not in said
    assert "ghp_0123456789" not in said


def test_a_text_form_returns_what_a_model_reads_and_raises_what_fails() -> None:
    rows = [{"number": number, "state": "open", "none": None} for number in range(20)]

    @shape(form="text", shaper=Shaper({}))
    def listed(fail: bool = False) -> list[dict[str, Any]]:
        if fail:
            raise FileNotFoundError(2, "no such file", "a.txt")
        return rows

    assert listed() == Shaper({}).shape(rows, tool="listed").text
    assert inspect.signature(listed).return_annotation is str
    with pytest.raises(ToolError) as raised:
        listed(fail=True)
    assert raised.value.code == "FILE_NOT_FOUND"


def test_a_pair_of_content_and_artifact_keeps_its_artifact() -> None:
    rows, artifact = [{"number": number, "none": None} for number in range(20)], object()

    @shape(form="content_and_artifact", shaper=Shaper({}))
    def listed() -> tuple[list[dict[str, Any]], object]:
        return rows, artifact

    assert listed() == (Shaper({}).shape(rows, tool="listed").text, artifact)
    assert get_origin(inspect.signature(listed).return_annotation) is tuple


def test_the_result_dict_of_strands_passes_where_strands_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    result = {"status": "error", "content": [{"text": "no repository"}]}

    @shape(shaper=Shaper({}))
    def reports() -> dict[str, Any]:
        return result

    assert reports() != result
    monkeypatch.setitem(sys.modules, "strands", sys)
    assert reports() is result


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(TypeError, match="form is 'markdown'"):
        shape(form="markdown")(len)  # type: ignore[call-overload]  # what a checker would refuse too


def _foreign(name: str, base: type, package: str) -> Any:
    return type(name, (base,), {"__module__": f"{package}.exceptions"})


@pytest.mark.parametrize("package", ["pydantic_ai", "langgraph", "google.adk"])
def test_a_frameworks_own_exceptions_and_results_pass_as_they_are(package: str) -> None:
    interrupt = _foreign("Interrupt", Exception, package)("ask the user")
    answer = _foreign("Command", object, package)()

    @shape(shaper=Shaper({}))
    def steer(fail: bool) -> Any:
        if fail:
            raise interrupt
        return answer

    assert steer(False) is answer
    with pytest.raises(type(interrupt)) as raised:
        steer(True)
    assert raised.value is interrupt


class _Handle:
    """A result that is no data: only whoever called the tool knows what to do with it."""

    def __init__(self) -> None:
        self.token = "t"


class _Telling(_Handle):
    def __str__(self) -> str:
        return "handle t"


class _Raising(_Handle):
    def __getattr__(self, name: str) -> Any:
        raise (RuntimeError if name == "columns" else AttributeError)(name)


@pytest.mark.parametrize("given", [_Handle(), _Telling(), _Raising(), object(), len, asyncio, _Handle])
def test_an_object_that_is_no_data_passes_with_a_debug_note(given: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG", logger="shaping"):
        assert shape(config={})(lambda: given)() is given
    assert "passes unshaped" in caplog.text


@dataclass
class _Record:
    a: int = 1


@pytest.mark.parametrize(
    ("given", "data"),
    [
        (ISSUE.owner, {"login": "ada", "node_id": "MDQ6"}),
        (_Record(), {"a": 1}),
        (SimpleNamespace(a=1), {"a": 1}),
        (Path("a"), "a"),
        (range(2), [0, 1]),
        (UserDict(a=1), {"a": 1}),
        (Shaper({}).shape({"a": 1}), {"a": 1}),
    ],
)
def test_what_declares_its_fields_or_is_a_collection_is_data(given: Any, data: Any) -> None:
    assert shape(config={})(lambda: given)() == {"data": data}


def test_an_object_that_is_no_data_is_opened_where_fields_are_private_or_only_text_is_wanted() -> None:
    private = {"tool_overrides": {"tool": {"private": ["token"]}}}
    assert shape(tool="tool", config=private)(_Handle)() == {"data": {}}
    assert shape(tool="tool", config=private)(_Telling)() == {"data": "<_Telling>"}
    assert shape(form="text", config={})(_Telling)() == "handle t"


def test_the_annotation_that_a_framework_prints_is_readable() -> None:
    @shape(shaper=Shaper({}))
    def find() -> dict[str, Any]:
        return {}

    assert repr(inspect.signature(find).return_annotation) == "<class 'shaping.ShapedAnswer'>"


def test_an_option_that_there_is_not_is_named_with_those_there_are() -> None:
    with pytest.raises(TypeError, match=r"shape\(\) knows codes, config, form, .* tool; not max_tokens\. Budgets"):
        shape(max_tokens=50)  # type: ignore[call-overload]  # what is refused


def test_options_over_a_shaped_function_are_refused_and_none_change_nothing() -> None:
    @shape
    def rows() -> list[int]:
        return [1]

    assert shape(rows) is rows
    with pytest.raises(TypeError, match="rows is under @shape already; give profile, tool there"):
        shape(tool="other", profile="debug")(rows)


def test_the_docstring_that_frameworks_show_lists_the_codes_a_tool_may_fail_with() -> None:
    @shape(codes=["NOT_FOUND", "TIMEOUT"])
    def find() -> dict[str, int]:
        """Find a thing."""
        return {"n": 1}

    assert (find.__doc__, find()) == ("Find a thing.\nErrors: NOT_FOUND, TIMEOUT", {"data": {"n": 1}})
    with pytest.raises(shaping.errors.UnknownCodeError, match="Did you mean 'NOT_FOUND'"):
        shape(codes=["NOT_FUOND"])(lambda: 1)


def test_the_words_of_an_exception_have_the_budget_of_an_answer_and_can_be_asked_back() -> None:
    trace = (
        'Traceback (most recent call last):\n  File "user.py", line 3, in run\nZeroDivisionError: division by zero\n'
    )
    log = "".join(f"step {n * 7919 % 1000} of part {n} was done\n" for n in range(3000))
    shaper = Shaper({"global": {"max_tokens": 2000}}, expandable=True)

    @shape(shaper=shaper)
    def run(words: str) -> None:
        raise RuntimeError(words)

    assert run(f"the job failed:\n{trace}see its log")["error"]["error"] == f"the job failed:\n{trace}see its log"
    cut = run(f"the job failed:\n{trace}{log}")
    said = cut["error"]["error"]
    assert 500 < exact(json.dumps(cut)) <= 2000
    assert trace in said
    ref = re.search(r"r_[a-z2-7]{26}", said)
    assert ref is not None
    assert "part 1777 was done" in shaper.expand(ref[0], search="part 1777 was").text


def test_shaping_what_was_shaped_changes_nothing_where_integers_are_beyond_64_bits() -> None:
    shaper = Shaper({})

    @shape(shaper=shaper)
    def found() -> dict[str, Any]:
        return {"id": 2**70, "rows": [{"id": 2**70 + 1}]}

    answer = found()
    assert shaper.shape(answer) is answer.shaped
    answer["data"]["rows"][0]["id"] = object()
    assert shaper.shape(answer) is not answer.shaped
