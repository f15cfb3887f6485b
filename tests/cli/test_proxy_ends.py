"""How `shaping proxy` begins and ends as a process: what it says, what it leaves behind, and with which exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
TINY = [sys.executable, str(Path(__file__).parents[1] / "servers" / "tiny_server.py")]
SHAPING = [sys.executable, "-m", "shaping", "proxy"]
INFO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "hand", "version": "1"}}
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INFO}
# A descendant that hears no signal but the last, and the process itself, each written down.
FAMILY = '(trap "" TERM HUP; echo $BASHPID >> "$PIDS"; exec sleep 600) & echo $$ >> "$PIDS"; '
STUBBORN = ["bash", "-c", FAMILY + 'exec "$0" "$@"', *TINY, "--stubborn"]
HANGING = ["bash", "-c", 'trap "" TERM; ' + FAMILY + "while true; do sleep 1; done"]
CHATTY = ["bash", "-c", 'echo starting >&2; echo $$ >> "$PIDS"; exec "$0" "$@"', *TINY]
OBEDIENT = ["bash", "-c", 'echo $$ >> "$PIDS"; echo $$ >> "$PIDS"; exec "$0" "$@"', *TINY]


def is_alive(pid: int) -> bool:
    try:
        # One that has ended but is not fetched by its parent yet has ended.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Family:
    """The processes that a server started, by the file in which they wrote themselves down."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.environment = {**os.environ, "PIDS": str(file)}

    def pids(self) -> list[int]:
        return [int(pid) for pid in self.file.read_text().split()] if self.file.exists() else []

    def is_complete(self) -> bool:
        return len(self.pids()) >= 2

    def is_gone(self) -> bool:
        return not any(is_alive(pid) for pid in self.pids())


@pytest.fixture(autouse=True)
def _hang_ups_are_heard() -> Iterator[None]:
    """Undo nohup, under which the tests may run: what is ignored here would be ignored by every program we start."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL), signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in zip((signal.SIGHUP, signal.SIGINT), before, strict=True):
        signal.signal(number, handler)


@pytest.fixture
def family(tmp_path: Path) -> Iterator[Family]:
    family = Family(tmp_path / "pids")
    yield family
    for pid in family.pids():
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)


def started(family: Family, *arguments: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = [*SHAPING, *arguments]
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=family.environment)
    assert process.stdin is not None
    process.stdin.write(json.dumps(INITIALIZE) + "\n")
    process.stdin.flush()
    return process


def answer(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def test_a_server_that_cannot_start_is_told_by_every_channel_there_is(family: Family) -> None:
    process = started(family, "--", "/no/such/program")
    error = answer(process)["error"]
    _, stderr = process.communicate(timeout=120)
    said = "the server 'program' could not be started: there is no program '/no/such/program'"
    hint = "Install it, or give its whole path: a client started from a desktop has another PATH than your shell."
    assert (error["code"], error["message"]) == (-32603, f"{said}\n{hint}")
    assert (error["data"]["code"], error["data"]["hint"]) == ("UNAVAILABLE", hint)
    assert (process.returncode, stderr) == (1, f"shaping: {said}. {hint}\n")


@pytest.mark.parametrize("how", [None, signal.SIGTERM])
def test_a_server_starts_before_its_client_says_a_word_and_ends_with_a_proxy_that_never_heard_one(
    family: Family, how: signal.Signals | None
) -> None:
    command = [*SHAPING, "--", *OBEDIENT]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=family.environment)
    until(family.is_complete)
    if how is not None:
        process.send_signal(how)
    process.communicate(timeout=120)
    until(family.is_gone)
    assert process.returncode == (0 if how is None else 128 + how)


def test_a_client_that_closed_the_log_still_gets_its_answers(family: Family) -> None:
    process = started(family, "--", *CHATTY)
    assert process.stderr is not None
    assert process.stdin is not None
    process.stderr.close()
    for message in ({"method": "notifications/initialized"}, {"id": 2, "method": "tools/list"}):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()
    answers = [answer(process), answer(process)]
    with process:
        process.stdin.close()
        process.wait(120)
    assert [message["id"] for message in answers] == [1, 2]
    assert "shaping_expand" in {tool["name"] for tool in answers[1]["result"]["tools"]}
    until(family.is_gone)


def test_a_config_with_problems_leaves_no_server_behind(family: Family, tmp_path: Path) -> None:
    config = tmp_path / "bad.json"
    config.write_text('{"globl": {}}')
    process = started(family, "--config", str(config), "--", *STUBBORN)
    _, stderr = process.communicate(timeout=120)
    assert (process.returncode, "globl" in stderr) == (1, True)
    until(family.is_gone)


def test_a_server_that_takes_too_long_is_given_up_after_the_time_that_was_given(family: Family) -> None:
    process = started(family, "--start-timeout", "1", "--", *HANGING)
    message = answer(process)["error"]["message"]
    process.communicate(timeout=120)
    assert message.startswith("the server 'bash' did not answer within 1 s\n")
    until(family.is_gone)
    assert process.returncode == 1


@pytest.mark.parametrize(
    ("server", "how"),
    [
        *((STUBBORN, how) for how in (None, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)),
        *((HANGING, how) for how in (None, signal.SIGTERM)),
    ],
)
def test_nothing_is_left_when_the_proxy_is_ended(family: Family, server: list[str], how: signal.Signals | None) -> None:
    process = started(family, "--", *server)
    until(family.is_complete)
    if server is STUBBORN:
        assert answer(process)["result"]["serverInfo"]["name"] == "tiny"
    if how is not None:
        process.send_signal(how)
    process.communicate(timeout=120)
    until(family.is_gone)
    assert process.returncode == (0 if how is None else 128 + how)


def test_a_server_ends_when_the_proxy_is_killed_because_its_input_closes(family: Family) -> None:
    process = started(family, "--", *OBEDIENT)
    assert answer(process)["result"]["serverInfo"]["name"] == "tiny"
    process.kill()
    process.communicate(timeout=120)
    until(family.is_gone)


CLIENT = """
import json, os, subprocess, sys
process = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
print(process.pid, file=open(os.environ["PIDS"], "a"))
process.stdin.write(sys.argv[1] + "\\n")
process.stdin.flush()
process.stdout.readline()
print("connected", flush=True)
process.wait()
"""


def test_nothing_is_left_when_the_client_is_killed(family: Family) -> None:
    command = [sys.executable, "-c", CLIENT, json.dumps(INITIALIZE), *SHAPING, "--", *STUBBORN]
    client = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=family.environment)
    assert client.stdout is not None
    assert client.stdout.readline() == "connected\n"
    until(lambda: len(family.pids()) == 3)
    client.kill()
    client.communicate(timeout=120)
    until(family.is_gone)


def test_a_client_that_reads_no_more_ends_the_proxy_without_a_trace(family: Family) -> None:
    process = started(family, "--", *OBEDIENT)
    answer(process)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}) + "\n")
    process.stdin.flush()
    assert process.wait(timeout=120) == 0
    assert process.stderr.read() == ""
    until(family.is_gone)
    process.stdin.close()
    process.stderr.close()


def test_what_a_server_said_before_it_ended_follows_the_colon() -> None:
    command = [*SHAPING, "--", sys.executable, "-c", "raise SystemExit('no license.')"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(json.dumps(INITIALIZE) + "\n")
        running.stdin.flush()
        answer = json.loads(running.stdout.readline())
        _, said = running.communicate()
    assert "no license" in answer["error"]["message"]
    assert "ended with exit code 1 before it answered: no license. Run its command" in said


def test_lines_of_a_server_s_log_are_printed_though_the_client_leaves_before_the_config_is_read() -> None:
    command = [*SHAPING, "--", sys.executable, "-c", "raise SystemExit('no license')"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert "] no license" in done.stderr
    assert "withheld" not in done.stderr
