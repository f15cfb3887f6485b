from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult
from llama_index.core.llms import ImageBlock, MockFunctionCallingLLM
from llama_index.core.tools import FunctionTool, ToolOutput, ToolSelection
from llama_index.core.tools.calling import acall_tool, call_tool_with_selection

from shaping import Shaper, ToolError, shape
from shaping.integrations.llama_index import shape_tools
from tests.integrations.answers import ask_in_every_way, issues


def list_issues(repo: str) -> list[dict[str, Any]]:
    """List the issues of a repository."""
    return issues()


def draws() -> ToolOutput:
    """Draw."""
    return ToolOutput(tool_name="draws", blocks=[ImageBlock(image=b"png")], raw_input={}, raw_output="png")


def test_the_model_reads_what_it_would_read_over_mcp(shaper: Shaper, read_over_mcp: str) -> None:
    listed, _ = shape_tools([FunctionTool.from_defaults(list_issues)], shaper=shaper)
    output = listed.call(repo="a")
    assert (output.content, output.raw_output, output.is_error) == (read_over_mcp, issues(), False)


def test_an_asynchronous_call_reads_the_same(shaper: Shaper, read_over_mcp: str) -> None:
    listed, _ = shape_tools([FunctionTool.from_defaults(list_issues)], shaper=shaper)
    assert asyncio.run(listed.acall(repo="a")).content == read_over_mcp


def in_an_agent(tool: Any) -> ToolOutput:
    """Give a tool to an agent whose model calls every tool once, and return its output."""

    async def run() -> list[ToolOutput]:
        model = MockFunctionCallingLLM(is_chat_model=True)
        handler = FunctionAgent(tools=[tool], llm=model, streaming=False).run("go")
        outputs = [one.tool_output async for one in handler.stream_events() if isinstance(one, ToolCallResult)]
        await handler
        return outputs

    (output,) = asyncio.run(run())
    return output


def test_an_agents_model_reads_the_same(shaper: Shaper, read_over_mcp: str) -> None:
    def listed() -> list[dict[str, Any]]:
        """List the issues of a repository."""
        return issues()

    tool = FunctionTool.from_defaults(listed, name="list_issues")
    assert in_an_agent(shape_tools([tool], shaper=shaper)[0]).content == read_over_mcp


def test_what_was_left_out_can_be_asked_for(shaper: Shaper, read_over_mcp: str) -> None:
    (expand,) = shape_tools([], shaper=shaper)
    ask_in_every_way(lambda **asked: expand.call(**asked).content, read_over_mcp)


def test_a_tools_parameters_are_unchanged(shaper: Shaper) -> None:
    plain = FunctionTool.from_defaults(list_issues)
    shaped = shape_tools([list_issues], shaper=shaper)[0]
    assert isinstance(shaped, FunctionTool)
    assert shaped.metadata.get_parameters_dict() == plain.metadata.get_parameters_dict()
    assert shaped.metadata.description == plain.metadata.description


def test_pictures_stay_pictures(shaper: Shaper) -> None:
    tool = FunctionTool.from_defaults(draws, callback=lambda raw: raw)
    assert isinstance(shape_tools([tool], shaper=shaper)[0].call().blocks[0], ImageBlock)


def test_a_failure_under_the_decorator_is_told_in_the_frameworks_way(shaper: Shaper) -> None:
    @shape(shaper=shaper)
    def fails() -> list[dict[str, Any]]:
        raise ValueError("no repository")

    tool = FunctionTool.from_defaults(fails)
    assert tool.metadata.description == "fails() -> shaping.ShapedAnswer"
    with pytest.raises(ToolError, match="BAD_ARGUMENT: no repository"):
        tool.call()
    chosen = ToolSelection(tool_id="1", tool_name="fails", tool_kwargs={})
    for output in (call_tool_with_selection(chosen, [tool]), asyncio.run(acall_tool(tool, {})), in_an_agent(tool)):
        assert (output.is_error, "BAD_ARGUMENT" in output.content) == (True, True)
    assert fails()["error"]["error_code"] == "invalid_argument"  # type: ignore[call-overload]  # called by hand


def test_a_failure_has_the_frameworks_own_status(shaper: Shaper) -> None:
    def fails() -> str:
        raise ValueError("no repository")

    with pytest.raises(ValueError, match="no repository"):
        shape_tools([FunctionTool.from_defaults(fails)], shaper=shaper)[0].call()


def test_control_flow_and_result_objects_pass(shaper: Shaper) -> None:
    def reports() -> ToolOutput:
        """Report with an object of the framework."""
        return ToolOutput(tool_name="reports", content="a failure", raw_input={}, raw_output="x", is_error=True)

    tool = FunctionTool.from_defaults(reports, callback=lambda raw: raw)
    assert shape_tools([tool], shaper=shaper)[0].call().is_error


def test_a_call_is_entered_in_the_ledger(shaper: Shaper, entered: Callable[[], Any]) -> None:
    shape_tools([FunctionTool.from_defaults(list_issues)], shaper=shaper)[0].call(repo="a")
    assert entered().client == "llama-index"
