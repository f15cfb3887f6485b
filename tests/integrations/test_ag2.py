from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from ag2 import Agent
from ag2.events import BinaryInput, ToolCallEvent, ToolResultEvent
from ag2.testing import TestConfig
from ag2.tools import tool

from shaping import Shaper
from shaping.integrations.ag2 import AG2Shaping
from tests.integrations.answers import issues, ref_in


@tool
def list_issues(repo: str) -> list[dict[str, Any]]:
    """List the issues of a repository."""
    return issues()


@tool
def draws() -> BinaryInput:
    """Draw."""
    return BinaryInput(b"png", media_type="image/png")


@tool
def fails() -> str:
    """Fail."""
    raise ValueError("no repository")


def run(shaper: Shaper, name: str, **arguments: Any) -> Any:
    shaping = AG2Shaping(shaper=shaper)
    shown: list[Any] = []
    call = ToolCallEvent(name, arguments=json.dumps(arguments))
    agent = Agent(
        "tester",
        config=TestConfig(call, "done"),
        tools=[list_issues, draws, fails, shaping.expand_tool()],
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
    assert "issues/1" in run(shaper, "shaping_expand", ref=ref_in(read_over_mcp), path="[0].url").content


def test_pictures_stay_pictures(shaper: Shaper) -> None:
    assert isinstance(run(shaper, "draws"), BinaryInput)


def test_an_exception_is_the_frameworks_to_tell(shaper: Shaper) -> None:
    with pytest.raises(ValueError, match="no repository"):
        run(shaper, "fails")
