from __future__ import annotations

import asyncio
import json
from typing import Any

from claude_agent_sdk import tool

from shaping import Shaper, shape
from shaping.integrations.claude_agent_sdk import shape_tools, shaping_hooks
from tests.integrations.answers import issues, ref_in


@tool("list_issues", "List issues", {"repo": str})
async def list_issues(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps(issues())}]}


@tool("draws", "Draw", {})
async def draws(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}


@tool("fails", "Fail", {})
async def fails(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": "no repository"}], "is_error": True}


@tool("under_shape", "List issues", {"repo": str})
@shape
async def under_shape(arguments: dict[str, Any]) -> Any:
    return issues()


def call(one: Any, **arguments: Any) -> Any:
    return asyncio.run(one.handler(arguments))


def test_the_model_reads_what_it_would_read_over_mcp(shaper: Shaper, read_over_mcp: str) -> None:
    listed, expand = shape_tools([list_issues], shaper=shaper)
    assert call(listed, repo="a")["content"][0]["text"] == read_over_mcp
    back = call(expand, ref=ref_in(read_over_mcp), path="[0].url")
    assert "issues/1" in back["content"][0]["text"]


def test_a_function_under_shape_is_not_shown_empty(shaper: Shaper) -> None:
    content = call(shape_tools([under_shape], shaper=shaper)[0], repo="a")["content"]
    assert "Widget 30" in content[0]["text"]


def test_pictures_and_errors_stay_what_they_are(shaper: Shaper) -> None:
    drawn, failed, _ = shape_tools([draws, fails], shaper=shaper)
    assert call(drawn)["content"][0]["type"] == "image"
    answer = call(failed)
    assert answer["is_error"] is True
    assert "no repository" in answer["content"][0]["text"]


def test_a_hook_shapes_the_tools_of_mcp_servers(shaper: Shaper, read_over_mcp: str) -> None:
    (matcher,) = shaping_hooks(shaper=shaper)["PostToolUse"]
    response = [{"type": "text", "text": json.dumps(issues())}]
    said: Any = {"tool_name": "mcp__tracker__list_issues", "tool_response": response}
    answer: Any = asyncio.run(matcher.hooks[0](said, None, {"signal": None}))  # type: ignore[arg-type]
    assert answer["hookSpecificOutput"]["updatedToolOutput"][0]["text"] == read_over_mcp
    assert matcher.matcher == "mcp__.*"
