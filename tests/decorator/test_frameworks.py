from __future__ import annotations

import json
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from mcp import Client as SdkClient
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from opentelemetry.sdk.trace import TracerProvider
from pydantic import BaseModel

from shaping import Shaper, ToolError, shape, using
from shaping.envelope import local_envelope
from shaping.errors import make_error

pytestmark = pytest.mark.anyio


class Owner(BaseModel):
    login: str
    node_id: str


class Issue(BaseModel):
    number: int
    title: str
    owner: Owner


ISSUE = Issue(number=1, title="Broken", owner=Owner(login="ada", node_id="MDQ6"))
CONFIG = {"tool_overrides": {"find*": {"exclude_fields": ["title", "owner.node_id"]}}}
EXPECTED = {"data": {"number": 1, "owner": {"login": "ada"}}}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def tools(shaper: Shaper) -> list[Any]:
    @shape(shaper=shaper)
    def find(number: int) -> Issue:
        """Find an issue."""
        return ISSUE

    @shape(shaper=shaper)
    async def find_later(number: int) -> Issue:
        """Find an issue later."""
        return ISSUE

    @shape(shaper=shaper)
    def fail() -> Issue:
        raise ToolError("NOT_FOUND", "no such issue")

    @shape(shaper=shaper)
    async def fail_later() -> Issue:
        raise ToolError("NOT_FOUND", "no such issue")

    return [find, find_later, fail, fail_later]


def fastmcp_server(shaper: Shaper) -> FastMCP:
    server = FastMCP("test")
    for tool in tools(shaper):
        server.tool(tool)
    return server


def sdk_server(shaper: Shaper) -> MCPServer:
    server = MCPServer("test")
    for tool in tools(shaper):
        server.tool()(tool)
    return server


async def call_fastmcp(name: str, arguments: dict[str, Any]) -> Any:
    async with Client(fastmcp_server(Shaper(CONFIG))) as client:
        return await client.call_tool(name, arguments, raise_on_error=False)


async def call_sdk(name: str, arguments: dict[str, Any]) -> Any:
    async with SdkClient(sdk_server(Shaper(CONFIG))) as client:
        return await client.call_tool(name, arguments)


CALLS = pytest.mark.parametrize("call", [call_fastmcp, call_sdk])


@CALLS
@pytest.mark.parametrize("name", ["find", "find_later"])
async def test_a_filtered_required_field_is_accepted_by_the_client(call: Any, name: str) -> None:
    result = await call(name, {"number": 1})
    assert not result.is_error
    assert result.structured_content == EXPECTED
    assert json.loads(result.content[0].text) == EXPECTED


@CALLS
async def test_what_debug_adds_is_not_stripped(call: Any) -> None:
    with using(profile="debug"):
        result = await call("find", {"number": 1})
    assert result.structured_content["data"]["title"] == "Broken"
    assert result.structured_content["tool_id"] == "find"
    assert result.structured_content["error"] is None


@CALLS
@pytest.mark.parametrize("name", ["fail", "fail_later"])
async def test_an_exception_reaches_the_client_as_an_error_with_the_coded_envelope(call: Any, name: str) -> None:
    result = await call(name, {})
    assert result.is_error
    assert json.loads(result.content[0].text) == {"error": {"error": "no such issue", "error_code": "not_found"}}
    assert result.structured_content is None


async def outcome(server: Any, tool: str = "refuse") -> str:
    client = Client(server) if isinstance(server, FastMCP) else SdkClient(server)
    try:
        async with client:
            result = await client.call_tool(tool, {})
    except BaseException as error:  # noqa: BLE001 (clients wrap a protocol error in different ways; all of them count)
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        return repr(error)
    return str(result.content)


@pytest.mark.parametrize("kind", [FastMCP, MCPServer])
async def test_a_protocol_error_passes_as_if_the_tool_were_not_decorated(kind: Any) -> None:
    def refuse() -> dict[str, Any]:
        raise MCPError(code=-32000, message="not now")

    bare, decorated = kind("bare"), kind("decorated")
    bare.tool()(refuse)
    decorated.tool()(shape(shaper=Shaper(CONFIG))(refuse))
    seen = await outcome(decorated)
    assert "not now" in seen
    assert seen == await outcome(bare)


async def test_the_advertised_schema_is_the_projected_one_in_both_frameworks() -> None:
    async with Client(fastmcp_server(Shaper(CONFIG))) as client:
        by_fastmcp = {tool.name: tool.output_schema for tool in await client.list_tools()}
    async with SdkClient(sdk_server(Shaper(CONFIG))) as client:
        by_sdk = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
    for advertised in (by_fastmcp["find"], by_sdk["find"]):
        assert advertised is not None
        assert set(advertised["properties"]) == {"data"}
        assert "node_id" not in json.dumps(advertised)
        assert "login" in json.dumps(advertised)


async def test_called_outside_any_framework_the_same_function_returns_its_envelope() -> None:
    functions = {tool.__name__: tool for tool in tools(Shaper(CONFIG))}
    server = MCPServer("test")
    for tool in functions.values():
        server.tool()(tool)
    assert functions["fail"]() == {"error": {"error": "no such issue", "error_code": "not_found"}}
    assert await functions["fail_later"]() == {"error": {"error": "no such issue", "error_code": "not_found"}}


def test_the_recorded_span_of_another_library_is_no_request_of_the_sdk() -> None:
    @shape(shaper=Shaper({}))
    def fail():  # type: ignore[no-untyped-def]  # noqa: ANN202 (as people write it)
        raise ToolError("NOT_FOUND", "no such issue")

    with TracerProvider().get_tracer("fastapi").start_as_current_span("GET /"):
        assert fail() == {"error": {"error": "no such issue", "error_code": "not_found"}}


def failing(dialect: str) -> list[Any]:
    shaper = Shaper({"global": {"dialect": dialect}})

    @shape(shaper=shaper)
    def inner() -> Issue:
        raise ToolError("NOT_FOUND", "no such issue")

    @shape(shaper=shaper)
    def outer() -> Issue:
        found: Issue = inner()
        return found

    @shape(shaper=shaper)
    async def outer_later() -> Issue:
        found: Issue = inner()
        return found

    @shape(shaper=shaper)
    def by_envelope() -> Any:
        return local_envelope({"tried": 1}, "x", error=make_error("NOT_FOUND", "no such issue"))

    return [inner, outer, outer_later, by_envelope]


@pytest.mark.parametrize("name", ["inner", "outer", "outer_later", "by_envelope"])
@pytest.mark.parametrize("dialect", ["lean", "none"])
@pytest.mark.parametrize("kind", [FastMCP, MCPServer])
async def test_a_failure_told_in_any_way_reaches_the_client_as_one_coded_error(
    kind: Any, dialect: str, name: str
) -> None:
    server = kind("test")
    for tool in failing(dialect):
        server.tool()(tool)
    client: Any = Client(server) if kind is FastMCP else SdkClient(server)
    async with client:
        options = {"raise_on_error": False} if kind is FastMCP else {}
        result = await client.call_tool(name, {}, **options)
    assert result.is_error
    assert json.loads(result.content[0].text)["error"] == {"error": "no such issue", "error_code": "not_found"}


@pytest.mark.parametrize("kind", [FastMCP, MCPServer])
async def test_a_generator_that_fails_tells_its_code(kind: Any) -> None:
    @shape(shaper=Shaper({}))
    def stream() -> Any:
        yield 1
        raise ToolError("NOT_FOUND", "no more")

    server = kind("test")
    server.tool()(stream)
    client: Any = Client(server) if kind is FastMCP else SdkClient(server)
    async with client:
        options = {"raise_on_error": False} if kind is FastMCP else {}
        result = await client.call_tool("stream", {}, **options)
    assert '"not_found"' in result.content[0].text


@pytest.mark.parametrize("kind", [FastMCP, MCPServer])
async def test_a_result_that_an_mcp_framework_gets_shaped_is_not_logged_as_unshaped(
    kind: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Handle:
        """A result that is no data."""

    def handle() -> Any:
        return Handle()

    server = kind("test")
    server.tool()(shape(shaper=Shaper({}))(handle))
    with caplog.at_level("DEBUG", logger="shaping"):
        await outcome(server, "handle")
    assert "passes unshaped" not in caplog.text
