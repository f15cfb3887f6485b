from __future__ import annotations

from typing import Any

import anyio
import mcp_types
import pytest
from fastmcp import Client, Context, FastMCP
from fastmcp.client.transports import FastMCPTransport
from mcp.server.connection import Connection
from mcp.shared.exceptions import MCPError

from shaping.proxy.former.backend import Backend
from shaping.proxy.former.front import Front
from shaping.proxy.former.link import Link
from shaping.proxy.former.proxy import Proxy
from shaping.proxy.former.relay import Relay, progress_for

pytestmark = pytest.mark.anyio


def front(connection: Connection | None = None) -> Front:
    return Front("f", modern=False, info=None, capabilities=mcp_types.ClientCapabilities(), connection=connection)


async def test_a_request_made_between_calls_waits_for_the_client_and_reaches_it() -> None:
    class Outbound:
        async def send_raw_request(self, method: str, params: Any, opts: Any = None) -> dict[str, Any]:
            return {"roots": [{"uri": "file:///a"}]}

    relay = Relay(front(), lambda: None)
    answers: list[Any] = []

    async def ask() -> None:
        answers.append(await relay.roots(None))  # type: ignore[arg-type]  # the relay does not look at it

    connection = Connection.for_loop(Outbound())  # type: ignore[arg-type]  # it only answers requests
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.sleep(0.01)
        assert not answers
        relay.bind(front(connection))
        connection.initialized.set()
    assert [str(root.uri) for root in answers[0].roots] == ["file:///a"]


async def test_a_client_that_cannot_be_asked_is_told_so() -> None:
    relay = Relay(front(), lambda: None)
    relay.bind(front())
    answer = await relay.roots(None)  # type: ignore[arg-type]  # the relay does not look at it
    assert isinstance(answer, mcp_types.ErrorData)
    # News and log lines for nobody are dropped.
    await relay.news(mcp_types.ToolListChangedNotification())
    await relay.log(mcp_types.LoggingMessageNotificationParams(level="info", data="x"))


async def test_progress_for_a_call_that_wants_none_is_dropped() -> None:
    await progress_for(None)(1, 2, None)


async def test_a_log_line_reaches_the_client_as_it_was_written() -> None:
    server: FastMCP[Any] = FastMCP("l")

    @server.tool
    async def work(ctx: Context) -> str:
        params = mcp_types.LoggingMessageNotificationParams(level="warning", logger="w", data={"any": [1]})
        await ctx.session.send_notification(mcp_types.LoggingMessageNotification(params=params), ctx.request_id)
        return "done"

    heard: list[Any] = []

    async def hear(message: Any) -> None:
        heard.append((message.level, message.logger, message.data))

    proxy = Proxy([Backend("l", lambda: FastMCPTransport(server))])
    async with Client(proxy, mode="legacy", log_handler=hear) as client:
        await client.call_tool("work", {})
        request = mcp_types.SetLevelRequest(params=mcp_types.SetLevelRequestParams(level="error"))
        await client.session.send_request(request, mcp_types.EmptyResult)
    assert heard == [("warning", "w", {"any": [1]})]


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (MCPError(code=mcp_types.CONNECTION_CLOSED, message="x"), True),
        (MCPError(code=-32602, message="x"), True),
        (OSError(), True),
        (anyio.ClosedResourceError(), True),
        (ValueError(), False),
    ],
)
async def test_an_error_of_the_connection_is_told_from_one_of_the_call(error: Exception, lost: bool) -> None:
    backend = Backend("b", lambda: FastMCPTransport(FastMCP("x")))
    link = await backend.link(front())
    await backend.close()
    assert isinstance(link, Link)
    # Its connection is closed by now, so even a protocol error may be its last word.
    assert link.is_lost(error) is lost
