from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core.llms import ImageBlock
from llama_index.core.tools import FunctionTool, ToolOutput

from shaping import Shaper
from shaping.integrations.llama_index import shape_tools
from tests.integrations.answers import issues, ref_in


def list_issues(repo: str) -> list[dict[str, Any]]:
    """List the issues of a repository."""
    return issues()


def draws() -> ToolOutput:
    """Draw."""
    return ToolOutput(tool_name="draws", blocks=[ImageBlock(image=b"png")], raw_input={}, raw_output="png")


def test_the_model_reads_what_it_would_read_over_mcp(shaper: Shaper, read_over_mcp: str) -> None:
    listed, expand = shape_tools([FunctionTool.from_defaults(list_issues)], shaper=shaper)
    output = listed.call(repo="a")
    assert (output.content, output.raw_output, output.is_error) == (read_over_mcp, issues(), False)
    assert asyncio.run(listed.acall(repo="a")).content == read_over_mcp
    assert "issues/1" in expand.call(ref=ref_in(read_over_mcp), path="[0].url").content


def test_a_tool_keeps_its_kind_and_its_schema(shaper: Shaper) -> None:
    plain = FunctionTool.from_defaults(list_issues)
    shaped = shape_tools([list_issues], shaper=shaper)[0]
    assert isinstance(shaped, FunctionTool)
    assert shaped.metadata.get_parameters_dict() == plain.metadata.get_parameters_dict()
    assert shaped.metadata.description == plain.metadata.description


def test_pictures_stay_pictures(shaper: Shaper) -> None:
    tool = FunctionTool.from_defaults(draws, callback=lambda raw: raw)
    assert isinstance(shape_tools([tool], shaper=shaper)[0].call().blocks[0], ImageBlock)


def test_an_exception_is_the_frameworks_to_tell(shaper: Shaper) -> None:
    def fails() -> str:
        raise ValueError("no repository")

    with pytest.raises(ValueError, match="no repository"):
        shape_tools([FunctionTool.from_defaults(fails)], shaper=shaper)[0].call()
