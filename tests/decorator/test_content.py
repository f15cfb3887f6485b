from __future__ import annotations

import base64
from typing import Any

import mcp_types
import pytest
from fastmcp import Client, FastMCP
from fastmcp.tools.base import ToolResult
from fastmcp.utilities.types import Audio, Image
from mcp import Client as SdkClient
from mcp.server.mcpserver import Image as SdkImage, MCPServer

from shaping import Shaper, ShapingMiddleware, note, shape

pytestmark = pytest.mark.anyio
TOKEN = "ghp_" + "a1B2" * 9
MARK = "[redacted:github-token]"
PNG = b"\x89PNG"
WRITTEN = base64.b64encode(PNG).decode()
PICTURE = {"type": "image", "data": WRITTEN, "mimeType": "image/png"}


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


def picture() -> Image:
    return Image(data=PNG, format="png")


async def pictures() -> list[Image]:
    return [picture(), picture()]


def sound() -> Audio:
    return Audio(data=b"RIFF", format="wav")


def mixed() -> list:  # type: ignore[type-arg]  # a list of anything, as people write it
    return [f"key {TOKEN}", picture(), {"a": None, "b": 1}]


def unsaid():  # type: ignore[no-untyped-def]  # noqa: ANN201 (without an annotation, as people write it)
    return ["look", picture()]


def block() -> mcp_types.ImageContent:
    return mcp_types.ImageContent(type="image", data=WRITTEN, mime_type="image/png")


def result() -> ToolResult:
    return ToolResult(content=f"say {TOKEN}", structured_content={"a": 1, "b": None, "k": TOKEN})


def data() -> dict[str, Any]:
    return {"a": None, "b": 1}


def server(*, twice: bool) -> FastMCP[Any]:
    made: FastMCP[Any] = FastMCP("s", middleware=[ShapingMiddleware({})] if twice else [])
    for function in (picture, pictures, sound, mixed, unsaid, block, result, data):
        made.tool(shape(config={})(function))
    return made


def wire(answer: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {key: dumped[key] for key in ("content", "structuredContent", "isError") if dumped.get(key)}


@pytest.mark.parametrize("twice", [False, True], ids=["decorated", "and behind the middleware"])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("picture", {"content": [PICTURE]}),
        ("pictures", {"content": [PICTURE, PICTURE]}),
        ("sound", {"content": [{"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}]}),
        ("unsaid", {"content": [text("look"), PICTURE]}),
        ("block", {"content": [PICTURE]}),
        ("result", {"content": [text(f"say {MARK}")], "structuredContent": {"a": 1, "k": MARK}}),
        ("data", {"content": [text('{"data":{"b":1}}')], "structuredContent": {"data": {"b": 1}}}),
    ],
)
async def test_what_a_decorated_tool_shows_stays_what_it_is(name: str, expected: dict[str, Any], twice: bool) -> None:
    async with Client(server(twice=twice)) as client:
        assert wire(await client.call_tool_mcp(name, {})) == expected


async def test_a_picture_in_a_list_of_anything_is_shown_beside_the_data_that_was_promised() -> None:
    async with Client(server(twice=False)) as client:
        answer = wire(await client.call_tool_mcp("mixed", {}))
    assert answer["content"] == [text(f"key {MARK}"), PICTURE, text('{"a":null,"b":1}')]
    assert answer["structuredContent"]["data"][0] == f"key {MARK}"


def sdk_picture() -> SdkImage:
    return SdkImage(data=PNG, format="png")


def sdk_mixed() -> list[SdkImage | str | dict[str, Any]]:
    return [f"key {TOKEN}", sdk_picture(), {"a": None, "b": 1}]


def sdk_result() -> mcp_types.CallToolResult:
    return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text=f"say {TOKEN}")])


async def sdk_blocks() -> list[mcp_types.TextContent]:
    return [mcp_types.TextContent(type="text", text='{"a":null,"b":2}')]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sdk_picture", {"content": [PICTURE]}),
        ("sdk_mixed", {"content": [text(f"key {MARK}"), PICTURE, text('{"a":null,"b":1}')]}),
        ("sdk_result", {"content": [text(f"say {MARK}")]}),
        ("sdk_blocks", {"content": [text('{"a":null,"b":2}')]}),
    ],
)
async def test_the_sdk_is_given_content_as_content_too(name: str, expected: dict[str, Any]) -> None:
    made: MCPServer[Any] = MCPServer("s", log_level="CRITICAL")
    for function in (sdk_picture, sdk_mixed, sdk_result, sdk_blocks):
        made.add_tool(shape(config={})(function))
    async with SdkClient(made) as client:
        assert wire(await client.call_tool(name, {})) == expected


def test_outside_of_a_framework_it_is_data_like_any_other() -> None:
    assert shape(config={})(block)() == {"data": {"type": "image", "data": WRITTEN, "mimeType": "image/png"}}


async def test_content_is_left_alone_where_shaping_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAPING", "off")
    made: FastMCP[Any] = FastMCP("s")
    made.tool(shape(shaper=Shaper({}))(result))
    async with Client(made) as client:
        assert wire(await client.call_tool_mcp("result", {}))["content"] == [text(f"say {TOKEN}")]


async def test_the_profile_of_a_decorator_holds_for_content_where_the_environment_names_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = {"profiles": {"own": {"debug": True, "exclude_null_values": False}}}
    made: FastMCP[Any] = FastMCP("s")
    made.tool(shape(profile="own", config=config)(mixed))
    async with Client(made) as client:
        own = await client.call_tool_mcp("mixed", {})
        monkeypatch.setenv("SHAPING_DEBUG", "1")
        debug = await client.call_tool_mcp("mixed", {})
    assert [answer.meta["shaping"]["profile"] for answer in (own, debug) if answer.meta] == ["own", "debug"]
    assert own.structured_content is not None
    assert own.structured_content["data"][2] == {"a": None, "b": 1}


async def test_a_tool_that_calls_another_gets_its_answer_as_data() -> None:
    inner = shape(config={})(block)

    @shape(config={})
    def outer() -> dict[str, Any]:
        return {"kind": inner()["data"]["type"]}

    made: FastMCP[Any] = FastMCP("s")
    made.tool(outer)
    async with Client(made) as client:
        assert (await client.call_tool_mcp("outer", {})).structured_content == {"data": {"kind": "image"}}


@pytest.mark.parametrize("framework", ["fastmcp", "sdk"])
async def test_what_a_tool_notes_goes_with_its_pictures(framework: str) -> None:
    @shape(config={"global": {"profile": "standard"}})
    def look() -> list[Any]:
        note(warning="the picture is an hour old")
        return ["here", block()]

    if framework == "fastmcp":
        server: FastMCP[Any] = FastMCP("s")
        server.tool(look)
        async with Client(server) as client:
            done = (await client.call_tool_mcp("look", {})).model_dump(by_alias=True)
    else:
        other = MCPServer("s")
        other.tool()(look)
        async with SdkClient(other) as sdk:
            done = (await sdk.call_tool("look", {})).model_dump(by_alias=True)
    assert "the picture is an hour old" in str(done["_meta"])


async def test_a_tool_called_through_mcp_inside_another_tool_answers_that_request_with_its_own_words() -> None:
    shaper = Shaper({}, watch=False)

    @shape(shaper=shaper)
    def find(name: str) -> dict[str, Any]:
        raise LookupError(f"no such file: {name}")

    server = FastMCP("inner", middleware=[ShapingMiddleware({}, expand=False)])
    server.tool(find)

    @shape(shaper=shaper)
    async def ask() -> dict[str, Any]:
        async with Client(server) as client:
            answer = await client.call_tool("find", {"name": "x"}, raise_on_error=False)
        return {"failed": answer.is_error, "said": answer.content[0].text}

    assert await ask() == {"data": {"failed": True, "said": "NOT_FOUND: no such file: x"}}
