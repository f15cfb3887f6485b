from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

import shaping
from shaping import Shaper, ToolError, shape


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
    @shape(shaper=Shaper({}))
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


def eventually(call: Any, expected: Any, seconds: float = 10) -> bool:
    import time

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if call() == expected:
            return True
        time.sleep(0.02)
    return bool(call() == expected)
