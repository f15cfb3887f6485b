from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from autogen_core import AgentId, FunctionCall, SingleThreadedAgentRuntime
from autogen_core.models import CreateResult, RequestUsage, UserMessage
from autogen_core.tool_agent import ToolAgent, tool_agent_caller_loop
from autogen_core.tools import FunctionTool, StaticWorkbench

from shaping import Shaper, shape
from shaping.integrations.autogen_core import shape_tools
from tests.integrations.answers import ask_in_every_way, issues

WITHOUT = {
    "control flow, objects": "it has none: a tool's result is written as text",
    "pictures": "its tools return text",
}


def list_issues(repo: str) -> list[dict[str, Any]]:
    """List the issues of a repository."""
    return issues()


async def list_later(repo: str) -> list[dict[str, Any]]:
    """List the issues of a repository."""
    return issues()


def fails() -> list[dict[str, Any]]:
    """Fail."""
    raise ValueError("no repository")


class ScriptedModel:
    """Calls one tool, then ends."""

    def __init__(self, name: str, arguments: dict[str, Any]) -> None:
        self.call = FunctionCall(id="1", name=name, arguments=json.dumps(arguments))

    async def create(self, messages: Any, **_: Any) -> CreateResult:
        content: Any = "done" if len(messages) > 1 else [self.call]
        usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
        return CreateResult(finish_reason="stop", content=content, usage=usage, cached=False)


def run(tools: list[Any], name: str, **arguments: Any) -> Any:
    """Let AutoGen's own loop run a tool that a scripted model calls, and return the result that the model is shown."""

    async def go() -> Any:
        runtime = SingleThreadedAgentRuntime()
        await ToolAgent.register(runtime, "tools", lambda: ToolAgent("tools", tools))
        runtime.start()
        model: Any = ScriptedModel(name, arguments)
        told = await tool_agent_caller_loop(
            runtime, AgentId("tools", "default"), model, [UserMessage(content="go", source="user")], tools
        )
        await runtime.stop()
        return told[1].content[0]

    return asyncio.run(go())


def test_the_model_reads_what_it_would_read_over_mcp(shaper: Shaper, read_over_mcp: str) -> None:
    shown = run(shape_tools([list_issues], shaper=shaper), "list_issues", repo="a")
    assert (shown.content, shown.is_error) == (read_over_mcp, False)


def test_a_workbench_shows_the_same(shaper: Shaper, read_over_mcp: str) -> None:
    bench = StaticWorkbench(shape_tools([list_issues], shaper=shaper))
    assert asyncio.run(bench.call_tool("list_issues", {"repo": "a"})).result[0].content == read_over_mcp


def test_an_asynchronous_call_reads_the_same(shaper: Shaper, read_over_mcp: str) -> None:
    later = FunctionTool(list_later, "List issues", name="list_issues")
    assert run(shape_tools([later], shaper=shaper), "list_issues", repo="a").content == read_over_mcp


def test_what_was_left_out_can_be_asked_for(shaper: Shaper, read_over_mcp: str) -> None:
    ask_in_every_way(
        lambda **asked: run(shape_tools([], shaper=shaper), "shaping_expand", **asked).content, read_over_mcp
    )


def test_a_failure_has_the_frameworks_own_status(shaper: Shaper) -> None:
    shown = run(shape_tools([fails], shaper=shaper), "fails")
    assert (shown.is_error, shown) == (True, run([FunctionTool(fails, "Fail", name="fails")], "fails"))
    told = asyncio.run(StaticWorkbench(shape_tools([fails], shaper=shaper)).call_tool("fails", {}))
    assert (told.is_error, told.result[0].content) == (True, "no repository")


def test_a_failure_under_the_decorator_is_told_in_the_frameworks_way(shaper: Shaper) -> None:
    told = run([FunctionTool(shape(shaper=shaper)(fails), "Fail", name="fails")], "fails").content
    assert ("no repository" in told, "invalid_argument" in told) == (True, True)


def test_a_tools_parameters_are_unchanged(shaper: Shaper) -> None:
    plain = FunctionTool(list_issues, "List the issues of a repository.")
    assert shape_tools([plain], shaper=shaper)[0].schema == plain.schema


def test_a_call_is_entered_in_the_ledger(shaper: Shaper, entered: Callable[[], Any]) -> None:
    run(shape_tools([list_issues], shaper=shaper), "list_issues", repo="a")
    assert entered().client == "autogen-core"
