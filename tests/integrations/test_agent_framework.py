from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionInvocationContext,
    FunctionInvocationLayer,
    FunctionTool,
    Message,
    MiddlewareTermination,
)

from shaping import Shaper, shape
from shaping.integrations.agent_framework import AgentFrameworkShaping
from tests.integrations.answers import ask_in_every_way, issues


def list_issues(repo: str) -> list[dict[str, Any]]:
    """List the issues of a repository."""
    return issues()


def invoke(shaper: Shaper, tool: FunctionTool, **arguments: Any) -> Any:
    """Run a tool under the middleware as the framework's pipeline does."""
    context = FunctionInvocationContext(function=tool, arguments=arguments)

    async def call_next() -> None:
        context.result = await tool.invoke(arguments=arguments)

    asyncio.run(AgentFrameworkShaping(shaper=shaper).process(context, call_next))
    return context.result


class ScriptedModel(FunctionInvocationLayer[Any], BaseChatClient[Any]):
    """Calls one tool, then ends; keeps the result that it was shown."""

    def __init__(self, name: str, arguments: dict[str, Any]) -> None:
        super().__init__()
        self.call = Content.from_function_call(call_id="1", name=name, arguments=arguments)
        self.shown: list[Any] = []

    async def _inner_get_response(self, *, messages: Any, **_: Any) -> ChatResponse[Any]:  # type: ignore[override]
        self.shown = [part for one in messages for part in one.contents if part.type == "function_result"]
        return ChatResponse(messages=[Message(role="assistant", contents=["done" if self.shown else self.call])])


def shown(shaper: Shaper, tool: Any, **arguments: Any) -> Any:
    """Return the result that an agent's model is shown of a tool."""
    model, shaping = ScriptedModel(tool.__name__, arguments), AgentFrameworkShaping(shaper=shaper)
    asyncio.run(Agent(model, tools=[tool, shaping.expand_tool()], middleware=[shaping]).run("go"))
    return model.shown[0]


def test_an_agents_model_reads_the_same(shaper: Shaper, read_over_mcp: str) -> None:
    assert shown(shaper, list_issues, repo="a").result == read_over_mcp


def test_the_model_reads_what_it_would_read_over_mcp(shaper: Shaper, read_over_mcp: str) -> None:
    tool = FunctionTool(name="list_issues", description="List issues", func=list_issues)
    assert [item.text for item in invoke(shaper, tool, repo="a")] == [read_over_mcp]


def test_what_was_left_out_can_be_asked_for(shaper: Shaper, read_over_mcp: str) -> None:
    tool = AgentFrameworkShaping(shaper=shaper).expand_tool()
    ask_in_every_way(lambda **asked: invoke(shaper, tool, **asked)[0].text, read_over_mcp)


def test_pictures_stay_pictures(shaper: Shaper) -> None:
    picture = Content.from_data(b"png", media_type="image/png")
    tool = FunctionTool(name="draws", description="Draw", func=lambda: picture)
    assert invoke(shaper, tool)[0].type == "data"


def test_a_failure_has_the_frameworks_own_status(shaper: Shaper) -> None:
    def fails() -> str:
        raise ValueError("no repository")

    told = shown(shaper, fails)
    assert (str(told.exception), told.result) == ("no repository", "Error: Function failed.")


def test_a_failure_under_the_decorator_is_told_in_the_frameworks_way(shaper: Shaper) -> None:
    @shape(shaper=shaper)
    def fails() -> list[dict[str, Any]]:
        raise ValueError("no repository")

    told = shown(shaper, fails).result
    assert ("no repository" in told, "invalid_argument" in told) == (True, True)


def test_an_asynchronous_call_reads_the_same(shaper: Shaper, read_over_mcp: str) -> None:
    async def list_issues(repo: str) -> list[dict[str, Any]]:
        return issues()

    tool = FunctionTool(name="list_issues", description="List issues", func=list_issues)
    assert [item.text for item in invoke(shaper, tool, repo="a")] == [read_over_mcp]


def test_control_flow_and_result_objects_pass(shaper: Shaper) -> None:
    def ends() -> str:
        raise MiddlewareTermination("enough")

    with pytest.raises(MiddlewareTermination):
        invoke(shaper, FunctionTool(name="ends", description="End", func=ends))


def test_a_tools_parameters_are_unchanged(shaper: Shaper) -> None:
    tool = FunctionTool(name="list_issues", description="List issues", func=list_issues)
    before = tool.parameters()
    invoke(shaper, tool, repo="a")
    assert tool.parameters() == before


def test_a_call_is_entered_in_the_ledger(shaper: Shaper, entered: Callable[[], Any]) -> None:
    tool = FunctionTool(name="list_issues", description="List issues", func=list_issues)
    invoke(shaper, tool, repo="a")
    assert entered().client == "agent-framework"
