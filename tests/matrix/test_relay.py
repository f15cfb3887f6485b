"""What a server asks of its client or tells it passes through the proxy, as the official everything server does it."""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types
import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def everything(node_project: Path) -> list[str]:
    script = node_project / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    return ["node", str(script), "stdio"]


class Heard:
    """What reached the client besides the answers to its calls."""

    def __init__(self) -> None:
        self.logs: list[Any] = []
        self.progress: list[tuple[float, float | None]] = []
        self.news: list[str] = []

    async def sample(self, messages: Any, params: Any, _: Any) -> str:
        return f"sampled with {params.max_tokens}: {messages[0].content.text}"

    async def elicit(self, message: str, _: Any, params: Any, __: Any) -> Any:
        return {"name": "Ada", "check": "required" in str(params.requested_schema)}

    async def log(self, message: Any) -> None:
        self.logs.append(message.data)

    async def hear_progress(self, progress: float, total: float | None, _: str | None) -> None:
        self.progress.append((progress, total))

    async def hear_news(self, message: Any) -> None:
        self.news.append(type(message).__name__)


@asynccontextmanager
async def connected(command: list[str], heard: Heard, **abilities: Any) -> AsyncIterator[Client[Any]]:
    transport = StdioTransport(
        sys.executable, ["-m", "shaping", "proxy", "--", *command], env=dict(os.environ), keep_alive=False
    )
    handlers = {
        "log_handler": heard.log,
        "progress_handler": heard.hear_progress,
        "message_handler": heard.hear_news,
    }
    # "auto" asks for the newer protocol, which this server does not speak: the client is sent back to the older.
    async with Client(transport, mode="auto", **handlers, **abilities) as client:
        yield client


async def until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(60):
        while not holds():  # noqa: ASYNC110 - what is told comes without an event
            await anyio.sleep(0.02)


def texts(result: Any) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


async def test_everything_a_server_can_ask_or_tell_passes(everything: list[str]) -> None:
    heard = Heard()
    abilities = {"sampling_handler": heard.sample, "elicitation_handler": heard.elicit, "roots": ["file:///work"]}
    async with connected(everything, heard, **abilities) as client:
        assert client.protocol_version == "2025-11-25"
        assert client.server_info is not None
        assert client.server_info.name == "mcp-servers/everything"
        assert client.instructions
        tools = {tool.name for tool in await client.list_tools()}
        assert tools >= {"trigger-sampling-request", "trigger-elicitation-request", "get-roots-list"}
        sampled = await client.call_tool("trigger-sampling-request", {"prompt": "hi", "maxTokens": 20})
        assert "sampled with 20" in texts(sampled)
        elicited = await client.call_tool("trigger-elicitation-request", {})
        assert "Ada" in texts(elicited)
        assert "file:///work" in texts(await client.call_tool("get-roots-list", {}))
        await client.call_tool("trigger-long-running-operation", {"duration": 0.2, "steps": 2})
        await until(lambda: len(heard.progress) == 2)
        assert heard.progress == [(1, 2), (2, 2)]
        completed = await client.complete(
            mcp_types.PromptReference(name="completable-prompt"), {"name": "department", "value": "E"}
        )
        assert completed.values == ["Engineering"]
        resources = await client.list_resources()
        assert (await client.read_resource(resources[0].uri))[0].text  # type: ignore[union-attr]  # its first is text
        assert [template.name for template in await client.list_resource_templates()]
        prompt = await client.get_prompt("args-prompt", {"city": "Oslo"})
        assert "Oslo" in str(prompt.messages)
        level = mcp_types.SetLevelRequest(params=mcp_types.SetLevelRequestParams(level="debug"))
        await client.session.send_request(level, mcp_types.EmptyResult)
        await until(lambda: bool(heard.logs))


async def test_a_server_sees_only_what_its_client_can_do(everything: list[str]) -> None:
    async with connected(everything, Heard()) as client:
        tools = {tool.name for tool in await client.list_tools()}
    assert not tools & {"trigger-sampling-request", "trigger-elicitation-request", "get-roots-list"}


async def test_changes_of_a_subscribed_resource_are_passed_on(everything: list[str]) -> None:
    heard = Heard()
    async with connected(everything, heard) as client:
        uri = "demo://resource/dynamic/text/1"
        await client.session.send_request(
            mcp_types.SubscribeRequest(params=mcp_types.SubscribeRequestParams(uri=uri)), mcp_types.EmptyResult
        )
        await client.call_tool("toggle-subscriber-updates", {})
        await until(lambda: "ResourceUpdatedNotification" in heard.news)
        await client.session.send_request(
            mcp_types.UnsubscribeRequest(params=mcp_types.UnsubscribeRequestParams(uri=uri)), mcp_types.EmptyResult
        )
