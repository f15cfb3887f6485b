from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from agno.agent import Agent
from agno.exceptions import RetryAgentRun
from agno.media import Image
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.tools.function import Function, FunctionCall, ToolResult

from shaping import Shaper, shape
from shaping.integrations.agno import AgnoShaping
from tests.integrations.answers import ask_in_every_way, issues


def list_issues(repo: str) -> list[dict[str, Any]]:
    """List the issues of a repository."""
    return issues()


async def list_later(repo: str) -> list[dict[str, Any]]:
    """List the issues of a repository."""
    return issues()


def called(shaper: Shaper, tool: Any, **arguments: Any) -> FunctionCall:
    function = Function.from_callable(tool)
    function.tool_hooks = [AgnoShaping(shaper=shaper).hook]
    function.process_entrypoint()
    return FunctionCall(function=function, arguments=arguments)


class ScriptedModel(Model):
    """Calls one tool, then ends; keeps what it was shown."""

    def __init__(self, name: str) -> None:
        super().__init__(id="scripted")
        self.call = {"id": "1", "type": "function", "function": {"name": name, "arguments": '{"repo": "a"}'}}
        self.shown: list[tuple[Any, Any]] = []

    def invoke(self, messages: Any, *_: Any, **__: Any) -> ModelResponse:
        self.shown = [(one.content, one.tool_call_error) for one in messages if one.role == "tool"]
        if self.shown:
            return ModelResponse(role="assistant", content="done")
        return ModelResponse(role="assistant", tool_calls=[self.call])

    async def ainvoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        return self.invoke(*args, **kwargs)

    def invoke_stream(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    ainvoke_stream = _parse_provider_response = _parse_provider_response_delta = invoke_stream


def shown(tool: Any, shaper: Shaper | None = None) -> tuple[Any, Any]:
    """Return what an agent's model reads of a tool's result, and whether the framework takes it for a failure."""
    model = ScriptedModel(tool.__name__)
    hooks = [] if shaper is None else [AgnoShaping(shaper=shaper).hook]
    agent = Agent(model=model, tools=[tool], tool_hooks=hooks, telemetry=False)
    agent.run("go")
    (synchronous,) = model.shown
    asyncio.run(agent.arun("go"))
    assert model.shown == [synchronous]
    return synchronous


def test_an_agents_model_reads_the_same(shaper: Shaper, read_over_mcp: str) -> None:
    assert shown(list_issues, shaper) == (read_over_mcp, False)


def test_the_model_reads_what_it_would_read_over_mcp(shaper: Shaper, read_over_mcp: str) -> None:
    done = called(shaper, list_issues, repo="a").execute()
    assert (done.status, done.result) == ("success", read_over_mcp)


def test_an_asynchronous_call_reads_the_same(shaper: Shaper, read_over_mcp: str) -> None:
    later = asyncio.run(called(shaper, list_later, repo="a").aexecute())
    assert len(later.result) == len(read_over_mcp)


def test_what_was_left_out_can_be_asked_for(shaper: Shaper, read_over_mcp: str) -> None:
    function = AgnoShaping(shaper=shaper).expand_tool()
    function.process_entrypoint()
    ask_in_every_way(lambda **asked: FunctionCall(function=function, arguments=asked).execute().result, read_over_mcp)


def test_control_flow_and_result_objects_pass(shaper: Shaper) -> None:
    def retries() -> str:
        """Ask the agent to try again."""
        raise RetryAgentRun("again")

    with pytest.raises(RetryAgentRun):
        called(shaper, retries).execute()


def test_pictures_stay_pictures(shaper: Shaper) -> None:
    def draws() -> ToolResult:
        """Draw."""
        return ToolResult(content="a picture", images=[Image(content=b"png")])

    assert isinstance(called(shaper, draws).execute().result, ToolResult)


def test_a_failure_under_the_decorator_is_told_in_the_frameworks_way(shaper: Shaper) -> None:
    @shape(shaper=shaper)
    def fails(repo: str = "") -> list[dict[str, Any]]:
        """Fail."""
        raise ValueError("no repository")

    @shape(shaper=shaper)
    async def fails_later() -> list[dict[str, Any]]:
        """Fail."""
        raise ValueError("no repository")

    for tool in (fails, fails_later):
        bare = FunctionCall(function=Function.from_callable(tool), arguments={})
        for one in (bare, called(shaper, tool)):
            done = asyncio.run(one.aexecute())
            assert (done.status, done.error) == ("failure", "BAD_ARGUMENT: no repository")
    assert shown(fails) == ("BAD_ARGUMENT: no repository", True)
    assert fails()["error"]["error_code"] == "invalid_argument"  # type: ignore[call-overload]  # called by hand


def test_a_failure_has_the_frameworks_own_status(shaper: Shaper) -> None:
    def fails() -> str:
        """Fail."""
        raise ValueError("no repository")

    done = called(shaper, fails).execute()
    assert (done.status, "no repository" in str(done.error)) == ("failure", True)


def test_a_tools_parameters_are_unchanged(shaper: Shaper) -> None:
    plain = Function.from_callable(list_issues)
    plain.process_entrypoint()
    assert called(shaper, list_issues).function.parameters == plain.parameters


def test_a_call_is_entered_in_the_ledger(shaper: Shaper, entered: Callable[[], Any]) -> None:
    called(shaper, list_issues, repo="a").execute()
    assert entered().client == "agno"
