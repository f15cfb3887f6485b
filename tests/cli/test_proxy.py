from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from fastmcp import Client
from typer.testing import CliRunner

from shaping.cli.app import build

if TYPE_CHECKING:
    from typer.testing import Result

TINY = [sys.executable, str(Path(__file__).parents[1] / "servers" / "tiny_server.py")]
SHAPING = [sys.executable, "-m", "shaping"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(build(), ["proxy", *arguments])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give one of: a command after --, --url, or --servers"),
        (["--url", "http://x", "--", "y"], "give one of: a command after --, --url, or --servers"),
        (
            ["--url", "http://x", "--header", "Bearer s3cret"],
            "'Bearer' in --header begins no header; expected 'Name: value'",
        ),
        (["--url", "env:NO_SUCH_URL"], "--url: the variable 'NO_SUCH_URL' is not set; expected an address in it"),
        (["--transport", "http", "--", "y"], "--transport is for --url"),
        (["--header", "a: b", "--", "y"], "--header is for --url"),
        (["--oauth", "--", "y"], "--oauth is for --url and --servers; a command signs in by itself"),
        (["--http", "localhost", "--", "y"], "'localhost' is not an address; expected HOST:PORT"),
        (["--http", "99999999", "--", "y"], "99999999 is not a port; expected 1 to 65535"),
        (["--http", "localhost:0", "--", "y"], "0 is not a port; expected 1 to 65535"),
        (["--url", "notaurl"], "'notaurl' is not a server's address; expected one like https://example.com/mcp"),
        (["--url", "http://x:port/mcp"], "'http://x:port/mcp' is not a server's address"),
    ],
)
def test_a_wrong_command_line_is_refused_with_what_is_wrong(arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "there is no server in it"),
        ("no list of servers", "line 1: expected"),
        ("{", "line 1: expected"),
        ('{"mcpServers": {"a": {"note": 1}}}', "the server 'a' has neither a command nor a url"),
    ],
)
def test_a_list_of_servers_that_cannot_be_used_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(text)
    result = run("--servers", str(file))
    assert (result.exit_code, said in result.stderr) == (2, True)


def program(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*SHAPING, "proxy", *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)


# An option that the fast path does not read goes the longer way, and must end in the same words.
@pytest.mark.parametrize("spelling", [("--profile", "dbug"), ("--profile=dbug",)])
def test_a_profile_that_there_is_not_is_refused(spelling: tuple[str, ...]) -> None:
    done = program(*spelling, "--", *TINY)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no profile 'dbug'; there are " in done.stderr


@pytest.mark.parametrize("option", ["--config {}", "--config={}"])
def test_a_bad_config_is_refused_with_its_problems(tmp_path: Path, option: str) -> None:
    file = tmp_path / "c.json"
    file.write_text('{"globl": {}}')
    done = program(*option.format(file).split(), "--", *TINY)
    assert (done.returncode, done.stdout) == (1, "")
    assert "globl" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_the_extra_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastmcp", None)
    result = run("--url", "http://127.0.0.1:9/mcp")
    assert result.exit_code == 2
    assert 'pip install "shaping[mcp]"' in result.stderr


class Pipes:
    """A client by hand, so that it can be made to vanish."""

    def __init__(self, *arguments: str) -> None:
        command = [*SHAPING, "proxy", *arguments]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "hand", "version": "1"}}
        self.ask("initialize", params)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self._send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert self.process.stdout is not None
        while "id" not in (answer := json.loads(self.process.stdout.readline())):
            pass  # news of the server's, which nobody asked for
        return answer["result"]

    def call(self, name: str) -> Any:
        return json.loads(self.ask("tools/call", {"name": name, "arguments": {}})["content"][0]["text"])

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def end(self) -> tuple[int, str]:
        _, stderr = self.process.communicate(timeout=120)
        return self.process.returncode, stderr


def is_alive(pid: int) -> bool:
    """Tell whether a process outlives the signal that ends it, however busy the machine is."""
    deadline = time.monotonic() + 30  # the child itself would stay for a minute
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return False
        except OSError:
            return False
        time.sleep(0.05)
    return True


def test_closing_the_pipe_ends_the_proxy_and_its_child() -> None:
    client = Pipes("--profile", "debug", "--", *TINY, "--stubborn")
    pid = client.call("noise")["pid"]
    code, stderr = client.end()
    assert (code, is_alive(pid)) == (0, False)
    assert "[python" in stderr
    assert "a log line on the wrong stream" in stderr


@pytest.mark.parametrize("spelling", [("--name", "mine"), ("--name=mine",)])
def test_rules_go_by_the_name_that_the_user_gave_the_server(tmp_path: Path, spelling: tuple[str, ...]) -> None:
    rules = {"mine/*": {"include_only": ["cwd"]}, "tiny/*": {"include_only": ["pid"]}}
    (tmp_path / "c.json").write_text(json.dumps({"tool_overrides": rules}))
    named = Pipes(*spelling, "--config", str(tmp_path / "c.json"), "--", *TINY)
    assert list(named.call("pid")) == ["cwd"]
    named.end()
    unnamed = Pipes("--config", str(tmp_path / "c.json"), "--", *TINY)
    assert list(unnamed.call("pid")) == ["pid"]
    unnamed.end()


def test_debug_says_how_long_a_call_took() -> None:
    client = Pipes("--profile", "debug", "--", *TINY)
    result = client.ask("tools/call", {"name": "slow", "arguments": {"seconds": 0.2}})
    assert result["_meta"]["shaping"]["duration_ms"] >= 200
    assert result["_meta"]["shaping"]["tool_id"] == "tiny/slow"
    client.end()


def test_a_client_is_told_what_is_wrong_with_the_config_until_it_is_right(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text('{\n  "global": {"private": ["token"]},\n  "globl": {}\n}')
    client = Pipes("--config", str(file), "--", *TINY)
    assert "pid" in [tool["name"] for tool in client.ask("tools/list", {})["tools"]]
    refused = client.ask("tools/call", {"name": "pid", "arguments": {}})
    assert refused["isError"] is True
    said = refused["content"][0]["text"]
    assert "c.json has 1 problem:\n  $.globl is" in said
    assert "(line 3)" in said
    assert "Did you mean 'global'?" in said
    file.write_text('{"global": {"private": ["token"]}}')
    assert set(client.call("pid")) == {"pid", "cwd"}
    assert client.end()[0] == 0


Served = Callable[..., AbstractContextManager[int]]


@pytest.fixture
def served(free_port: Callable[[], int], until_it_listens: Callable[..., None]) -> Served:
    @contextmanager
    def served(flag: str, *arguments: str) -> Iterator[int]:
        port = free_port()
        with subprocess.Popen([*SHAPING, "proxy", flag, f"127.0.0.1:{port}", *arguments]) as process:
            try:
                until_it_listens(process, port)
                yield port
            finally:
                process.terminate()

    return served


@pytest.mark.anyio
async def test_http_is_served_to_whom_it_is_meant_for_and_chained(anyio_backend_name: str, served: Served) -> None:
    with served(
        "--http", "--allow-host", "friend.example", "--allow-origin", "https://app.example", "--", *TINY
    ) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        async with httpx.AsyncClient(timeout=120) as browser:
            seen = {
                headers: (await browser.get(url, headers=[headers])).status_code
                for headers in [
                    ("host", "evil.example"),
                    ("host", "friend.example"),
                    ("origin", "https://evil.example"),
                    ("origin", "https://app.example"),
                ]
            }
        async with Client(url) as client:
            pid = json.loads((await client.call_tool("pid", {})).content[0].text)["pid"]
        with served("--http", "--url", url) as second:
            async with Client(f"http://127.0.0.1:{second}/mcp") as client:
                names = [tool.name for tool in await client.list_tools()]
    assert [status in {421, 403} for status in seen.values()] == [True, False, True, False]
    assert pid
    assert names == ["pid", "die", "noise", "where", "slow", "refuse", "shaping_expand"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_a_proxy_in_a_terminal_says_what_it_waits_for() -> None:
    keyboard, typed = os.openpty()
    os.write(keyboard, b"\x04")  # the end of what is typed
    done = subprocess.run([*SHAPING, "proxy", "--", *TINY], stdin=typed, capture_output=True, timeout=60, check=True)
    os.close(keyboard)
    os.close(typed)
    assert b"waits for an MCP client's messages on standard input" in done.stderr


def test_a_proxy_that_a_client_starts_says_no_such_thing() -> None:
    done = subprocess.run(
        [*SHAPING, "proxy", "--", *TINY], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=True
    )
    assert b"waits for" not in done.stderr
