"""One exception of a tool's reads the same in its own process and through the proxy, and so does what it notes."""

from __future__ import annotations

import asyncio
import builtins
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel

import shaping
from shaping import Shaper, ShapingMiddleware, shape_server
from shaping.tokens import exact

RAISES = Path(__file__).parents[1] / "servers" / "raising_server.py"
PROXY = [
    "-m", "shaping", "proxy", "--", sys.executable, str(RAISES),
]  # fmt: skip

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def raise_it(words: str, kind: str = "ValueError") -> None:
    """Raise a ValueError, or another kind, as a tool does that may have acted already."""
    raise getattr(builtins, kind)(words)


def in_process(kind: str, config: Any = None, **choices: Any) -> Any:
    shaper = Shaper(
        config or {"global": choices}, tier="pro", tool_version="1.2", capabilities=["read"], expandable=True
    )
    server: Any = FastMCP("s") if kind == "middleware" else MCPServer("s")

    async def slow() -> dict[str, int]:
        """Note something, and take some time."""
        shaping.note(warning="careful", request_id="req-9", upgrade_hint={"feature": "f", "tier": "t", "reason": "r"})
        await asyncio.sleep(0.05)
        return {"a": 1}

    server.tool()(slow)
    server.tool()(raise_it)
    if kind == "middleware":
        server.add_middleware(ShapingMiddleware(shaper=shaper))
    else:
        shape_server(server, shaper=shaper)
    return server


async def texts(server: Any, words: list[str], kind: str) -> list[str]:
    asked = [{"words": each, "kind": kind} for each in words]
    async with Client(server) as client:
        results = [await client.call_tool("raise_it", each, raise_on_error=False) for each in asked]
    assert all(result.is_error for result in results)
    return [result.content[0].text for result in results]


@pytest.mark.parametrize("raised", ["ValueError", "LookupError", "AssertionError", "RuntimeError", "Exception"])
async def test_what_a_tool_raises_reads_the_same_in_the_servers_process_and_through_the_proxy(raised: str) -> None:
    words = ["the ledger is off by one", "limit must be positive", "no such widget: 7", "Invalid argument: colour"]
    told = [words[0], f"BAD_ARGUMENT: {words[1]}", f"NOT_FOUND: {words[2]}", f"BAD_ARGUMENT: {words[3]}"]
    for server in (in_process("middleware"), in_process("shape_server"), StdioTransport(sys.executable, PROXY)):
        assert await texts(server, words, raised) == told


@pytest.mark.parametrize("kind", ["middleware", "shape_server"])
async def test_no_words_of_a_tool_that_ran_claim_that_nothing_was_done(kind: str) -> None:
    async with Client(in_process(kind, profile="debug")) as client:
        result = await client.call_tool("raise_it", {"words": "Invalid argument: colour"}, raise_on_error=False)
    error = result.meta["shaping/error"]
    assert (error["code"], error.get("phase")) == ("BAD_ARGUMENT", None)


@pytest.mark.parametrize("kind", ["middleware", "shape_server"])
async def test_debug_shows_what_the_tool_notes_and_what_is_known_of_the_call(kind: str) -> None:
    async with Client(in_process(kind, profile="debug")) as client:
        about = (await client.call_tool("slow", {})).meta["shaping"]
    assert {name: about[name] for name in ("tier", "tool_version", "capabilities", "request_id")} == {
        "tier": "pro",
        "tool_version": "1.2",
        "capabilities": ["read"],
        "request_id": "req-9",
    }
    assert about["tool_id"].endswith("slow")
    assert about["upgrade_hints"] == [{"feature": "f", "tier": "t", "reason": "r"}]
    assert about["warnings"] == [{"code": "TOOL", "message": "careful"}]
    assert about["duration_ms"] >= 50


@pytest.mark.parametrize("kind", ["middleware", "shape_server"])
async def test_the_flat_form_tells_how_long_the_call_really_took(kind: str) -> None:
    async with Client(in_process(kind, dialect="flat")) as client:
        result = await client.call_tool("slow", {})
    assert result.structured_content["_meta"]["elapsed_ms"] >= 50


_LOG = "".join(f"step {n * 7919 % 1000} of part {n} was done\n" for n in range(3000))
_TRACE = 'Traceback (most recent call last):\n  File "user.py", line 3, in run\nZeroDivisionError: division by zero\n'


@pytest.mark.parametrize("kind", ["middleware", "shape_server"])
async def test_the_words_of_an_exception_keep_their_traceback_and_have_the_budget_of_an_answer(kind: str) -> None:
    words = [f"the job failed:\n{_TRACE}see its log", f"the job failed:\n{_TRACE}{_LOG}"]
    async with Client(in_process(kind, max_tokens=2000)) as client:
        whole, cut = [await client.call_tool("raise_it", {"words": each}, raise_on_error=False) for each in words]
        assert whole.content[0].text == words[0]
        said = cut.content[0].text
        assert 1000 < exact(said) <= 2000
        assert _TRACE in said
        ref = re.search(r"r_[a-z2-7]{26}", said)
        assert ref is not None
        found = await client.call_tool("shaping_expand", {"ref": ref[0], "search": "part 1777 was"})
    assert "part 1777 was done" in found.content[0].text


@pytest.mark.parametrize("kind", ["middleware", "shape_server"])
async def test_a_decorated_tool_below_the_middleware_loses_none_of_its_words(kind: str) -> None:
    words = f"the job failed:\n{_LOG[:6000]}the last words"

    @shaping.shape
    def report() -> dict[str, int]:
        """Fail with many words."""
        raise RuntimeError(words)

    server = in_process(kind)
    server.tool()(report)
    async with Client(server) as client:
        failed = await client.call_tool("report", {}, raise_on_error=False)
    assert failed.is_error
    # Under the SDK a decorated function answers with an envelope, where the words are a JSON string.
    assert all(line in failed.content[0].text for line in words.splitlines())


@pytest.mark.parametrize("kind", ["middleware", "shape_server"])
async def test_what_a_tool_gave_to_a_model_of_its_own_is_not_quoted_by_its_refusal(kind: str) -> None:
    class Span(BaseModel):
        line: int

    def analyse(code: str) -> None:
        """Read code as a line number, which fails."""
        Span.model_validate({"line": code})

    server = in_process(kind)
    server.tool()(analyse)
    async with Client(server) as client:
        refused = await client.call_tool("analyse", {"code": "def secret(): return 42"}, raise_on_error=False)
    assert (refused.is_error, "secret" in refused.content[0].text) == (True, False)
    assert "line: Input should be a valid integer" in refused.content[0].text


@pytest.mark.parametrize("kind", ["middleware", "shape_server", "proxy"])
async def test_the_config_lists_the_codes_of_a_tool_in_its_description(kind: str, tmp_path: Path) -> None:
    config = tmp_path / "response_config.json"
    config.write_text(json.dumps({"tools": {"raise_*": {"codes": ["NOT_FOUND", "VALIDATION_ERROR"]}}}))
    proxy = StdioTransport(sys.executable, ["-m", "shaping", "proxy", "--config", str(config), *PROXY[3:]])
    async with Client(proxy if kind == "proxy" else in_process(kind, config)) as client:
        [listed] = [tool.description for tool in await client.list_tools() if tool.name == "raise_it"]
    assert re.fullmatch(r"Raise a ValueError.*\.\nErrors: NOT_FOUND, BAD_ARGUMENT", listed or "")
