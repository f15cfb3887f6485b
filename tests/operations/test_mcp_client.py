"""Tools of real MCP servers, over stdio and HTTP, as operations."""

from __future__ import annotations

import socket
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport

from shaping.envelope import Envelope
from shaping.operations.access import Access
from shaping.operations.adapters import McpConfig, McpLoader, from_mcp, read_tool_result
from shaping.operations.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterator


SERVER = '''
import os, sys
from mcp.server import MCPServer
from mcp.types import ToolAnnotations
from pydantic import BaseModel

class Price(BaseModel):
    amount: int
    unit: str = "EUR"

server = MCPServer("shop")

@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def price(id: int) -> Price:
    """Give a price."""
    return Price(amount=id * 10)

@server.tool(structured_output=False)
def hello(name: str) -> str:
    return f"hello {name} from {os.environ.get('SHOP', '?')} in {os.path.basename(os.getcwd())}"

@server.tool()
def fail(why: str) -> str:
    raise ValueError(why)

if __name__ == "__main__":
    server.run("stdio")
'''


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "shop_server.py"
    path.write_text(SERVER)
    return str(path)


def stdio(script: str, **more: Any) -> McpConfig:
    return McpConfig(command=sys.executable, args=(script,), **more)


async def answers(registry: Registry) -> list[Envelope[Any]]:
    asked = [("price", {"id": 2}), ("price", {"id": "x"}), ("hello", {"name": "Ann"}), ("fail", {"why": "because"})]
    return [await registry.execute(f"shop.{name}", given, shape=False) for name, given in asked]


def test_tools_of_a_server_on_stdio_are_operations(script: str, tmp_path: Path) -> None:
    async def main() -> tuple[list[Any], list[Envelope[Any]]]:
        config = stdio(script, env={"SHOP": "Paris"}, cwd=str(tmp_path))
        async with from_mcp("shop", config) as server:
            registry = Registry()
            registry.add(server.operations)
            return registry.list(), await answers(registry)

    specs, (price, wrong, hello, failed) = anyio.run(main)
    assert [(s.id, s.type, s.operation_type, s.access) for s in specs] == [
        ("shop.price", "query", "query", Access()),
        ("shop.hello", "mutation", "command", Access()),
        ("shop.fail", "mutation", "command", Access()),
    ]
    assert (price.data, price.meta.source, specs[0].output.json["required"]) == (
        {"amount": 20, "unit": "EUR"},
        "mcp",
        ["amount"],
    )
    assert wrong.error is not None
    assert (wrong.error.code, wrong.error.phase) == ("BAD_ARGUMENT", "validation")
    assert hello.data == [{"type": "text", "text": f"hello Ann from Paris in {tmp_path.name}"}]
    assert failed.error is not None
    assert (failed.meta.model_dump()["is_error"], failed.error.code) == (True, "INTERNAL_ERROR")
    assert "fail" in failed.error.message


@pytest.fixture
def http_server(script: str) -> Iterator[str]:
    import importlib.util

    import uvicorn

    found = importlib.util.spec_from_file_location("shop_server", script)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen()
        running = uvicorn.Server(uvicorn.Config(module.server.streamable_http_app(), log_level="critical"))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [bound]})
        thread.start()
        while not running.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"
        running.should_exit = True
        thread.join(60)


def test_several_servers_connect_side_by_side_and_one_that_fails_fails_alone(
    http_server: str, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []
    leave: Any = Client.__aexit__

    async def leaving(client: Client[Any], *error: Any) -> None:
        closed.append("shop" if isinstance(client.transport, StreamableHttpTransport) else "local")
        await leave(client, *error)

    monkeypatch.setattr(Client, "__aexit__", leaving)

    async def main() -> McpLoader:
        servers = {
            "shop": McpConfig(url=http_server, headers={"X-A": "1"}),
            "gone": McpConfig(command="/no/such/program"),
            "local": stdio(script),
        }
        async with McpLoader(servers) as loader:
            registry = Registry()
            registry.add(loader.operations)
            assert [spec.namespace for spec in registry.list()] == ["shop"] * 3 + ["local"] * 3
            price, _, hello, _ = await answers(registry)
            assert (price.data, hello.ok) == ({"amount": 20, "unit": "EUR"}, True)
            left = loader.operations[0][1]
        registry = Registry()
        registry.register(loader_spec(), left)
        late = await registry.execute("late", {"id": 1}, shape=False)
        assert late.error is not None
        assert late.error.code == "UNAVAILABLE"
        return loader

    def loader_spec() -> Any:
        from shaping.operations.spec import make_spec

        return make_spec("late", operation_type="query")

    loader = anyio.run(main)
    assert {name: error.code for name, error in loader.failures.items()} == {"gone": "FILE_NOT_FOUND"}
    assert closed == ["local", "shop"]
    assert loader.servers == {}


def test_a_server_that_dies_is_unavailable_and_the_others_go_on(script: str) -> None:
    async def main() -> list[Any]:
        dying = "import os; " + SERVER.replace("raise ValueError(why)", "os._exit(1)")
        servers = {"one": stdio(script), "two": McpConfig(command=sys.executable, args=("-c", dying))}
        async with McpLoader(servers) as loader:
            registry = Registry()
            registry.add(loader.operations)
            asked = [("two.fail", {"why": "x"}), ("two.price", {"id": 1}), ("one.price", {"id": 1})]
            return [await registry.execute(name, given, time_limit=20) for name, given in asked]

    died, later, other = anyio.run(main)
    assert [one.error and one.error.code for one in (died, later, other)] == ["UNAVAILABLE", "UNAVAILABLE", None]


def test_a_server_that_says_nothing_is_given_up() -> None:
    async def main() -> McpLoader:
        mute = McpConfig(command=sys.executable, args=("-c", "import sys; sys.stdin.read()"))
        async with McpLoader({"mute": mute}, connect_seconds=0.2) as loader:
            assert loader.operations == []
            return loader

    assert anyio.run(main).failures["mute"].code == "TIMEOUT"


def test_a_server_is_reached_in_exactly_one_way() -> None:
    for wrong in ({}, {"command": "x", "url": "http://x"}):
        with pytest.raises(ValueError, match="exactly one of the two"):
            McpConfig(**wrong)  # type: ignore[arg-type]  # that is the case
    assert "secret" not in repr(McpConfig(url="http://x", headers={"Authorization": "secret"}))


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


@pytest.mark.parametrize(
    ("result", "has_schema", "data"),
    [
        ({"structuredContent": {"a": 1}, "content": [text("x")]}, True, {"a": 1}),
        ({"content": [text('{"a": 1}')]}, True, {"a": 1}),
        ({"content": [text('{"a": 1}')]}, False, [text('{"a": 1}')]),
        ({"content": [text('{"b": 1}')]}, True, [text('{"b": 1}')]),
        ({"content": [text("plain")]}, True, [text("plain")]),
        (
            {"content": [{"type": "image", "data": "", "mimeType": "image/png"}]},
            True,
            [{"type": "image", "data": "", "mimeType": "image/png"}],
        ),
        ({}, True, []),
    ],
)
def test_data_is_what_the_result_says_most_clearly(result: Any, has_schema: bool, data: Any) -> None:
    accepts = (lambda value: "a" in value) if has_schema else None
    assert read_tool_result(result, accepts).data == data


@pytest.mark.parametrize(
    ("result", "code", "message"),
    [
        ({"isError": True, "content": [text("it broke")]}, "INTERNAL_ERROR", "it broke"),
        (
            {"isError": True, "content": [text('{"error": {"error": "no", "error_code": "not_found"}}')]},
            "NOT_FOUND",
            "no",
        ),
        ({"isError": True, "content": []}, "INTERNAL_ERROR", "The tool 'find' failed and did not say why."),
        ({"isError": True, "content": [text("429 Too Many Requests")]}, "RATE_LIMITED", "429 Too Many Requests"),
    ],
)
def test_an_error_stays_in_the_envelope(result: Any, code: str, message: str) -> None:
    envelope = read_tool_result(result, tool="find")
    assert envelope.error is not None
    assert (envelope.error.code, envelope.error.message, envelope.ok) == (code, message, False)
    assert envelope.error.hint is not None


def test_a_tool_whose_schema_makes_no_sense_takes_anything(caplog: pytest.LogCaptureFixture) -> None:
    from shaping.operations.adapters import McpServer

    tools = [{"name": "odd", "inputSchema": {"type": "nonsense"}, "outputSchema": {"$ref": "http://x/y"}}]
    ((spec, _),) = McpServer("s", None, tools).operations
    assert (spec.input.json, spec.output.json) == ({}, {})
    assert "cannot be used" in caplog.text


def test_without_the_sdk_there_is_an_instruction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastmcp.client.transports", None)

    async def main() -> None:
        async with from_mcp("x", McpConfig(url="http://127.0.0.1:1")):
            pass

    with pytest.raises(ImportError, match=r'pip install "shaping\[mcp\]"'):
        anyio.run(main)


ODD = str(Path(__file__).parents[1] / "servers" / "odd_server.py")


def odd(name: str) -> Envelope[Any]:
    async def main() -> Envelope[Any]:
        async with from_mcp("odd", stdio(ODD)) as server:
            registry = Registry()
            registry.add(server.operations)
            return await registry.execute(f"odd.{name}")

    return anyio.run(main)


def test_a_block_of_a_type_that_nobody_knows_is_passed_on() -> None:
    envelope = odd("hologram")
    assert (envelope.error, envelope.data) == (
        None,
        [{"type": "hologram", "frames": [1, 2]}, {"type": "text", "text": "seen"}],
    )


def test_a_link_to_a_resource_that_the_server_does_not_list_is_passed_on() -> None:
    assert odd("link").data == [{"type": "resource_link", "uri": "secret://not-listed", "name": "elsewhere"}]


def test_an_error_keeps_its_blocks_as_data_and_its_text_as_message() -> None:
    envelope = odd("fail")
    assert envelope.error is not None
    assert envelope.error.message == "disk is full"
    assert [block["type"] for block in envelope.data] == ["text", "resource_link"]
    assert envelope.meta.model_dump()["is_error"] is True


def test_a_tool_that_only_runs_as_a_task_is_waited_for() -> None:
    assert odd("later").data == [{"type": "text", "text": "done later"}]


def test_a_tool_that_asks_for_input_is_an_error_that_says_so() -> None:
    error = odd("ask").error
    assert error is not None
    assert (error.code, "asks its user for input" in error.message) == ("PRECONDITION", True)
