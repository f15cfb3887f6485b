"""What a tool says by `note` reaches the text that a model reads, whatever the tool answers and by whichever server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import fastmcp
import mcp
import pytest
from fastmcp.utilities.types import Image as FastMCPImage
from mcp.server.mcpserver import Image, MCPServer
from pydantic import BaseModel, ConfigDict

from shaping import note, shape, shape_server

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.anyio
SAID = "the index is an hour old"
ROWS = [{"id": n, "title": f"Widget {n}", "url": f"https://api.example.com/{n}", "by": None} for n in range(9)]


class Widget(BaseModel):
    """Data that allows no member besides its own."""

    model_config = ConfigDict(extra="forbid")
    id: int


def records() -> list[dict[str, Any]]:
    """Answer with records."""
    note(warning=SAID)
    return ROWS


def record() -> dict[str, Any]:
    """Answer with one short record."""
    note(warning=SAID)
    return {"id": 1}


def typed() -> Widget:
    """Answer with data of a closed schema."""
    note(warning=SAID)
    return Widget(id=1)


def prose() -> str:
    """Answer in a text."""
    note(warning=SAID)
    return "All is well.\nReally."


def picture() -> Any:
    """Answer with content that is no text."""
    note(warning=SAID)
    return Image(data=b"12345", format="png")


def failure() -> str:
    """Fail."""
    note(warning=SAID)
    raise ValueError("no such widget")


TOOLS = (records, record, typed, prose, picture, failure)


async def _fastmcp(function: Callable[..., Any], *, wrapped: bool) -> Any:
    server: Any = fastmcp.FastMCP("hr")
    server.tool(function, name="tool")
    if wrapped:
        shape_server(server)
    async with fastmcp.Client(server) as client:
        return await client.call_tool("tool", {}, raise_on_error=False)


async def _sdk(function: Callable[..., Any], *, wrapped: bool) -> Any:
    server = MCPServer("hr")
    server.tool(name="tool")(function)
    if wrapped:
        shape_server(server)
    async with mcp.Client(server) as client:
        return await client.call_tool("tool", {})


def _texts(result: Any) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


@pytest.mark.parametrize("profile", ["minimal", "standard"])
@pytest.mark.parametrize("server", [_fastmcp, _sdk])
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.__name__)
async def test_what_a_tool_notes_is_in_the_text_of_its_answer(
    tool: Callable[..., Any], server: Any, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHAPING_PROFILE", profile)
    if server is _fastmcp and tool is picture:

        def function() -> Any:
            note(warning=SAID)
            return FastMCPImage(data=b"12345", format="png")
    else:
        function = tool
    for decorated, wrapped in ((function, True), (shape(function), True), (shape(function), False)):
        result = await server(decorated, wrapped=wrapped)
        assert _texts(result).count(SAID) == 1, _texts(result)
        assert bool(result.is_error) is (tool is failure)
        assert "SCHEMA_MISMATCH" not in str(result.meta)


async def test_it_stands_in_one_line_with_what_was_left_out() -> None:
    text = _texts(await _fastmcp(records, wrapped=True))

    last = text.splitlines()[-1]
    assert last.startswith(f"(warning: {SAID}; left out: 9 links (url); shaping_expand ref=")


async def test_a_secret_in_it_stays_inside() -> None:
    def tool() -> dict[str, Any]:
        note(warning="mind ghp_16C7e42F292c6912E7710c838347Ae178B4a")
        return {"id": 1}

    result = await _fastmcp(tool, wrapped=True)

    assert "(warning: mind " in _texts(result)
    assert "ghp_16C7e42F292c6912E7710c838347Ae178B4a" not in str(result)
