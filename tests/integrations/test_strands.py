from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import get_tracer
from strands import Agent, tool
from strands.models import Model

from shaping import Shaper, shape
from shaping.integrations.strands import StrandsShaping
from tests.integrations.answers import ask_in_every_way, issues


@tool
def list_issues(repo: str) -> dict[str, Any]:
    """List the issues of a repository."""
    return {"status": "success", "content": [{"json": issues()}]}


@tool
async def list_later(repo: str) -> dict[str, Any]:
    """List the issues of a repository."""
    return {"status": "success", "content": [{"json": issues()}]}


@tool
@shape
def reports(repo: str) -> dict[str, Any]:
    """Report in the framework's own result dict, under our decorator."""
    return {"status": "error", "content": [{"text": "no repository"}]}


@tool
def draws() -> dict[str, Any]:
    """Draw."""
    return {"status": "success", "content": [{"image": {"format": "png", "source": {"bytes": b"png"}}}]}


@tool
def fails() -> str:
    """Fail."""
    raise ValueError("no repository")


@tool
@shape(shaper=Shaper({}))
def raises() -> list[dict[str, Any]]:
    """Fail, under our decorator."""
    raise ValueError("no repository")


@tool
@shape(shaper=Shaper({}))
async def raises_later():  # type: ignore[no-untyped-def]  # noqa: ANN201 (as people write it)
    """Fail, under our decorator."""
    raise ValueError("no repository")


class ScriptedModel(Model):
    """Calls one tool, then ends; keeps what it was shown."""

    def __init__(self, name: str, arguments: str) -> None:
        self.name, self.arguments = name, arguments
        self.tools: list[str] = []
        self.results: list[Any] = []

    def update_config(self, **_: Any) -> None:
        pass

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, tool_specs: Any = None, *_: Any, **__: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        self.tools = [spec["name"] for spec in tool_specs]
        results = [part["toolResult"] for part in messages[-1]["content"] if "toolResult" in part]
        self.results += results
        yield {"messageStart": {"role": "assistant"}}
        if results:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
        else:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": self.name, "toolUseId": "1"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": self.arguments}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if results else "tool_use"}}


def run(shaper: Shaper, name: str, arguments: str = "{}") -> Any:
    model = ScriptedModel(name, arguments)
    shaping = StrandsShaping(shaper=shaper)
    agent = Agent(
        model,
        tools=[list_issues, list_later, reports, draws, fails, raises, raises_later, shaping.expand_tool()],
        hooks=[shaping],
        callback_handler=None,
    )
    asyncio.run(agent.invoke_async("go"))
    return model.results[0]


def test_the_model_reads_what_it_would_read_over_mcp(shaper: Shaper, read_over_mcp: str) -> None:
    result = run(shaper, "list_issues", '{"repo": "a"}')
    assert (result["content"], result["status"]) == ([{"text": read_over_mcp}], "success")


def test_what_was_left_out_can_be_asked_for(shaper: Shaper, read_over_mcp: str) -> None:
    ask_in_every_way(lambda **asked: run(shaper, "shaping_expand", json.dumps(asked)), read_over_mcp)


def test_pictures_stay_pictures(shaper: Shaper) -> None:
    assert "image" in run(shaper, "draws")["content"][0]


def test_a_failure_has_the_frameworks_own_status(shaper: Shaper) -> None:
    result = run(shaper, "fails")
    assert result["status"] == "error"
    assert "no repository" in result["content"][0]["text"]


@pytest.mark.parametrize("recorded", [False, True])
def test_a_failure_under_the_decorator_is_told_in_the_frameworks_way(
    shaper: Shaper, recorded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "false")
    monkeypatch.setattr("strands.telemetry.tracer._tracer_instance", None)
    if recorded:
        monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", TracerProvider())
    for name in ("raises", "raises_later"):
        result = run(shaper, name)
        assert (result["status"], "BAD_ARGUMENT: no repository" in str(result["content"])) == ("error", True)
    if recorded:  # else nobody can tell whose span it is
        with get_tracer("of somebody else").start_as_current_span("request"):
            assert raises._tool_func()["error"]["error_code"] == "invalid_argument"


def test_an_asynchronous_call_reads_the_same(shaper: Shaper, read_over_mcp: str) -> None:
    assert len(run(shaper, "list_later", '{"repo": "a"}')["content"][0]["text"]) == len(read_over_mcp)


def test_control_flow_and_result_objects_pass(shaper: Shaper) -> None:
    assert run(shaper, "reports", '{"repo": "a"}')["status"] == "error"


def test_a_tools_parameters_are_unchanged(shaper: Shaper) -> None:
    before = json.dumps(list_issues.tool_spec)
    run(shaper, "list_issues", '{"repo": "a"}')
    assert json.dumps(list_issues.tool_spec) == before


def test_a_call_is_entered_in_the_ledger(shaper: Shaper, entered: Callable[[], Any]) -> None:
    run(shaper, "list_issues", '{"repo": "a"}')
    assert entered().client == "strands"
