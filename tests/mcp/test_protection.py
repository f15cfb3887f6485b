from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp_types
import pytest
from fastmcp import Client, FastMCP
from fastmcp.resources import ResourceContent, ResourceResult
from mcp import Client as SdkClient
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError

from shaping.mcp.fastmcp import ShapingMiddleware
from shaping.mcp.mcp_shaper import open_mcp_shaper
from shaping.mcp.sdk import shape_server
from shaping.mcp.server_messages import MessageProtection
from shaping.shaper import Shaper

if TYPE_CHECKING:
    from collections.abc import Callable

shape_result = Shaper.shape_result

pytestmark = pytest.mark.anyio
TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
MARK = "[redacted:github-token]"
BINARY = "QUJD" * 80 + TOKEN  # long base64, in which a rule matches by chance
RESULT: dict[str, Any] = {
    "content": [
        {"type": "resource", "resource": {"uri": "file:///a", "text": f"key {TOKEN}", "mimeType": "text/plain"}},
        {"type": "resource", "resource": {"uri": "file:///b", "blob": BINARY}},
        {"type": "resource_link", "uri": f"https://x.example/?access_token={TOKEN}", "name": "l", "description": TOKEN},
        {"type": "image", "data": BINARY, "mimeType": "image/png"},
        {"type": "text", "text": "fine", "_meta": {"k": TOKEN}},
    ],
    "_meta": {"trace": TOKEN},
}


def redacted(path: str) -> dict[str, str]:
    return {"code": "REDACTED", "message": "a value matched the rule github-token and was replaced", "path": path}


def test_secrets_leave_by_no_part_of_a_result_but_what_is_binary_stays_as_it_is() -> None:
    shaped = shape_result(Shaper({}), RESULT, tool="t")
    assert shaped["content"] == [
        {"type": "resource", "resource": {"uri": "file:///a", "text": f"key {MARK}", "mimeType": "text/plain"}},
        RESULT["content"][1],
        {"type": "resource_link", "uri": f"https://x.example/?access_token={MARK}", "name": "l", "description": MARK},
        RESULT["content"][3],
        {"type": "text", "text": "fine", "_meta": {"k": MARK}},
    ]
    assert shaped["_meta"]["trace"] == MARK
    assert shaped["_meta"]["shaping"]["warnings"] == [
        redacted(place)
        for place in (
            "content[0].resource.text",
            "content[2].uri",
            "content[2].description",
            "content[4]._meta.k",
            "_meta.trace",
        )
    ]


def test_a_member_of_the_servers_own_keeps_no_secret_either() -> None:
    shaped = shape_result(Shaper({}), {**RESULT, "note": f"see {TOKEN}", "count": 2}, tool="t")
    assert (TOKEN in str({**shaped, "content": shaped["content"][2:3]}), shaped["note"]) == (False, f"see {MARK}")
    assert shaped["count"] == 2
    assert shaped["_meta"]["shaping"]["warnings"][0] == redacted("result.note")
    assert shaped["content"] == shape_result(Shaper({}), RESULT, tool="t")["content"]


def test_an_error_keeps_no_secret_beside_its_text() -> None:
    shaped = shape_result(Shaper({}), {**RESULT, "isError": True}, tool="t")
    assert TOKEN not in str([block for block in shaped["content"] if block["type"] in {"resource_link", "text"}])
    assert shaped["_meta"]["trace"] == MARK


def test_a_tool_whose_job_is_a_secret_gives_it_in_every_part() -> None:
    shaper = Shaper({"tool_overrides": {"t": {"redact": "off"}}})
    assert shape_result(shaper, RESULT, tool="t")["content"] == RESULT["content"]


def test_a_fault_in_shaping_lets_no_embedded_secret_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr("shaping.mcp.result._success", broken)
    shaped = shape_result(Shaper({}), RESULT, tool="t")
    assert shaped["content"][0]["resource"]["text"] == f"key {MARK}"
    assert (shaped["_meta"]["trace"], shaped["content"][2]["description"]) == (MARK, MARK)


def text() -> str:
    return f"key {TOKEN}"


def job() -> str:
    return TOKEN


def ask() -> str:
    return f"use {TOKEN}"


def refuse() -> str:
    raise MCPError(-32042, f"not with {TOKEN}", {"key": TOKEN, "n": 1})


def offer(server: Any) -> Any:
    server.resource("data://text")(text)
    server.resource("data://job")(job)
    server.prompt()(ask)
    server.tool()(refuse)
    return server


CONFIG: dict[str, Any] = {"tool_overrides": {"data://job": {"redact": "off"}}}


def fast() -> FastMCP[Any]:
    return offer(FastMCP("f", middleware=[ShapingMiddleware(CONFIG)]))  # type: ignore[no-any-return]  # it gives back what it got


async def test_resources_and_prompts_are_read_without_secrets() -> None:
    async with Client(fast()) as client:
        [read] = await client.read_resource("data://text")
        [given] = await client.read_resource("data://job")
        prompt = await client.get_prompt("ask", {})
    assert isinstance(read, mcp_types.TextResourceContents)
    assert isinstance(given, mcp_types.TextResourceContents)
    assert (read.text, given.text) == (f"key {MARK}", TOKEN)
    assert prompt.messages[0].content == mcp_types.TextContent(type="text", text=f"use {MARK}")


async def test_resources_and_prompts_of_an_sdk_server_are_read_without_secrets() -> None:
    async with SdkClient(sdk()) as client:
        read = (await client.read_resource("data://text")).contents[0]
        given = (await client.read_resource("data://job")).contents[0]
        prompt = await client.get_prompt("ask")
    assert isinstance(read, mcp_types.TextResourceContents)
    assert isinstance(given, mcp_types.TextResourceContents)
    assert (read.text, given.text) == (f"key {MARK}", TOKEN)
    assert prompt.messages[0].content == mcp_types.TextContent(type="text", text=f"use {MARK}")


async def test_bytes_and_the_meta_of_a_resource_stay_apart() -> None:
    server: FastMCP[Any] = FastMCP("f", middleware=[ShapingMiddleware()])

    @server.resource("data://both")
    def both() -> ResourceResult:
        return ResourceResult([ResourceContent(b"\x00\x01", meta={"k": TOKEN}), ResourceContent("t", meta={"n": 1})])

    async with Client(server) as client:
        binary, plain = await client.read_resource("data://both")
    assert isinstance(binary, mcp_types.BlobResourceContents)
    assert isinstance(plain, mcp_types.TextResourceContents)
    assert (binary.blob, binary.meta, plain.text, plain.meta) == ("AAE=", {"k": MARK}, "t", {"n": 1})


def sdk() -> MCPServer[Any]:
    server: MCPServer[Any] = offer(MCPServer("s", log_level="CRITICAL"))
    return shape_server(server, CONFIG)


@pytest.mark.parametrize("make", [fast, sdk])
async def test_a_protocol_error_keeps_its_code_and_loses_its_secrets(make: Callable[[], Any]) -> None:
    client: Any = Client(make()) if make is fast else SdkClient(make())
    async with client:
        with pytest.raises(MCPError) as raised:
            await client.call_tool("refuse", {})
    told = raised.value.error
    assert (told.code, told.message, told.data) == (-32042, f"not with {MARK}", {"key": MARK, "n": 1})


def test_nothing_is_taken_out_where_shaping_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAPING", "off")
    wire = {"contents": [{"uri": "data://x", "text": TOKEN}]}
    assert MessageProtection(Shaper({})).resource_or_prompt("data://x", wire) is wire


@pytest.mark.parametrize("depth", [100, 300, 600, 900])
@pytest.mark.parametrize(
    "clean",
    [
        lambda mcp_shaper, _, said: mcp_shaper.protection.protect({"completion": said}, "completion/complete"),
        lambda mcp_shaper, session, said: mcp_shaper.protection.params(
            "notifications/message", {"level": "info", "data": said}, session.log_keys
        ),
        lambda mcp_shaper, *said: mcp_shaper.protection.error({"code": -1, "message": "m", "data": said[1]}),
        lambda mcp_shaper, *said: mcp_shaper.protection.resource_or_prompt(
            "p", {"messages": [{"role": "user", "content": {"type": "text", "text": "t", "_meta": {"m": said[1]}}}]}
        ),
        lambda mcp_shaper, *said: mcp_shaper.protection.recorded_tools([{"name": "t", "_meta": {"m": said[1]}}]),
        lambda mcp_shaper, session, said: mcp_shaper.list_result(
            session,
            {"tools": [{"name": "t", "inputSchema": {"properties": {"a": {"default": said}}}}]},
            lambda _: "server",
        ),
    ],
    ids=["answer", "log", "error", "prompt", "recorded tools", "tools/list"],
)
def test_a_message_of_any_depth_goes_out_without_what_is_private(clean: Callable[..., Any], depth: int) -> None:
    said: Any = {"ssn": "kept-from-all"}
    for level in range(depth):
        said = {"k": said} if level % 2 else [said]
    mcp_shaper = open_mcp_shaper({"global": {"private": ["ssn"]}})
    session = mcp_shaper.begin({"name": "client", "version": "1"}, None)
    text = str(clean(mcp_shaper, session, {"beside": "shown", "deep": said, "ssn": "kept-from-all"}))
    assert "kept-from-all" not in text
    assert "'beside': 'shown'" in text


async def test_what_a_server_says_of_its_resources_and_prompts_holds_no_secret() -> None:
    token = "ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
    server = FastMCP("s", middleware=[ShapingMiddleware({})])
    server.resource("data://a", description=f"use {token}")(lambda: "x")
    server.resource("data://{name}", name="t", description=f"use {token}")(lambda name: name)
    server.prompt("p", description=f"use {token}")(lambda: "x")
    async with Client(server) as client:
        listed = [await client.list_resources(), await client.list_resource_templates(), await client.list_prompts()]
    assert all(len(each) == 1 for each in listed)
    assert token not in str(listed)
    assert str(listed).count("[redacted:github-token]") == 3


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("kind", [MCPServer, FastMCP])
async def test_what_a_server_says_of_itself_holds_no_secret(kind: Any, mode: Any) -> None:
    server = kind("s", instructions=f"log in with {TOKEN}")
    words = f"use {TOKEN}"
    server.resource("data://a", name="r", description=words)(lambda: "x")
    server.resource("data://{name}", name="t", description=words)(lambda name: name)
    server.prompt("p", description=words)(lambda: "x")
    server.tool("q", description=words)(lambda: "x")
    async with Client(shape_server(server, {}), mode=mode) as client:
        said = [client.instructions, await client.list_resources(), await client.list_resource_templates()]
        said += [await client.list_prompts(), await client.list_tools()]
    assert TOKEN not in str(said)
    assert [str(each).count(MARK) for each in said] == [1] * 5


@pytest.mark.parametrize("fast", [False, True])
async def test_completions_hold_no_secret(fast: bool) -> None:
    server: Any = FastMCP("s") if fast else MCPServer("s", log_level="CRITICAL")

    def prompt(word: str) -> str:
        return word

    async def complete(ref: Any, argument: Any, context: Any) -> mcp_types.Completion:
        return mcp_types.Completion(values=[TOKEN, "plain"])

    server.prompt(prompt) if fast else server.prompt("prompt")(prompt)
    server.completion(complete) if fast else server.completion()(complete)
    shaped = shape_server(server, {})
    async with Client(shaped) if fast else SdkClient(shaped) as client:
        reference = mcp_types.PromptReference(name="prompt")
        found: Any = await client.complete(reference, {"name": "word", "value": ""})
    assert getattr(found, "completion", found).values == [MARK, "plain"]
