from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

from agents import ToolOutputImage, function_tool
from agents.tool_context import ToolContext

from shaping import Shaper
from shaping.integrations.openai_agents import shape_tools
from tests.integrations.answers import issues, ref_in


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
    listed, later, expand = shape_tools([list_issues, list_later], shaper=shaper)
    assert call(listed, '{"repo": "a"}') == read_over_mcp
    assert len(call(later, '{"repo": "a"}')) == len(read_over_mcp)
    assert "issues/1" in call(expand, f'{{"ref": "{ref_in(read_over_mcp)}", "path": "[0].url"}}')


def test_a_tool_stays_what_it_is(shaper: Shaper) -> None:
    shaped = shape_tools([list_issues], shaper=shaper, expand=False)[0]
    assert (shaped.params_json_schema, shaped.description) == (list_issues.params_json_schema, list_issues.description)
    assert call(list_issues, '{"repo": "a"}') == issues()


def test_pictures_stay_pictures(shaper: Shaper) -> None:
    assert isinstance(call(shape_tools([draws], shaper=shaper)[0]), ToolOutputImage)


def test_an_exception_is_told_by_the_framework(shaper: Shaper) -> None:
    assert call(shape_tools([fails], shaper=shaper)[0]) == call(fails)


def test_tools_of_other_kinds_pass(shaper: Shaper) -> None:
    hosted = object()
    assert shape_tools([hosted], shaper=shaper, expand=False) == [hosted]


def test_the_example_prints_what_the_model_reads() -> None:
    done = subprocess.run(
        [sys.executable, "examples/frameworks/openai_agents_tool.py"], capture_output=True, text=True, check=True
    )
    assert "30,user 30" in done.stdout
    assert "img.example.com" not in done.stdout
