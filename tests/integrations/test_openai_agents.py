from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from agents import ToolOutputImage, function_tool
from agents.tool_context import ToolContext

from shaping import Shaper
from shaping.integrations.openai_agents import shape_tools
from tests.integrations.answers import ask_in_every_way, issues


@function_tool
def list_issues(repo: str) -> list[dict[str, Any]]:
    """List the issues of a repository."""
    return issues()


@function_tool
async def list_later(repo: str) -> list[dict[str, Any]]:
    """List the issues of a repository."""
    return issues()


@function_tool
def draws() -> ToolOutputImage:
    """Draw."""
    return ToolOutputImage(image_url="https://example.com/a.png")


@function_tool
def fails() -> str:
    """Fail."""
    raise ValueError("no repository")


def call(tool: Any, arguments: str = "{}") -> Any:
    context: ToolContext[None] = ToolContext(
        context=None, tool_name=tool.name, tool_call_id="1", tool_arguments=arguments
    )
    return asyncio.run(tool.on_invoke_tool(context, arguments))


def test_the_model_reads_what_it_would_read_over_mcp(shaper: Shaper, read_over_mcp: str) -> None:
    listed, _ = shape_tools([list_issues], shaper=shaper)
    assert call(listed, '{"repo": "a"}') == read_over_mcp


def test_an_asynchronous_call_reads_the_same(shaper: Shaper, read_over_mcp: str) -> None:
    later, _ = shape_tools([list_later], shaper=shaper)
    assert len(call(later, '{"repo": "a"}')) == len(read_over_mcp)


def test_what_was_left_out_can_be_asked_for(shaper: Shaper, read_over_mcp: str) -> None:
    (expand,) = shape_tools([], shaper=shaper)
    ask_in_every_way(lambda **asked: call(expand, json.dumps(asked)), read_over_mcp)


def test_a_tools_parameters_are_unchanged(shaper: Shaper) -> None:
    shaped = shape_tools([list_issues], shaper=shaper, expand=False)[0]
    assert (shaped.params_json_schema, shaped.description) == (list_issues.params_json_schema, list_issues.description)
    assert call(list_issues, '{"repo": "a"}') == issues()


def test_pictures_stay_pictures(shaper: Shaper) -> None:
    assert isinstance(call(shape_tools([draws], shaper=shaper)[0]), ToolOutputImage)


def test_a_failure_has_the_frameworks_own_status(shaper: Shaper) -> None:
    assert call(shape_tools([fails], shaper=shaper)[0]) == call(fails)


def test_control_flow_and_result_objects_pass(shaper: Shaper) -> None:
    hosted = object()
    assert shape_tools([hosted], shaper=shaper, expand=False) == [hosted]


def test_the_example_prints_what_the_model_reads() -> None:
    done = subprocess.run(
        [sys.executable, "examples/frameworks/openai_agents_tool.py"], capture_output=True, text=True, check=True
    )
    assert "30,user 30" in done.stdout
    assert "img.example.com" not in done.stdout


def test_a_call_is_entered_in_the_ledger(shaper: Shaper, entered: Callable[[], Any]) -> None:
    call(shape_tools([list_issues], shaper=shaper)[0], '{"repo": "a"}')
    assert entered().client == "openai-agents"
