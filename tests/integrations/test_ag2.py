from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from ag2 import Agent
from ag2.events import BinaryInput, ToolCallEvent, ToolResultEvent
from ag2.events.tool_events import ToolResult
from ag2.testing import TestConfig
from ag2.tools import tool

from shaping import Shaper, shape
from shaping.integrations.ag2 import AG2Shaping
from tests.integrations.answers import ask_in_every_way, issues


@tool
def list_issues(repo: str) -> list[dict[str, Any]]:
    """List the issues of a repository."""
    return issues()


@tool
async def list_later(repo: str) -> list[dict[str, Any]]:
    """List the issues of a repository."""
    return issues()


@tool
def finishes() -> ToolResult:
    """End the turn with a result object."""
    return ToolResult("the end", final=True)


@tool
def draws() -> BinaryInput:
    """Draw."""
    return BinaryInput(b"png", media_type="image/png")


@tool
def fails() -> str:
    """Fail."""
    raise ValueError("no repository")


@tool
@shape(shaper=Shaper({}))
def raises() -> list[dict[str, Any]]:
    """Fail, under our decorator."""
    raise ValueError("no repository")


def run(shaper: Shaper, name: str, **arguments: Any) -> Any:
    shaping = AG2Shaping(shaper=shaper)
    shown: list[Any] = []
    call = ToolCallEvent(name, arguments=json.dumps(arguments))
    agent = Agent(
        "tester",
        config=TestConfig(call, "done"),
        tools=[list_issues, list_later, finishes, draws, fails, raises, shaping.expand_tool()],
        middleware=[shaping],
    )

    async def go() -> None:
        reply = await agent.ask("go")
        shown.extend(event for event in await reply.history.get_events() if isinstance(event, ToolResultEvent))

    asyncio.run(go())
    return shown[0].result.parts[0]


def test_the_model_reads_what_it_would_read_over_mcp(shaper: Shaper, read_over_mcp: str) -> None:
    assert run(shaper, "list_issues", repo="a").content == read_over_mcp


def test_what_was_left_out_can_be_asked_for(shaper: Shaper, read_over_mcp: str) -> None:
    ask_in_every_way(lambda **asked: run(shaper, "shaping_expand", **asked).content, read_over_mcp)


def test_pictures_stay_pictures(shaper: Shaper) -> None:
    assert isinstance(run(shaper, "draws"), BinaryInput)


def test_a_failure_has_the_frameworks_own_status(shaper: Shaper) -> None:
    with pytest.raises(ValueError, match="no repository"):
        run(shaper, "fails")


def test_a_failure_under_the_decorator_is_told_in_the_frameworks_way(shaper: Shaper) -> None:
    told = run(shaper, "raises").content
    assert ("no repository" in told, "invalid_argument" in told) == (True, True)


def test_an_asynchronous_call_reads_the_same(shaper: Shaper, read_over_mcp: str) -> None:
    assert len(run(shaper, "list_later", repo="a").content) == len(read_over_mcp)


def test_control_flow_and_result_objects_pass(shaper: Shaper) -> None:
    assert run(shaper, "finishes").content == "the end"


def test_a_tools_parameters_are_unchanged(shaper: Shaper) -> None:
    before = repr(list_issues.schema)
    run(shaper, "list_issues", repo="a")
    assert repr(list_issues.schema) == before


def test_a_call_is_entered_in_the_ledger(shaper: Shaper, entered: Callable[[], Any]) -> None:
    run(shaper, "list_issues", repo="a")
    assert entered().client == "ag2"
