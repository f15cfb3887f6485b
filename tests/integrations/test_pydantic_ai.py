from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from fastmcp import FastMCP
from pydantic_ai import Agent, ApprovalRequired, BinaryContent, DeferredToolRequests, ModelRetry, ToolReturn
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from shaping import Shaper, shape
from shaping.integrations.pydantic_ai import PydanticAIShaping
from tests.integrations.answers import ask_in_every_way, issues


def list_issues(repo: str) -> list[dict[str, Any]]:
    return issues()


class Run:
    """An agent whose scripted model calls one tool; what it was told of the call is in `parts`."""

    def __init__(
        self, tool: Callable[..., Any], shaper: Shaper, args: dict[str, Any] | None = None, called: str = ""
    ) -> None:
        self.parts: list[Any] = []
        self.names: list[str] = []
        self.schema: dict[str, Any] = {}
        self.called, self.args = called or tool.__name__, args or {}
        agent = Agent(
            FunctionModel(self._answer),
            tools=[tool],
            capabilities=[PydanticAIShaping(shaper=shaper)],
            output_type=[str, DeferredToolRequests],
        )
        self.output = asyncio.run(agent.run("go")).output

    def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.names = [tool.name for tool in info.function_tools]
        self.schema = info.function_tools[0].parameters_json_schema
        told = [part for part in messages[-1].parts if part.part_kind in {"tool-return", "retry-prompt"}]
        self.parts += told
        return ModelResponse([TextPart("done")] if told else [ToolCallPart(self.called, self.args)])


def test_the_model_reads_what_it_would_read_over_mcp(shaper: Shaper, read_over_mcp: str) -> None:
    run = Run(list_issues, shaper, {"repo": "acme/widgets"})
    assert (run.parts[0].content, run.names) == (read_over_mcp, ["list_issues", "shaping_expand"])


def test_what_was_left_out_can_be_asked_for(shaper: Shaper, read_over_mcp: str) -> None:
    def expand(**asked: Any) -> str:
        return str(Run(list_issues, shaper, asked, "shaping_expand").parts[0].content)

    ask_in_every_way(expand, read_over_mcp)


def test_control_flow_and_result_objects_pass(shaper: Shaper) -> None:
    def picky() -> str:
        raise ModelRetry("give a repo")

    def deletes() -> str:
        raise ApprovalRequired

    assert "give a repo" in str(Run(picky, shaper).parts[0].content)
    assert isinstance(Run(deletes, shaper).output, DeferredToolRequests)


def test_a_failure_under_the_decorator_is_told_in_the_frameworks_way(shaper: Shaper) -> None:
    @shape(shaper=shaper)
    def fails() -> list[dict[str, Any]]:
        raise ValueError("no repository")

    told = str(Run(fails, shaper).parts[0].content)
    assert ("no repository" in told, "invalid_argument" in told) == (True, True)


def test_pictures_stay_pictures(shaper: Shaper, read_over_mcp: str) -> None:
    picture = BinaryContent(b"png", media_type="image/png")

    def draws() -> BinaryContent:
        return picture

    def list_issues() -> ToolReturn[Any]:
        return ToolReturn(issues(), content="see above", metadata={"rows": 30})

    assert Run(draws, shaper).parts[0].content == picture
    part = Run(list_issues, shaper).parts[0]
    assert (part.content, part.metadata) == (read_over_mcp, {"rows": 30})


def test_a_failure_has_the_frameworks_own_status(shaper: Shaper) -> None:
    def fails() -> str:
        raise ValueError("no repository")

    with pytest.raises(ValueError, match="no repository"):
        Run(fails, shaper)


def test_results_of_mcp_servers_are_shaped(shaper: Shaper, read_over_mcp: str) -> None:
    server: FastMCP[Any] = FastMCP("tracker")
    server.tool(list_issues)
    shown: list[Any] = []

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        shown.extend(part.content for part in messages[-1].parts if part.part_kind == "tool-return")
        return ModelResponse([TextPart("done") if shown else ToolCallPart("list_issues", {"repo": "a"})])

    toolset: Any = MCPToolset(server, process_tool_call=PydanticAIShaping(shaper=shaper).process_tool_call)
    asyncio.run(Agent(FunctionModel(answer), toolsets=[toolset]).run("go"))
    assert shown == [read_over_mcp]


def test_the_example_prints_what_the_model_reads() -> None:
    done = subprocess.run(
        [sys.executable, "examples/frameworks/pydantic_ai_agent.py"], capture_output=True, text=True, check=True
    )
    assert "30,user 30" in done.stdout
    assert "img.example.com" not in done.stdout


def test_an_asynchronous_call_reads_the_same(shaper: Shaper, read_over_mcp: str) -> None:
    async def list_issues(repo: str) -> list[dict[str, Any]]:
        return issues()

    assert Run(list_issues, shaper, {"repo": "a"}).parts[0].content == read_over_mcp


def test_a_tools_parameters_are_unchanged(shaper: Shaper) -> None:
    assert Run(list_issues, shaper, {"repo": "a"}).schema["properties"].keys() == {"repo"}


def test_a_list_with_a_picture_stays_one_under_the_decorator(shaper: Shaper) -> None:
    picture = BinaryContent(b"png", media_type="image/png")

    @shape(shaper=shaper)
    def draws() -> list[Any]:
        return ["a picture", picture]

    assert Run(draws, shaper).parts[0].content == ["a picture", picture]


def test_a_call_is_entered_in_the_ledger(shaper: Shaper, entered: Callable[[], Any]) -> None:
    Run(list_issues, shaper, {"repo": "a"})
    assert entered().client == "pydantic-ai"
