from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types
import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import FastMCPTransport
from mcp.shared.exceptions import MCPError

from shaping.errors import make_error
from shaping.mcp.fastmcp import ShapingMiddleware
from shaping.proxy.former.backend import Backend
from shaping.proxy.former.child import Child
from shaping.proxy.former.configured import command_backend, url_backend
from shaping.proxy.former.front import Front
from shaping.proxy.former.outage import ServerUnavailableError, reason
from shaping.proxy.former.proxy import Proxy
from shaping.proxy.former.remote import door_of, remote_transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.anyio
TINY = [sys.executable, str(Path(__file__).parents[1] / "servers" / "tiny_server.py")]
TOKEN = "ghp_" + "0123456789" * 3 + "012345"
DESKTOP = "Install it, or give its whole path: a client started from a desktop has another PATH than your shell."
SILENT = (
    "Check that the command is an MCP server on its standard input and output; "
    "give one that is slow to start more time with --start-timeout."
)


def proxied(*backends: Backend) -> Proxy:
    return Proxy(backends, [ShapingMiddleware({}, expand=False)])


def shell(script: str, name: str = "sh", *, seconds: float = 60.0, **options: Any) -> Backend:
    backend = command_backend(["sh", "-c", script], name, log=io.StringIO(), **options)
    backend.seconds = seconds
    return backend


async def refusal(backend: Backend, mode: Any = "legacy") -> tuple[int, Any]:
    client = Client(proxied(backend), mode=mode)
    with pytest.raises(MCPError) as caught:
        await client.__aenter__()  # type: ignore[no-untyped-call]  # FastMCP does not annotate it
    data = caught.value.error.data
    assert data["message"] in caught.value.error.message
    assert data["hint"] in caught.value.error.message
    return caught.value.error.code, data


def unavailable(message: str, hint: str, **more: Any) -> tuple[int, dict[str, Any]]:
    detail = {"code": "UNAVAILABLE", "message": message, "hint": hint, "retryable": True, "http": 503}
    return mcp_types.INTERNAL_ERROR, detail | more


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_program_that_is_not_there_is_named_with_what_to_do(mode: str) -> None:
    backend = command_backend(["/no/such/program"], "ghost")
    if mode == "legacy":
        said = await refusal(backend)
    else:
        with pytest.raises(ServerUnavailableError) as caught:
            await backend.link(Front("f", modern=True, info=None, capabilities=mcp_types.ClientCapabilities()))
        said = caught.value.error.code, caught.value.error.data
    message = "the server 'ghost' could not be started: there is no program '/no/such/program'"
    assert said == unavailable(message, DESKTOP)


async def test_a_program_that_cannot_be_run_is_told_from_one_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "server"
    file.write_text("no program")
    message = f"the server 'server' could not be started: {str(file)!r} cannot be executed"
    hint = "Make it executable (chmod +x), or name the program that runs it."
    assert await refusal(command_backend([str(file)])) == unavailable(message, hint)


async def test_a_directory_that_is_not_there_is_told_from_a_program_that_is_not() -> None:
    message = "the server 'sh' could not be started: there is no directory '/no/such/place'"
    assert await refusal(shell("cat", cwd="/no/such/place")) == unavailable(message, "Correct its cwd.")


async def test_a_server_that_ends_at_once_is_quoted_without_its_secrets() -> None:
    script = f"echo starting >&2; echo 'no such token: {TOKEN}' >&2; exit 7"
    said = await refusal(shell(script))
    lines = "\n  starting\n  no such token: [redacted:github-token]"
    message = f"the server 'sh' ended with exit code 7 before it answered:{lines}"
    assert said == unavailable(message, "Run its command by itself in a terminal and mend what it says.")


async def test_a_server_that_says_nothing_the_protocol_knows_is_given_up_and_quoted() -> None:
    for seconds in (2, 10, 40):  # more where a slow machine did not even start it in time
        said = await refusal(shell("echo hello; echo world; exec sleep 600", seconds=seconds))
        if "world" in said[1]["message"]:
            break
    message = f"the server 'sh' did not answer within {seconds} s, and printed:\n  hello\n  world"
    assert said == unavailable(message, SILENT)


async def test_a_server_that_hangs_is_given_up_and_ended(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    for seconds in (2, 10, 40):
        said = await refusal(shell(f"echo $$ > {file}; exec sleep 600", seconds=seconds))
        if file.exists() and file.read_text():
            break
    assert said == unavailable(f"the server 'sh' did not answer within {seconds} s", SILENT)
    await until(lambda: not lives(int(file.read_text())))


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_a_server_that_refuses_the_handshake_is_quoted() -> None:
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "no licence"}}
    script = f"import json,sys\nline=json.loads(sys.stdin.readline())\nprint(json.dumps({error!r}|dict(id=line['id'])))"
    program = f"{script}\nsys.stdout.flush(); sys.stdin.read()"
    _, data = await refusal(command_backend([sys.executable, "-c", program], "picky"))
    assert data["message"] == "the server 'picky' would not start a session: no licence"


@contextmanager
def answering(status: int) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        do_GET = do_POST  # noqa: N815 - the name the base class looks for

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


LET_IN = "Give it a token: --header 'Authorization: Bearer ...', `headers` in the list of servers, or --oauth."
PATH = "Correct the address: it usually ends in /mcp, or in /sse for the older transport (--transport sse)."


@pytest.mark.parametrize("path", ["mcp", "sse"])
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (401, {"code": "AUTH_REQUIRED", "hint": LET_IN, "retryable": False, "http": 401}),
        (403, {"code": "PERMISSION_DENIED", "hint": LET_IN, "retryable": False, "http": 403}),
        (404, {"code": "UNAVAILABLE", "hint": PATH, "retryable": True, "http": 503}),
        (500, {"code": "UNAVAILABLE", "hint": "Start it, or correct the address.", "retryable": True, "http": 503}),
    ],
)
async def test_an_address_that_sends_us_away_is_told_by_its_status(path: str, status: int, expected: Any) -> None:
    with answering(status) as address:
        code, data = await refusal(url_backend(f"{address}/{path}?key={TOKEN}"))
    message = f"the server at {address}/{path} answered with HTTP status {status}"
    assert (code, data) == (mcp_types.INTERNAL_ERROR, expected | {"message": message})


@pytest.mark.parametrize(("path", "refused"), [("mcp", None), ("sse", 404)])
async def test_a_stream_for_news_that_a_server_does_not_have_is_no_refusal(path: str, refused: int | None) -> None:
    with answering(404) as address:
        door = door_of(remote_transport(f"{address}/{path}"))
        assert door is not None
        async with door() as client:
            await client.get(address)
            assert door.refused == refused
            await client.post(address)
            assert door.refused == 404


def test_an_error_that_quotes_an_address_is_told_without_what_is_secret_in_it() -> None:
    transport = remote_transport("http://me:secret@example.com/mcp?key=k1")
    said = "Redirect of http://me:secret@example.com/mcp?key=k1 to https://example.com/mcp?key=k1 not followed"
    assert reason("tracker", transport, RuntimeError(said)).message == (
        "the server 'tracker' at http://example.com/mcp cannot be reached: "
        "Redirect of http://example.com/mcp to https://example.com/mcp not followed"
    )
    transport = remote_transport("http://example.com/s/MmM4ZDkxOTItYzYyMS00/mcp")
    said = "Redirect of http://example.com/s/MmM4ZDkxOTItYzYyMS00/mcp to /s/MmM4ZDkxOTItYzYyMS00/mcp/ not followed"
    assert reason("tracker", transport, RuntimeError(said)).message == (
        "the server 'tracker' at http://example.com/s/…/mcp cannot be reached: "
        "Redirect of http://example.com/s/…/mcp to /s/…/mcp/ not followed"
    )


async def test_an_address_where_nobody_listens_is_told_without_what_is_secret_in_it() -> None:
    _, data = await refusal(url_backend("http://me:secret@127.0.0.1:9/mcp?key=k", "tracker"))
    assert data["message"] == (
        "the server 'tracker' at http://127.0.0.1:9/mcp cannot be reached: All connection attempts failed"
    )


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def remote(port: int) -> Iterator[None]:
    script = (
        "from fastmcp import FastMCP; import os; m = FastMCP('r'); m.tool(name='pid')(lambda: os.getpid());"
        f"m.run('http', host='127.0.0.1', port={port}, show_banner=False, log_level='CRITICAL')"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not listens(port):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_remote_server_that_was_away_is_reached_again_by_the_next_call(
    mode: Any, free_port: Callable[[], int]
) -> None:
    port = free_port()

    async def pid(client: Client[Any]) -> Any:
        result: Any = await client.call_tool("pid", {}, raise_on_error=False)
        return result.content[0].text

    answers = []
    with remote(port):
        client = Client(proxied(url_backend(f"http://127.0.0.1:{port}/mcp", "r")), mode=mode)
        await client.__aenter__()  # type: ignore[no-untyped-call]  # FastMCP does not annotate it
        answers.append(await pid(client))
    answers.append(await pid(client))
    with remote(port), anyio.fail_after(60):
        answers.append(await pid(client))
        # A server that forgot the session refuses one call, which tells us.
        while "UNAVAILABLE" in answers[-1]:
            await anyio.sleep(0.1)
            answers.append(await pid(client))
        await client.__aexit__(None, None, None)  # type: ignore[no-untyped-call]  # the same
    assert answers[1].startswith("UNAVAILABLE: ")
    assert int(answers[0]) != int(answers[-1])


def named(tool: str) -> Backend:
    server: FastMCP[Any] = FastMCP(tool)
    server.tool(name=tool)(lambda: tool)
    return Backend(tool, lambda: FastMCPTransport(server))


async def until(condition: Any) -> None:
    with anyio.fail_after(60):
        while not condition():  # noqa: ASYNC110 - what is waited for comes without an event
            await anyio.sleep(0.02)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_one_server_that_cannot_start_does_not_take_the_others_along(
    mode: Any, caplog: pytest.LogCaptureFixture
) -> None:
    ghost = command_backend(["/no/such/program"], "ghost")
    async with Client(proxied(ghost, named("a")), mode=mode) as client:
        listed = [[tool.name for tool in await client.list_tools()] for _ in range(2)]
        answer = await client.call_tool("a", {})
        assert await client.list_resources() == []
    assert (listed, answer.content[0].text) == ([["a"], ["a"]], "a")
    lines = [record.getMessage() for record in caplog.records if record.name == "shaping"]
    assert lines == [f"the server 'ghost' could not be started: there is no program '/no/such/program'. {DESKTOP}"]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_server_that_hangs_does_not_hold_up_the_others(
    mode: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("shaping.proxy.former.servers._PATIENCE", 0.2)
    async with Client(proxied(shell("exec sleep 600", "slow", seconds=600), named("a")), mode=mode) as client:
        names = [tool.name for tool in await client.list_tools()]
        answer = await client.call_tool("a", {})
        assert await client.list_prompts() == []
    assert (names, answer.content[0].text) == (["a"], "a")
    lines = [record.getMessage() for record in caplog.records if record.name == "shaping"]
    assert lines == ["the server 'slow' is slow to start and left out until it answers"]


async def test_a_server_that_refuses_a_list_is_left_out_of_it_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    odd: FastMCP[Any] = FastMCP("odd")

    async def refuse(*_: Any) -> Any:
        raise MCPError(code=-32050, message="no tools today")

    odd._mcp_server.add_request_handler("tools/list", mcp_types.PaginatedRequestParams, refuse)
    backends = (Backend("odd", lambda: FastMCPTransport(odd)), named("a"))
    async with Client(proxied(*backends), mode="legacy") as client:
        names = [[tool.name for tool in await client.list_tools()] for _ in range(2)]
    assert names == [["a"], ["a"]]
    lines = [record.getMessage() for record in caplog.records if record.name == "shaping"]
    assert lines == ["the server 'odd' is left out: no tools today"]


_open_handle = getattr(os, "pidfd_open", None)


def _unknown_call(pid: int, flags: int = 0) -> Any:
    # From Python 3.12 on, asyncio asks for a handle of its own and has looked before whether it may.
    if _open_handle is not None and sys._getframe(1).f_globals["__name__"].startswith("asyncio"):
        return _open_handle(pid, flags)
    raise OSError(errno.ENOSYS, "Function not implemented")


@pytest.mark.parametrize("handles", ["given", "refused by an old kernel", "unknown to this system"])
async def test_a_server_that_dies_while_a_descendant_holds_its_pipes_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, handles: str
) -> None:
    monkeypatch.setattr("shaping.proxy.former.child._HAS_HANDLES", not handles.startswith("unknown"))
    if handles.startswith("refused"):
        monkeypatch.setattr(os, "pidfd_open", _unknown_call)
    file = tmp_path / "pid"
    script = f'sleep 600 & echo $! > {file}; exec "$0" "$@"'
    backend = command_backend(["sh", "-c", script, *TINY], "tiny", log=io.StringIO())
    with anyio.fail_after(60):
        async with Client(proxied(backend), mode="legacy") as client:
            died: Any = await client.call_tool("die", {}, raise_on_error=False)
            again: Any = await client.call_tool("pid", {})
    assert died.content[0].text == "UNAVAILABLE: the server 'tiny' ended with exit code 3: out of memory"
    assert json.loads(again.content[0].text)["pid"]


async def test_a_proxy_says_why_no_server_was_ever_reached() -> None:
    proxy = proxied(command_backend(["/no/such/program"], "ghost"), named("a"))
    front = Front("f", modern=False, info=None, capabilities=mcp_types.ClientCapabilities())
    assert proxy.outage is None
    with pytest.raises(ServerUnavailableError):
        await proxy.backends[0].link(front)
    assert proxy.outage is not None
    assert proxy.outage.startswith("the server 'ghost' could not be started")
    await proxy.backends[1].link(front)
    assert proxy.outage is None
    await proxy.end()


async def test_a_server_that_comes_late_is_announced_and_its_tools_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shaping.proxy.former.servers._PATIENCE", 0.2)
    flag = tmp_path / "go"
    script = f'while test ! -f {flag}; do sleep 0.05; done; exec "$0" "$@"'
    late = command_backend(["sh", "-c", script, *TINY], "late")
    heard: list[str] = []

    async def hear(message: Any) -> None:
        heard.append(type(message).__name__)

    async with Client(proxied(late, named("a")), mode="legacy", message_handler=hear) as client:
        before = [tool.name for tool in await client.list_tools()]
        flag.touch()
        await until(lambda: "ToolListChangedNotification" in heard)
        after = [tool.name for tool in await client.list_tools()]
        answer: Any = await client.call_tool("pid", {})
    assert (before, after[-1], len(after)) == (["a"], "a", 7)
    assert json.loads(answer.content[0].text)["pid"]


async def test_a_server_that_could_not_start_is_tried_again_by_a_later_call_of_another(tmp_path: Path) -> None:
    flag = tmp_path / "go"
    script = f'test -f {flag} || exit 9; exec "$0" "$@"'
    late = command_backend(["sh", "-c", script, *TINY], "late")
    heard: list[str] = []

    async def hear(message: Any) -> None:
        heard.append(type(message).__name__)

    async with Client(proxied(named("a"), late), mode="legacy", message_handler=hear) as client:
        before = [tool.name for tool in await client.list_tools()]
        flag.touch()
        with anyio.fail_after(60):
            while "ToolListChangedNotification" not in heard:
                assert (await client.call_tool("a", {})).content[0].text == "a"
                await anyio.sleep(0.1)
        after = [tool.name for tool in await client.list_tools()]
    assert (before, len(after)) == (["a"], 7)


async def test_a_late_server_of_the_older_protocol_serves_a_client_of_the_newer(tmp_path: Path) -> None:
    flag = tmp_path / "go"
    script = f'test -f {flag} || exit 9; exec "$0" "$@"'
    late = command_backend(["sh", "-c", script, *TINY], "late")
    async with Client(proxied(named("a"), late), mode="auto") as client:
        assert [tool.name for tool in await client.list_tools()] == ["a"]
        flag.touch()
        with anyio.fail_after(60):
            while len(await client.list_tools()) == 1:  # noqa: ASYNC110 - this protocol tells of it by subscription only
                await anyio.sleep(0.1)
        answer: Any = await client.call_tool("pid", {})
    assert json.loads(answer.content[0].text)["pid"]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_where_no_server_can_start_every_reason_is_told(mode: Any) -> None:
    ghosts = [command_backend([f"/no/such/{name}"], name) for name in "ab"]
    with pytest.raises(MCPError) as caught:
        async with Client(proxied(*ghosts), mode=mode) as client:
            await client.list_tools()
    assert caught.value.error.message.splitlines()[:2] == [
        "none of the servers can be used:",
        "the server 'a' could not be started: there is no program '/no/such/a'",
    ]
    assert "there is no program '/no/such/b'" in caught.value.error.message


async def test_servers_that_are_all_slow_are_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaping.proxy.former.servers._PATIENCE", 0.2)
    flag = tmp_path / "go"
    script = f'while test ! -f {flag}; do sleep 0.05; done; exec "$0" "$@"'
    slow = [command_backend(["sh", "-c", script, *TINY], name) for name in "ab"]
    async with Client(proxied(*slow), mode="legacy") as client:
        listing = asyncio.create_task(client.list_tools())
        await until(lambda: all(backend.away for backend in slow))
        await anyio.sleep(0.5)
        assert not listing.done()
        flag.touch()
        with anyio.fail_after(60):
            names = [tool.name for tool in await listing]
    assert names


async def test_servers_that_are_all_slow_are_not_asked_without_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaping.proxy.former.servers._PATIENCE", 0.0)
    asked: list[str] = []
    link = Backend.link

    async def counted(backend: Backend, front: Front) -> Any:
        asked.append(backend.name)
        return await link(backend, front)

    monkeypatch.setattr(Backend, "link", counted)
    slow = [shell("exec sleep 600", name, seconds=1.5) for name in "ab"]
    with pytest.raises(MCPError, match="none of the servers can be used"):
        async with Client(proxied(*slow), mode="legacy") as client:
            await client.list_tools()
    # Some dozens in those seconds; without a pause it is as many as the machine can do.
    assert len(asked) < 1000


async def test_a_server_left_alone_says_again_why() -> None:
    backend = command_backend(["/no/such/program"], "ghost")
    front = Front("f", modern=False, info=None, capabilities=mcp_types.ClientCapabilities())
    messages: list[str] = []
    while not messages or (len(messages) < 8 and "left alone" not in messages[-1]):
        with pytest.raises(ServerUnavailableError) as caught:
            await backend.link(front)
        messages.append(caught.value.detail.message)
    assert caught.value.detail.retry_after is not None
    assert caught.value.detail.hint == DESKTOP
    first, second, *_, last = messages
    assert (first, last.splitlines()[0]) == (second, first)
    assert "It is left alone for " in last


async def test_a_server_that_ends_while_it_starts_is_not_waited_for() -> None:
    backend = shell("exec sleep 600", seconds=600)
    front = Front("f", modern=False, info=None, capabilities=mcp_types.ClientCapabilities())
    asked = asyncio.create_task(backend.link(front))
    await until(lambda: backend.away)
    await backend.close()
    with anyio.fail_after(60), pytest.raises(ServerUnavailableError):
        await asked
    backend.ended = True
    backend.nudge(front)
    assert not backend.away


async def test_a_server_given_up_while_its_process_is_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, made, begun = tmp_path / "pid", anyio.open_process, anyio.Event()

    async def slowly(*command: Any, **options: Any) -> Any:
        process = await made(*command, **options)
        begun.set()
        await until(lambda: file.exists() and bool(file.read_text()))
        return process

    monkeypatch.setattr(anyio, "open_process", slowly)
    child = Child(["sh", "-c", f"sleep 600 & echo $! > {file}; wait"], name="n", log=io.StringIO())
    connecting = asyncio.create_task(child.connect_session().__aenter__())
    await begun.wait()
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting
    await until(lambda: not lives(int(file.read_text())))


async def test_other_ends_are_told_as_they_are() -> None:
    child = Child(["x"], name="n")
    assert child.obituary == "the server 'n' closed its output"
    assert reason("n", child, OSError("x")).message == child.obituary
    assert reason("n", object(), OSError("x")).message == "the server 'n' is gone: x"
    child.problem = OSError(7, "too long")
    assert reason("n", child, child.problem, seconds=1).message.endswith("could not be started: [Errno 7] too long")
    assert ServerUnavailableError(make_error("UNAVAILABLE", "gone", retry_after=2.0)).detail.retry_after == 2.0
