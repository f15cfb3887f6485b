from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agent_framework import Content, FunctionInvocationContext, FunctionTool

from shaping import Shaper
from shaping.integrations.agent_framework import AgentFrameworkShaping
from tests.integrations.answers import issues, ref_in


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


def test_the_model_reads_what_it_would_read_over_mcp(shaper: Shaper, read_over_mcp: str) -> None:
    tool = FunctionTool(name="list_issues", description="List issues", func=list_issues)
    assert [item.text for item in invoke(shaper, tool, repo="a")] == [read_over_mcp]


def test_what_was_left_out_can_be_asked_for(shaper: Shaper, read_over_mcp: str) -> None:
    tool = AgentFrameworkShaping(shaper=shaper).expand_tool()
    found = invoke(shaper, tool, ref=ref_in(read_over_mcp), path="[0].url")
    assert "issues/1" in found[0].text


def test_pictures_stay_pictures(shaper: Shaper) -> None:
    picture = Content.from_data(b"png", media_type="image/png")
    tool = FunctionTool(name="draws", description="Draw", func=lambda: picture)
    assert invoke(shaper, tool)[0].type == "data"


def test_an_exception_is_the_frameworks_to_tell(shaper: Shaper) -> None:
    def fails() -> str:
        raise ValueError("no repository")

    with pytest.raises(ValueError, match="no repository"):
        invoke(shaper, FunctionTool(name="fails", description="Fail", func=fails))
