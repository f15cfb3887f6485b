"""Fields of an answer that is a text of `name: value` lines, as the official filesystem server gives it."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio
RECORD = ["size", "created", "modified", "accessed", "isDirectory", "isFile", "permissions"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def answers(project: Path, tmp: Path, fields: dict[str, Any], *, tool: str = "get_file_info") -> tuple[str, str]:
    """Return both channels of an answer about a file, of a client that checks it by the schema that it was shown."""
    data = tmp / "data"
    data.mkdir()
    (data / "a.txt").write_text("hello")
    block = {"channels": "both", **fields}
    (tmp / "response_config.json").write_text(json.dumps({"tool_overrides": {tool: block}}))
    script = project / "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
    proxy = [
        "-m",
        "shaping",
        "proxy",
        "--config",
        str(tmp / "response_config.json"),
        "--",
        "node",
        str(script),
        str(data),
    ]
    transport = StdioTransport(sys.executable, proxy, env=dict(os.environ), keep_alive=False)
    async with Client(transport) as client:
        await client.list_tools()
        result = await client.call_tool(tool, {"path": str(data / "a.txt" if tool == "get_file_info" else data)})
    [block] = result.content
    assert result.structured_content is not None
    assert result.structured_content.keys() == {"content"}
    return block.text, result.structured_content["content"]


async def test_fields_of_a_record_in_a_text_are_kept_in_both_channels(node_project: Path, tmp_path: Path) -> None:
    text, member = await answers(node_project, tmp_path, {"include_only": ["size"]})
    assert (text, member) == ('{"size":5}', '{"size":5}')


async def test_fields_of_a_record_in_a_text_are_left_out_of_both_channels(node_project: Path, tmp_path: Path) -> None:
    for told in await answers(node_project, tmp_path, {"exclude_fields": ["created", "accessed", "modified"]}):
        assert list(json.loads(told)) == [name for name in RECORD if name not in {"created", "accessed", "modified"}]


@pytest.mark.parametrize(("tool", "lines"), [("get_file_info", RECORD), ("list_directory", ["[FILE] a.txt"])])
async def test_a_text_that_has_none_of_the_fields_goes_out_whole(
    node_project: Path, tmp_path: Path, tool: str, lines: list[str]
) -> None:
    text, member = await answers(node_project, tmp_path, {"include_only": ["nothing"]}, tool=tool)
    assert text == member
    assert [line.split(":")[0] for line in text.splitlines()] == lines
