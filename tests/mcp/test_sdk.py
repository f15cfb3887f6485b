from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import mcp_types
import pytest
from fastmcp import Client as FastMCPClient, FastMCP
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError as SdkToolError
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from shaping.errors import ToolError
from shaping.mcp.sdk import shape_server
from shaping.shaper import Shaper

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio
CONFIG: dict[str, Any] = {"tool_overrides": {"issues": {"include_only": ["number"]}}}


class Issue(BaseModel):
    number: int
    title: str


def issues() -> list[Issue]:
    """List issues."""
    return [Issue(number=n, title="t") for n in (1, 2)]


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


async def wire(awaited: Any) -> dict[str, Any]:
    result: dict[str, Any] = (await awaited).model_dump(mode="json", by_alias=True, exclude_none=True)
    return result


def sdk_server(config: Any = None, **options: Any) -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("s", log_level="CRITICAL")
    for function in (issues, add):
        server.add_tool(function)
    return shape_server(server, CONFIG if config is None else config, **options)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_one_call_shapes_every_tool_of_an_sdk_server(mode: Any) -> None:
    async with Client(sdk_server(), mode=mode) as client:
        tools = (await wire(client.list_tools()))["tools"]
        result = await wire(client.call_tool("issues", {}))
    assert [tool["name"] for tool in tools] == ["issues", "add", "shaping_expand"]
    assert "title" not in json.dumps(tools[0]["outputSchema"]["$defs"]["Issue"]["properties"]["number"]["type"])
    assert tools[0]["outputSchema"]["$defs"]["Issue"]["properties"].keys() == {"number"}
    assert result["structuredContent"] == {"result": [{"number": 1}, {"number": 2}]}
    assert result["content"] == [{"type": "text", "text": '[{"number":1},{"number":2}]'}]
    assert result["_meta"]["shaping"]["tag"]


async def test_a_call_before_any_listing_is_checked_against_the_schema_all_the_same() -> None:
    async with Client(sdk_server()) as client:
        result = await wire(client.session.call_tool("issues", {}))
        meta: Any = {"shaping/fields": ["title"]}
        titles = await wire(client.call_tool("issues", {}, meta=meta))
    assert result["structuredContent"] == {"result": [{"number": 1}, {"number": 2}]}
    assert titles["structuredContent"] == {"result": [{"title": "t"}, {"title": "t"}]}


async def test_the_control_argument_is_taken_out_before_the_tool_sees_it() -> None:
    async with Client(sdk_server(CONFIG | {"agent_controls": True})) as client:
        tools = (await wire(client.list_tools()))["tools"]
        result = await wire(client.call_tool("add", {"a": 1, "b": 2, "_shape": {"profile": "debug"}}))
    assert tools[0]["inputSchema"]["properties"].keys() == {"_shape"}
    assert (result["structuredContent"], result["_meta"]["shaping"]["profile"]) == ({"result": 3}, "debug")


async def test_bad_arguments_are_coded() -> None:
    async with Client(sdk_server()) as client:
        result = await wire(client.call_tool("add", {"a": 1}))
    assert result["isError"] is True
    assert result["_meta"]["shaping/error"]["details"]["issues"] == [
        {"path": "b", "type": "missing", "message": "Field required"}
    ]


def lowlevel() -> Server[Any]:
    async def list_tools(_: Any, params: mcp_types.PaginatedRequestParams | None) -> mcp_types.ListToolsResult:
        page = params.cursor if params else None
        names = ["issues", "raises"] if page is None else ["refuses"]
        tools = [mcp_types.Tool(name=name, input_schema={"type": "object"}) for name in names]
        return mcp_types.ListToolsResult(tools=tools, next_cursor="2" if page is None else None)

    async def call_tool(_: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        if params.name == "raises":
            raise FileNotFoundError(2, "no such file", "notes.txt")
        if params.name == "refuses":
            raise MCPError(code=-32050, message="not today")
        text = json.dumps([issue.model_dump() for issue in issues()], indent=2)
        return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text=text)])

    return Server("low", on_list_tools=list_tools, on_call_tool=call_tool)


async def test_a_low_level_server_is_shaped_page_by_page() -> None:
    async with Client(shape_server(lowlevel(), CONFIG)) as client:
        first = await wire(client.list_tools())
        second = await wire(client.list_tools(cursor=first["nextCursor"]))
        result = await wire(client.call_tool("issues", {}))
    assert [tool["name"] for tool in first["tools"]] == ["issues", "raises"]
    assert [tool["name"] for tool in second["tools"]] == ["refuses", "shaping_expand"]
    assert result["content"] == [{"type": "text", "text": '[{"number":1},{"number":2}]'}]
    assert "structuredContent" not in result


async def test_a_low_level_tool_that_raises_gives_a_coded_error_and_a_refusal_stays_one() -> None:
    async with Client(shape_server(lowlevel(), CONFIG)) as client:
        result = await wire(client.call_tool("raises", {}))
        with pytest.raises(MCPError, match="not today"):
            await client.call_tool("refuses", {})
    assert result["_meta"]["shaping/error"]["code"] == "FILE_NOT_FOUND"


@pytest.mark.parametrize("endless", [False, True])
async def test_a_tool_of_a_later_page_is_known_to_a_client_that_never_listed(endless: bool) -> None:
    rows = {"type": "array", "items": {"type": "object"}}
    schema = {"type": "object", "title": "issuesOutput", "properties": {"result": rows}}
    pages = 0

    async def list_tools(_: Any, params: mcp_types.PaginatedRequestParams | None) -> mcp_types.ListToolsResult:
        nonlocal pages
        pages += 1
        if endless or params is None or params.cursor is None:
            return mcp_types.ListToolsResult(tools=[], next_cursor="2")
        tool = mcp_types.Tool(name="issues", input_schema={"type": "object"}, output_schema=schema)
        return mcp_types.ListToolsResult(tools=[tool])

    async def call_tool(_: Any, __: Any) -> mcp_types.CallToolResult:
        return mcp_types.CallToolResult(content=[], structured_content={"result": [{"number": 1, "title": "t"}]})

    server: Server[Any] = Server("low", on_list_tools=list_tools, on_call_tool=call_tool)
    async with Client(shape_server(server, CONFIG)) as client:
        request = mcp_types.CallToolRequest(params=mcp_types.CallToolRequestParams(name="issues", arguments={}))
        result = await wire(client.session.send_request(request, mcp_types.CallToolResult))
    unknown = {"_shaping": "include_only names nothing that this answer has (number)"}
    assert (result["structuredContent"], pages) == ((unknown, 100) if endless else ({"result": [{"number": 1}]}, 2))


async def test_a_ref_that_is_not_known_is_refused() -> None:
    async with Client(sdk_server()) as client:
        result = await wire(client.call_tool("shaping_expand", {"ref": "r_none"}))
        missing = await wire(client.call_tool("shaping_expand", {"path": "a"}))
    assert result["_meta"]["shaping/error"]["code"] == "REF_NOT_FOUND"
    assert missing["_meta"]["shaping/error"]["code"] == "BAD_ARGUMENT"
    assert "ref is missing" in missing["content"][0]["text"]


@pytest.mark.parametrize("rule", ["add", "s/add"])
@pytest.mark.parametrize("lists", [True, False])
async def test_a_dropped_tool_is_neither_listed_nor_called(rule: str, lists: bool) -> None:
    async with Client(sdk_server({"tools": {rule: {"drop": True}}})) as client:
        listed = (await wire(client.list_tools()))["tools"] if lists else []
        result = await wire(client.call_tool("add", {"a": 1, "b": 2}))
    assert "add" not in [tool["name"] for tool in listed]
    assert result["_meta"]["shaping/error"]["code"] == "OPERATION_NOT_FOUND"


@pytest.mark.parametrize("server", [FastMCP, MCPServer])
async def test_a_servers_rules_hold_for_a_client_that_calls_before_it_lists(server: Any) -> None:
    def people() -> str:
        return json.dumps([{"name": "ada", "salary": 120_000, "age": 3}])

    made = server("hr")
    made.tool()(people)
    shape_server(made, {"tool_overrides": {"hr/people": {"private": ["salary"], "exclude_fields": ["age"]}}})
    async with FastMCPClient(made) if server is FastMCP else Client(made) as client:
        session: Any = client.session
        result = await session.call_tool("people", {})
    assert result.structured_content == {"result": '[{"name":"ada"}]'}
    assert result.content[0].text == '[{"name":"ada"}]'


async def test_a_server_without_tools_is_left_alone() -> None:
    async def list_prompts(_: Any, __: Any) -> mcp_types.ListPromptsResult:
        return mcp_types.ListPromptsResult(prompts=[])

    async with Client(shape_server(Server("bare", on_list_prompts=list_prompts), {})) as client:
        assert (await wire(client.list_prompts()))["prompts"] == []
        with pytest.raises(MCPError):
            await client.call_tool("x", {})


async def test_a_fastmcp_server_gets_its_middleware_by_the_same_call() -> None:
    server: FastMCP[Any] = shape_server(FastMCP("f", tools=[issues]), CONFIG, expand=False)
    async with FastMCPClient(server) as client:
        assert [tool.name for tool in await client.list_tools()] == ["issues"]


async def test_a_change_is_announced_where_the_config_says_so(tmp_path: Path) -> None:
    file = tmp_path / "response_config.json"
    file.write_text('{"tools_changed": "announce"}')
    shaper = Shaper(file)
    heard: list[str] = []

    async def hear(message: Any) -> None:
        heard.append(type(message).__name__)

    async with Client(sdk_server(shaper=shaper), mode="legacy", message_handler=hear) as client:
        await client.list_tools()
        file.write_text('{"tools_changed": "announce", "tools": {"add": {"drop": true}}}')
        shaper._live.reload()
        tools = (await wire(client.list_tools()))["tools"]
    assert [tool["name"] for tool in tools] == ["issues", "shaping_expand"]
    assert heard == ["ToolListChangedNotification"]


SECRET = "ghp_" + "0123456789" * 3 + "012345"


def crashing(**options: Any) -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("s", log_level="CRITICAL")

    def crash() -> str:
        raise FileNotFoundError(2, "no such file", f"/keys/{SECRET}")

    def ours() -> str:
        raise ToolError("NOT_FOUND", "there is no such issue", hint="List the issues first.")

    def deliberate() -> str:
        raise SdkToolError("ENOENT: no such file")

    async def outer() -> Any:
        return await server.call_tool("crash", {})

    async def calm() -> str:
        with contextlib.suppress(SdkToolError):
            await server.call_tool("crash", {})
        raise SdkToolError("the disk is full")

    for function in (crash, ours, deliberate, outer, calm):
        server.add_tool(function)
    return shape_server(server, {}, **options)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize(
    ("tool", "code", "message"),
    [
        ("crash", "FILE_NOT_FOUND", "no such file: /keys/[redacted:github-token]"),
        ("ours", "NOT_FOUND", "there is no such issue"),
        ("deliberate", "FILE_NOT_FOUND", "ENOENT: no such file"),
        ("outer", "FILE_NOT_FOUND", "no such file: /keys/[redacted:github-token]"),
        ("calm", "INTERNAL_ERROR", "the disk is full"),
    ],
)
async def test_a_crash_that_the_sdk_masks_is_coded_by_what_was_raised(
    mode: Any, tool: str, code: str, message: str
) -> None:
    async with Client(crashing(), mode=mode) as client:
        result = await wire(client.call_tool(tool, {}))
    said = result["content"][0]["text"].splitlines()[0]
    assert (result["isError"], said) == (True, message if code == "INTERNAL_ERROR" else f"{code}: {message}")
    assert result["_meta"]["shaping/error"]["code"] == code
    assert "detail" not in result["_meta"]["shaping/error"]


async def test_under_debug_a_crash_has_its_trace_in_the_meta_without_secrets() -> None:
    shaper = Shaper({"global": {"profile": "debug"}})
    async with Client(crashing(shaper=shaper)) as client:
        result = await wire(client.call_tool("crash", {}))
    trace = result["_meta"]["shaping/error"]["detail"]
    assert "in crash" in trace
    assert SECRET not in json.dumps(result)


async def test_what_the_sdk_masks_stays_masked_where_that_is_asked_for() -> None:
    async with Client(crashing(mask_errors=True)) as client:
        result = await wire(client.call_tool("crash", {}))
    assert result["content"][0]["text"] == "Error executing tool crash"


async def test_a_server_that_calls_its_own_tool_gets_the_exception_as_ever() -> None:
    with pytest.raises(SdkToolError, match="Error executing tool crash"):
        await crashing().call_tool("crash", {})
