from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from mcp.shared.exceptions import MCPError

from shaping.mcp.fastmcp import ShapingMiddleware
from shaping.proxy.former.configured import command_backend
from shaping.proxy.former.proxy import Proxy

pytestmark = pytest.mark.anyio
MODERN = [sys.executable, str(Path(__file__).parents[1] / "servers" / "modern_server.py")]


async def called(mode: Any, tool: str, handler: Any = None, *arguments: str) -> tuple[str | None, bool, str]:
    proxy = Proxy([command_backend([*MODERN, *arguments], "modern")], [ShapingMiddleware({}, expand=False)])
    options = {} if handler is None else {"elicitation_handler": handler}
    with anyio.fail_after(60):
        async with Client(proxy, mode=mode, **options) as client:
            result: Any = await client.call_tool(tool, {}, raise_on_error=False)
            return client.protocol_version, result.is_error, result.content[0].text


async def ada(*_: Any) -> Any:
    return {"name": "Ada"}


async def decline(*_: Any) -> Any:
    return ElicitResult(action="decline")


async def fail(*_: Any) -> Any:
    raise RuntimeError("no user here")


@pytest.mark.parametrize("handler", [None, ada])
async def test_a_client_that_shakes_hands_can_use_a_server_that_does_not(handler: Any) -> None:
    assert await called("legacy", "plain", handler) == ("2025-11-25", False, "plain")


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
async def test_a_question_in_an_answer_is_put_to_the_client_in_its_own_protocol(mode: str, version: str) -> None:
    assert await called(mode, "greet", ada) == (version, False, "hello Ada (asked)")
    assert await called(mode, "greet", decline) == (version, False, "hello nobody (asked)")


async def test_a_client_that_cannot_be_asked_is_told_so_by_a_coded_error() -> None:
    _, is_error, text = await called("legacy", "greet")
    assert (is_error, text.splitlines()) == (
        True,
        [
            (
                "NOT_IMPLEMENTED: the server 'modern' asks before it answers, "
                "and this client cannot be asked (elicitation)"
            ),
            "Call it from a client that can (elicitation), or use another tool.",
        ],
    )


async def test_a_question_that_is_not_answered_is_a_coded_error_that_says_why() -> None:
    _, is_error, text = await called("legacy", "greet", fail)
    assert (is_error, text.splitlines()) == (
        True,
        [
            "PRECONDITION: the server 'modern' asks before it answers, and got no answer: no user here",
            "Call it again when the question can be answered.",
        ],
    )


async def test_a_server_that_never_stops_asking_is_stopped() -> None:
    _, is_error, text = await called("legacy", "nag", ada)
    assert is_error
    assert text.startswith("ABORTED: the server 'modern' asked without end")


async def test_a_server_that_refuses_the_answer_is_passed_on_as_refusing() -> None:
    with pytest.raises(MCPError, match="bad name"):
        await called("legacy", "refuse", ada)


async def test_a_server_that_speaks_no_protocol_we_know_is_named_with_the_reason() -> None:
    with pytest.raises(MCPError, match="'modern' would not start a session: Unsupported protocol version"):
        await called("legacy", "plain", None, "2030-01-01")
