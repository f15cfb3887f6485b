"""A list that a limit of elements would cut is sent whole where saying so costs more than the cut saves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from hypothesis import given, strategies as st

from shaping import Shaper, ShapingMiddleware, shape
from shaping.tokens import exact

ECHO = Path(__file__).parents[1] / "servers" / "echo_server.py"
CONFIG: dict[str, Any] = {"global": {"max_items": 2}}
TINY = [{"id": number, "name": f"n{number}"} for number in range(5)]
LONG = [{"id": number, "name": f"n{number}"} for number in range(200)]

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "response_config.json").write_text(json.dumps(CONFIG))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def test_by_the_decorator() -> None:
    @shape(shaper=Shaper(CONFIG, expandable=True))
    def records(*, long: bool) -> list[dict[str, Any]]:
        return LONG if long else TINY

    assert records(long=False) == {"data": TINY}
    cut: Any = records(long=True)
    assert (cut["data"], cut["truncated"]) == (LONG[:2], True)


def test_by_the_decorator_as_text() -> None:
    @shape(shaper=Shaper(CONFIG, expandable=True), form="text")
    def records() -> list[dict[str, Any]]:
        return TINY

    assert exact(str(records())) <= exact(json.dumps(TINY, separators=(",", ":")))


async def _texts(server: Any, calls: list[tuple[str, dict[str, Any]]]) -> list[str]:
    async with Client(server) as client:
        return [(await client.call_tool_mcp(*call)).content[0].text for call in calls]


@pytest.mark.parametrize("where", ["middleware", "proxy"])
async def test_by_mcp(where: str) -> None:
    server: Any = FastMCP("s", middleware=[ShapingMiddleware(shaper=Shaper(CONFIG, expandable=True))])

    @server.tool()  # type: ignore[untyped-decorator]  # of Any
    def records(long: bool) -> list[dict[str, Any]]:
        """List records."""
        return LONG if long else TINY

    calls: list[tuple[str, dict[str, Any]]]
    if where == "middleware":
        calls = [("records", {"long": False}), ("records", {"long": True})]
    else:
        server = StdioTransport(sys.executable, ["-m", "shaping", "proxy", "--", sys.executable, str(ECHO)])
        blocks = [[{"type": "text", "text": json.dumps(rows)}] for rows in (TINY, LONG)]
        calls = [("echo", {"result": {"content": content}}) for content in blocks]
    tiny, long = await _texts(server, calls)
    assert exact(tiny) <= exact(json.dumps(TINY, separators=(",", ":")))
    assert "shown" not in tiny
    assert "items: 2 of 200 shown" in long


@pytest.mark.parametrize("arguments", [[], ["--value"]])
def test_by_the_command_line(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "tiny.json").write_text(json.dumps(TINY))
    done = subprocess.run(
        [sys.executable, "-m", "shaping", "shape", "tiny.json", *arguments], capture_output=True, text=True, check=True
    )
    assert exact(done.stdout.strip()) <= exact(json.dumps(TINY, separators=(",", ":")))


@given(
    rows=st.lists(st.fixed_dictionaries({"id": st.integers(0, 99), "name": st.text("abc ", max_size=30)}), max_size=12),
    most=st.integers(1, 5),
    profile=st.sampled_from(["minimal", "standard", "debug"]),
    channels=st.sampled_from(["text", "both"]),
)
def test_no_limit_of_elements_makes_a_result_dearer(
    rows: list[dict[str, Any]], most: int, profile: str, channels: Literal["text", "both"]
) -> None:
    def sent(**limits: int) -> dict[str, Any]:
        shaper = Shaper({"global": {"profile": profile, **limits}}, expandable=True)
        result = {"content": [{"type": "text", "text": json.dumps(rows)}], "structuredContent": {"result": rows}}
        return shaper.shape_result(result, tool="list", channels=channels)

    limited, whole = sent(max_items=most), sent()
    read = "structuredContent" if channels == "both" else "content"
    assert exact(json.dumps(limited[read])) <= exact(json.dumps(whole[read])) + 8
