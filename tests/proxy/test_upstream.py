"""What a client is told of a server that cannot start, hangs, dies or refuses, and how it comes back."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from shaping.proxy import outage
from shaping.proxy.upstream import Backoff, Child, command_server

if TYPE_CHECKING:
    from tests.proxy.conftest import Connect

pytestmark = pytest.mark.anyio
TINY = [sys.executable, str(Path(__file__).parents[1] / "servers" / "tiny_server.py")]
TOKEN = "ghp_" + "0123456789" * 3 + "012345"
DESKTOP = "Install it, or give its whole path: a client started from a desktop has another PATH than your shell."
SILENT = (
    "Check that the command is an MCP server on its standard input and output; "
    "give one that is slow to start more time with --start-timeout."
)


def tiny(*arguments: str, **options: Any) -> Any:
    return command_server([*TINY, *arguments], "tiny", **options)


def shell(script: str, **options: Any) -> Any:
    return command_server(["sh", "-c", script], "sh", **options)


def unavailable(message: str, hint: str, **more: Any) -> tuple[int, dict[str, Any]]:
    detail = {"code": "UNAVAILABLE", "message": message, "hint": hint, "retryable": True, "http": 503}
    return -32603, detail | more


async def refusal(connect: Connect, make: Any) -> tuple[int, Any]:
    """Greet a server that cannot be greeted, and give what is said of it."""
    async with connect(make, greet=False) as driver:
        error = (await driver.greet())["error"]
    assert error["data"]["message"] in error["message"]
    assert error["data"]["hint"] in error["message"]
    return error["code"], error["data"]


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def until(condition: Any) -> None:
    with anyio.fail_after(60):
        while not condition():  # noqa: ASYNC110 - what is waited for comes without an event
            await anyio.sleep(0.02)


async def test_a_program_that_is_not_there_is_named_with_what_to_do(connect: Connect) -> None:
    message = "the server 'ghost' could not be started: there is no program '/no/such/program'"
    said = await refusal(connect, command_server(["/no/such/program"], "ghost"))
    assert said == unavailable(message, DESKTOP)


async def test_a_program_that_cannot_be_run_is_told_from_one_that_is_not_there(
    connect: Connect, tmp_path: Path
) -> None:
    file = tmp_path / "server"
    file.write_text("no program")
    message = f"the server 'server' could not be started: {str(file)!r} cannot be executed"
    hint = "Make it executable (chmod +x), or name the program that runs it."
    assert await refusal(connect, command_server([str(file)])) == unavailable(message, hint)


async def test_a_directory_that_is_not_there_is_told_from_a_program_that_is_not(connect: Connect) -> None:
    message = "the server 'sh' could not be started: there is no directory '/no/such/place'"
    assert await refusal(connect, shell("cat", cwd="/no/such/place")) == unavailable(message, "Correct its cwd.")


async def test_a_server_that_ends_at_once_is_quoted_without_its_secrets(connect: Connect) -> None:
    said = await refusal(connect, shell(f"echo starting >&2; echo 'no such token: {TOKEN}' >&2; exit 7"))
    lines = "\n  starting\n  no such token: [redacted:github-token]"
    message = f"the server 'sh' ended with exit code 7 before it answered:{lines}"
    assert said == unavailable(message, "Run its command by itself in a terminal and mend what it says.")


async def test_what_a_server_logged_explains_its_end_and_not_what_it_printed(connect: Connect) -> None:
    said = await refusal(connect, shell("echo no disk >&2; for n in 1 2 3 4 5 6; do echo $n; done; exit 7"))
    assert said[1]["message"] == "the server 'sh' ended with exit code 7 before it answered:\n  no disk"


async def test_of_an_exception_that_node_prints_its_own_lines_are_quoted(connect: Connect, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(
        "starting\nnode:process:1\n  throw it;\n  ^\n\nTypeError: fetch failed\n    at main (file.js:3:5) {\n"
        "  [cause]: Error: connect ECONNREFUSED 127.0.0.1:5232\n      at TCP (net:1611:16) {\n    errno: -111,\n"
        "    code: 'ECONNREFUSED',\n    port: 5232\n  }\n}\n\nNode.js v20.20.2\n"
    )
    said = await refusal(connect, shell(f"cat {tmp_path}/log >&2; exit 1"))
    lines = "\n  TypeError: fetch failed\n  [cause]: Error: connect ECONNREFUSED 127.0.0.1:5232"
    assert said[1]["message"] == f"the server 'sh' ended with exit code 1 before it answered:{lines}"


async def test_a_server_that_says_nothing_the_protocol_knows_is_given_up_and_quoted(connect: Connect) -> None:
    for seconds in (2, 10, 40):  # more where a slow machine did not even start it in time
        said = await refusal(connect, shell("echo hello; echo world; exec sleep 600", seconds=seconds))
        if "world" in said[1]["message"]:
            break
    message = f"the server 'sh' did not answer within {seconds} s, and printed:\n  hello\n  world"
    assert said == unavailable(message, SILENT)


async def test_a_server_that_hangs_is_given_up_and_ended(connect: Connect, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    for seconds in (2, 10, 40):
        said = await refusal(connect, shell(f"echo $$ > {file}; exec sleep 600", seconds=seconds))
        if file.exists() and file.read_text():
            break
    assert said == unavailable(f"the server 'sh' did not answer within {seconds} s", SILENT)
    await until(lambda: not lives(int(file.read_text())))


async def test_a_server_that_prints_on_its_protocol_stream_works_and_its_lines_are_log(connect: Connect) -> None:
    log: list[tuple[str, bytes]] = []
    async with connect(tiny(), log=lambda *line: log.append(line)) as driver:
        assert (await driver.text("noise"))["pid"]
        await until(lambda: len(log) == 3)
    # Each stream keeps its order; nobody knows which of two is read first.
    assert sorted(log) == [
        ("tiny", b"[info] a log line on the right one"),
        ("tiny", b"[info] a log line on the wrong stream"),
        ("tiny", b"{not json either"),
    ]


async def test_a_child_gets_our_environment_and_its_own(connect: Connect) -> None:
    async with connect(tiny(env={"TINY_TOKEN": "t"}, cwd="/")) as driver:
        answer = await driver.text("where")
    assert (answer["token"], answer["cwd"]) == ("t", "/")


async def test_a_child_that_dies_is_unavailable_and_restarted_at_the_next_call(connect: Connect) -> None:
    async with connect(tiny()) as driver:
        before = await driver.text("pid")
        died = await driver.failure("die")
        after = await driver.text("pid")
    assert died == "UNAVAILABLE: the server 'tiny' ended with exit code 3: out of memory"
    assert before["pid"] != after["pid"]


async def test_a_child_killed_twenty_times_in_mid_call_gives_twenty_coded_answers_and_is_restarted_each_time(
    connect: Connect,
) -> None:
    pids: list[int] = []
    codes: list[str] = []
    async with connect(tiny()) as driver:
        for _ in range(20):
            pids.append((await driver.text("pid"))["pid"])
            async with anyio.create_task_group() as tasks:

                async def killed() -> None:
                    codes.append((await driver.failure("slow", seconds=600)).partition(":")[0])

                tasks.start_soon(killed)
                await until(lambda: driver.upstream.is_busy)
                os.kill(pids[-1], signal.SIGKILL)
        assert (await driver.text("pid"))["pid"] not in pids
    assert codes == ["UNAVAILABLE"] * 20
    assert len(set(pids)) == 20


async def test_a_server_that_was_restarted_is_greeted_with_the_clients_own_introduction(
    connect: Connect, tmp_path: Path
) -> None:
    file = tmp_path / "heard"
    async with connect(tiny(env={"TINY_HEARD": str(file)})) as driver:
        await driver.call("die")
        await driver.text("pid")
    messages = [json.loads(line) for line in file.read_text().splitlines()]
    greetings = [message for message in messages if message["method"] == "initialize"]
    assert len(greetings) == 2
    assert greetings[0]["params"] == greetings[1]["params"]
    assert [message["method"] for message in messages].count("notifications/initialized") == 2
    answers = [json.loads(line) for line in driver.lines]
    assert [answer["id"] for answer in answers] == [1, 2, 3]


async def test_a_child_that_keeps_dying_is_left_alone_for_a_while(connect: Connect) -> None:
    async with connect(tiny()) as driver:
        for _ in range(7):
            last = await driver.failure("die")
            if "left alone" in last:  # the while doubles; a slow machine may outlast the first ones
                break
    assert last.startswith(
        "UNAVAILABLE: the server 'tiny' ended with exit code 3: out of memory\nIt is left alone for "
    )


async def test_a_server_that_cannot_start_is_logged_once_and_left_alone_with_the_reason(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    async with connect(command_server(["/no/such/program"], "ghost"), greet=False) as driver:
        errors = [(await driver.greet())["error"]["data"] for _ in range(3)]
    assert "left alone" in errors[-1]["message"]
    assert (errors[-1]["hint"], errors[-1]["retry_after"] > 0) == (DESKTOP, True)
    lines = [record.getMessage() for record in caplog.records if record.name == "shaping"]
    assert lines == [f"the server 'ghost' could not be started: there is no program '/no/such/program'. {DESKTOP}"]


async def test_a_protocol_error_passes_untouched_and_costs_no_connection(connect: Connect) -> None:
    async with connect(tiny()) as driver:
        before = await driver.text("pid")
        error = (await driver.call("refuse", code=-32000, message="Connection closed"))["error"]
        after = await driver.text("pid")
    assert error == {"code": -32000, "message": "Connection closed", "data": {"why": "rain"}}
    assert before["pid"] == after["pid"]


async def test_the_only_server_that_does_not_come_back_is_told_of_by_every_request(
    connect: Connect, tmp_path: Path
) -> None:
    flag = tmp_path / "gone"
    script = f'test -f {flag} && exit 7; exec "$0" "$@"'
    async with connect(command_server(["sh", "-c", script, *TINY], "tiny")) as driver:
        flag.touch()
        await driver.call("die")
        listed = await driver.ask("tools/list")
        called = await driver.failure("pid")
    assert "'tiny' ended with exit code 7" in listed["error"]["message"]
    assert called.startswith("UNAVAILABLE: the server 'tiny' ended with exit code 7")


async def test_children_end_with_the_proxy_even_if_they_refuse_to(connect: Connect) -> None:
    async with connect(tiny("--stubborn")) as driver:
        pid = (await driver.text("pid"))["pid"]
    await until(lambda: not lives(pid))


async def test_a_server_that_dies_while_a_descendant_holds_its_pipes_is_not_waited_for(
    connect: Connect, tmp_path: Path
) -> None:
    file = tmp_path / "pid"
    script = f'sleep 600 & echo $! > {file}; exec "$0" "$@"'
    async with connect(command_server(["sh", "-c", script, *TINY], "tiny")) as driver:
        died = await driver.failure("die")
        again = await driver.text("pid")
    assert died == "UNAVAILABLE: the server 'tiny' ended with exit code 3: out of memory"
    assert again["pid"]
    await until(lambda: not lives(int(file.read_text())))


async def test_a_server_that_refuses_its_client_after_a_restart_is_quoted(connect: Connect, tmp_path: Path) -> None:
    flag = tmp_path / "restarted"
    error = {"jsonrpc": "2.0", "error": {"code": -32000, "message": "no licence"}}
    program = (
        "import json, sys\nline = json.loads(sys.stdin.readline())\n"
        f"print(json.dumps({error!r} | dict(id=line['id'])), flush=True)\nsys.stdin.read()"
    )
    script = f'test -f {flag} && exec {sys.executable} -c "$1"; touch {flag}; exec {" ".join(TINY)}'
    async with connect(command_server(["sh", "-c", script, "sh", program], "picky")) as driver:
        await driver.call("die")
        refused = await driver.failure("pid")
    assert refused.startswith("UNAVAILABLE: the server 'picky' would not start a session: no licence")


async def test_a_server_that_was_restarted_and_talks_but_does_not_answer_its_greeting_is_given_up(
    connect: Connect, tmp_path: Path
) -> None:
    flag = tmp_path / "restarted"
    said = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "busy"}}
    program = f"import sys\nprint({json.dumps(said)!r}, flush=True)\nsys.stdin.read()"
    script = f'test -f {flag} && exec {sys.executable} -c "$1"; touch {flag}; exec {" ".join(TINY)}'
    async with connect(command_server(["sh", "-c", script, "sh", program], "busy", seconds=5)) as driver:
        await driver.call("die")
        given_up = await driver.failure("pid")
    assert given_up.startswith("UNAVAILABLE: the server 'busy' did not answer within 5 s")


def test_a_backoff_grows_and_ends_with_the_first_answer() -> None:
    backoff = Backoff()
    pauses = []
    for _ in range(1100):
        backoff.count()
        pauses.append(round(backoff.pause()))
    assert pauses[:7] == [0, 1, 2, 4, 8, 16, 30]
    assert pauses[-1] == 30
    backoff.reset()
    assert backoff.pause() == 0


def test_other_ends_are_told_as_they_are() -> None:
    child = Child(["x"])
    assert outage.connection_end("n", child, answered=True).message == "the server 'n' closed its output"
    assert outage.connection_end("n", None, answered=True).message == "the server 'n' closed the connection"
    problem = OSError(7, "too long")
    assert outage.start_failure("n", child, problem).message.endswith("could not be started: [Errno 7] too long")
