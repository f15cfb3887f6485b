from __future__ import annotations

import asyncio
import io
import json
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
from fastmcp import Client, Context, FastMCP
from fastmcp.client.transports import FastMCPTransport
from mcp.shared.exceptions import MCPError

from shaping.mcp.fastmcp import ShapingMiddleware
from shaping.proxy.former.backend import Backend
from shaping.proxy.former.configured import command_backend
from shaping.proxy.former.front import Front
from shaping.proxy.former.proxy import Proxy

pytestmark = pytest.mark.anyio
TINY = [sys.executable, str(Path(__file__).parents[1] / "servers" / "tiny_server.py")]


def tiny(*arguments: str, **options: Any) -> Backend:
    return command_backend([*TINY, *arguments], "tiny", **options)


def proxied(*backends: Backend) -> Proxy:
    return Proxy(backends, [ShapingMiddleware({}, expand=False)])


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def call(client: Client[Any], name: str, /, **arguments: Any) -> Any:
    result: Any = await client.call_tool(name, arguments, raise_on_error=False)
    if result.is_error:
        return {"error": result.meta["shaping/error"], "text": result.content[0].text}
    return json.loads(result.content[0].text)


async def test_a_server_that_prints_on_its_protocol_stream_works_and_its_lines_are_log() -> None:
    log = io.StringIO()
    async with Client(proxied(tiny(log=log))) as client:
        answer = await call(client, "noise")
    assert answer["pid"]
    # Each stream keeps its order; nobody knows which of two is read first.
    assert sorted(log.getvalue().splitlines()) == [
        "[tiny] [info] a log line on the right one",
        "[tiny] [info] a log line on the wrong stream",
        "[tiny] {not json either",
    ]


async def test_a_child_gets_our_environment_and_its_own() -> None:
    backend = tiny(env={"TINY_TOKEN": "t"}, cwd="/")
    async with Client(proxied(backend)) as client:
        answer = await call(client, "where")
    assert (answer["token"], answer["cwd"]) == ("t", "/")


async def test_a_child_that_dies_is_unavailable_and_restarted_at_the_next_call() -> None:
    async with Client(proxied(tiny())) as client:
        before = await call(client, "pid")
        died = await call(client, "die")
        after = await call(client, "pid")
    assert died["text"] == "UNAVAILABLE: the server 'tiny' ended with exit code 3: out of memory"
    assert before["pid"] != after["pid"]


async def test_a_child_that_keeps_dying_is_left_alone_for_a_while() -> None:
    async with Client(proxied(tiny())) as client:
        for _ in range(7):
            last = await call(client, "die")
            if "left alone" in last["error"]["message"]:  # the while doubles; a slow machine may outlast the first ones
                break
    assert last["error"]["code"] == "UNAVAILABLE"
    assert last["error"]["retry_after"] > 0
    assert "left alone" in last["error"]["message"]


async def test_a_protocol_error_passes_untouched() -> None:
    async with Client(proxied(tiny())) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("refuse", {})
    assert (caught.value.error.code, caught.value.error.message) == (-32050, "not today")
    assert caught.value.error.data == {"why": "rain"}


async def test_an_error_with_the_number_of_a_lost_connection_does_not_cost_the_connection() -> None:
    async with Client(proxied(tiny())) as client:
        before = await call(client, "pid")
        with pytest.raises(MCPError, match="busy"):
            await client.call_tool("refuse", {"code": -32000, "message": "busy"})
        after = await call(client, "pid")
    assert before["pid"] == after["pid"]


async def test_children_end_with_the_proxy_even_if_they_refuse_to() -> None:
    backend = tiny("--stubborn")
    async with Client(proxied(backend)) as client:
        pid = (await call(client, "pid"))["pid"]
    with anyio.fail_after(30):  # it would stay for a minute
        while lives(pid):  # noqa: ASYNC110 - a death is no event
            await anyio.sleep(0.05)


def names(prefix: str) -> FastMCP[Any]:
    server: FastMCP[Any] = FastMCP(prefix, instructions=f"instructions of {prefix}")

    @server.tool
    def shared() -> str:
        return f"{prefix} shared"

    server.tool(name=f"only_{prefix}")(lambda: f"{prefix} alone")
    server.resource(f"data://{prefix}", name="data")(lambda: f"{prefix} data")
    server.resource(f"data://{prefix}/{{name}}", name="named")(lambda name: f"{prefix} {name}")

    @server.prompt
    def hello() -> str:
        return f"hello from {prefix}"

    server.prompt(name=f"hello_{prefix}_only")(lambda: prefix)

    async def complete(ref: Any, argument: Any, context: Any) -> list[str]:
        return [f"{prefix} {argument.value}"]

    server.completion(complete)
    return server


def within(name: str, server: FastMCP[Any]) -> Backend:
    return Backend(name, lambda: FastMCPTransport(server))


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_several_servers_stand_side_by_side_and_only_what_collides_is_renamed(mode: str) -> None:
    async with Client(proxied(within("a", names("a")), within("b", names("b"))), mode=mode) as client:
        tools = sorted(tool.name for tool in await client.list_tools())
        prompts = sorted(prompt.name for prompt in await client.list_prompts())
        answers = [(await client.call_tool(name, {})).content[0].text for name in tools]
        resources = [str(resource.uri) for resource in await client.list_resources()]
        read = [(await client.read_resource(uri))[0].text for uri in ("data://b", "data://a/x")]
        said = await client.get_prompt("b_hello", {})
        completed = await client.complete(
            mcp_types.ResourceTemplateReference(uri="data://b/{name}"), {"name": "name", "value": "v"}
        )
        await client.complete(mcp_types.ResourceTemplateReference(uri="data://b"), {"name": "name", "value": "v"})
        prompted = await client.complete(mcp_types.PromptReference(name="hello_b_only"), {"name": "n", "value": "w"})
        unclaimed = await client.complete(mcp_types.PromptReference(name="nobody"), {"name": "n", "value": "x"})
    assert tools == ["a_shared", "b_shared", "only_a", "only_b"]
    assert prompts == ["a_hello", "b_hello", "hello_a_only", "hello_b_only"]
    assert answers == ["a shared", "b shared", "a alone", "b alone"]
    assert (resources, read) == (["data://a", "data://b"], ["b data", "a x"])
    assert "hello from b" in str(said.messages)
    assert [completed.values, prompted.values, unclaimed.values] == [["b v"], ["b w"], ["a x"]]


async def test_a_single_server_lends_the_proxy_its_name_and_instructions() -> None:
    async with Client(proxied(within("x", names("a")))) as client:
        assert client.server_info is not None
        assert (client.server_info.name, client.instructions) == ("a", "instructions of a")


async def test_progress_goes_to_the_call_it_belongs_to_even_among_many() -> None:
    server: FastMCP[Any] = FastMCP("p")

    @server.tool
    async def work(ctx: Context, n: int) -> int:
        await ctx.report_progress(n, 100)
        with anyio.move_on_after(60):
            while len(seen) < 10:  # noqa: ASYNC110 - all calls are under way at once
                await anyio.sleep(0.01)
        return n

    seen: dict[int, list[float]] = {}

    async def one(client: Client[Any], n: int) -> None:
        async def hear(progress: float, total: float | None, message: str | None) -> None:
            seen.setdefault(n, []).append(progress)

        await client.call_tool("work", {"n": n}, progress_handler=hear)

    async with Client(proxied(within("p", server)), mode="legacy") as client, anyio.create_task_group() as tasks:
        for n in range(10):
            tasks.start_soon(one, client, n)
    assert seen == {n: [n] for n in range(10)}


async def test_a_cancelled_call_is_cancelled_at_its_server() -> None:
    server: FastMCP[Any] = FastMCP("c")
    begun, cancelled = anyio.Event(), anyio.Event()

    @server.tool
    async def wait() -> str:
        begun.set()
        try:
            await anyio.sleep(600)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "late"

    async with Client(proxied(within("c", server)), mode="legacy") as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "wait", {})
            await begun.wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(60):
            await cancelled.wait()


async def test_news_of_a_changed_tool_list_reaches_the_client_and_the_new_tool_works() -> None:
    server = names("n")

    @server.tool
    async def grow(ctx: Context) -> str:
        server.tool(name="grown")(lambda: "new")
        await ctx.session.send_tool_list_changed()
        return "ok"

    heard: list[str] = []

    async def hear(message: Any) -> None:
        heard.append(type(message).__name__)

    async with Client(proxied(within("n", server)), mode="legacy", message_handler=hear) as client:
        await client.list_tools()
        await client.call_tool("grow", {})
        grown = await client.call_tool("grown", {})
        with anyio.move_on_after(60):
            while "ToolListChangedNotification" not in heard:  # noqa: ASYNC110 - the list is looked at below
                await anyio.sleep(0.01)
    assert grown.content[0].text == "new"
    assert "ToolListChangedNotification" in heard


async def test_a_question_back_to_the_user_passes_in_both_generations() -> None:
    server: FastMCP[Any] = FastMCP("q")

    @server.tool
    async def older(ctx: Context) -> str:
        answer = await ctx.elicit("Name?", response_type=str)
        return f"hello {getattr(answer, 'data', None)}"

    async def answer(*_: Any) -> Any:
        return {"value": "Ada"}

    async with Client(proxied(within("q", server)), mode="legacy", elicitation_handler=answer) as client:
        result = await client.call_tool("older", {})
    assert result.content[0].text == "hello Ada"


async def test_a_client_that_refuses_a_request_is_passed_on_as_refusing() -> None:
    server: FastMCP[Any] = FastMCP("r")

    @server.tool
    async def ask(ctx: Context) -> str:
        try:
            await ctx.elicit("Name?", response_type=str)
        except MCPError as error:
            return f"refused: {error}"
        return "answered"

    async def refuse(*_: Any) -> Any:
        raise RuntimeError("no user here")

    async with Client(proxied(within("r", server)), mode="legacy", elicitation_handler=refuse) as client:
        result = await client.call_tool("ask", {})
    assert result.content[0].text.startswith("refused")


async def test_roots_that_change_are_told_to_the_server() -> None:
    server: FastMCP[Any] = FastMCP("r")
    told = anyio.Event()

    async def hear(*_: Any) -> None:
        told.set()

    server._mcp_server.add_notification_handler("notifications/roots/list_changed", mcp_types.NotificationParams, hear)
    async with Client(proxied(within("r", server)), mode="legacy", roots=["file:///a"]) as client:
        await client.list_tools()
        await client.session.send_notification(mcp_types.RootsListChangedNotification())
        with anyio.fail_after(60):
            await told.wait()


async def test_a_server_whose_connection_is_lost_is_reached_again() -> None:
    backend = within("x", names("a"))
    async with Client(proxied(backend), mode="legacy") as client:
        await client.list_tools()
        [link] = backend._links.values()
        backend.bury(link)
        assert (await client.call_tool("shared", {})).content[0].text == "a shared"


async def test_clients_that_never_say_goodbye_are_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaping.proxy.former.backend._MOST_LINKS", 2)
    backend = within("x", names("a"))
    for n in range(4):
        info = mcp_types.Implementation(name=f"client {n}", version="1")
        await backend.link(Front(n, modern=True, info=info, capabilities=mcp_types.ClientCapabilities()))
    assert [*backend._links] == [2, 3]
    backend._links[2].used = -1e9
    await backend.link(Front(4, modern=True, info=None, capabilities=mcp_types.ClientCapabilities()))
    assert [*backend._links] == [3, 4]
    await backend.close()


async def test_a_client_in_a_call_is_never_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaping.proxy.former.backend._MOST_LINKS", 1)
    backend = within("x", names("a"))
    fronts = [Front(n, modern=True, info=None, capabilities=mcp_types.ClientCapabilities()) for n in range(3)]
    busy = await backend.link(fronts[0])
    busy.relay.active.append(None)  # type: ignore[arg-type]  # that there is a call is all that counts
    for front in fronts[1:]:
        assert (await backend.link(front)).usable
    assert [*backend._links] == [0, 2]
    await backend.close()


async def test_the_only_server_that_does_not_come_back_is_told_of(tmp_path: Path) -> None:
    flag = tmp_path / "gone"
    script = f'test -f {flag} && exit 7; exec "$0" "$@"'
    async with Client(proxied(command_backend(["sh", "-c", script, *TINY], "tiny")), mode="legacy") as client:
        assert await client.list_resources() == []
        flag.touch()
        await call(client, "die")
        with pytest.raises(MCPError, match="'tiny' ended with exit code 7"):
            await client.list_tools()
        with pytest.raises(MCPError):
            await client.read_resource("data://x")
        answer = await call(client, "pid")
    assert answer["error"]["code"] == "UNAVAILABLE"


async def test_a_server_that_knows_no_log_levels_is_not_troubled() -> None:
    async with Client(proxied(tiny()), mode="legacy") as client:
        await client.list_tools()
        request = mcp_types.SetLevelRequest(params=mcp_types.SetLevelRequestParams(level="error"))
        await client.session.send_request(request, mcp_types.EmptyResult)
