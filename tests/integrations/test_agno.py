from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from agno.exceptions import RetryAgentRun
from agno.media import Image
from agno.tools.function import Function, FunctionCall, ToolResult

from shaping import Shaper
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
