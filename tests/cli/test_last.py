"""`shaping last` shows what a command printed and what was printed in its place, while the store has it."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from typer.testing import CliRunner

from shaping import Shaper
from shaping.cli.app import build
from shaping.ledger import LedgerDatabase, LedgerEntry

ROWS = """
import json
rows = [{"id": n, "name": f"row {n}", "note": None, "key": "ghp_" + "a1B2" * 9} for n in range(40)]
print(json.dumps(rows, indent=2))
"""


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """Give a user a home of their own, in which one command has run."""
    places = {"SHAPING_LEDGER": str(tmp_path / "ledger.sqlite"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environ = {**os.environ, **places}
    in_shell(environ, "run", "--", sys.executable, "-c", ROWS)
    return environ


def shaping(environ: dict[str, str], *words: str) -> str:
    """Read the ledger in this process."""
    done = CliRunner().invoke(build(), list(words), env=environ)
    assert done.exit_code == 0, done.output
    return done.stdout


def in_shell(environ: dict[str, str], *words: str) -> str:
    command = [sys.executable, "-m", "shaping", *words]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout


def test_both_sides_are_shown_with_what_was_left_out_marked(home: dict[str, str]) -> None:
    shown = shaping(home, "last", "--full")
    head, _, rest = shown.partition("The tool sent, read as data (- was left out):")
    sent, _, read = rest.partition("The model read:")
    assert "tokens without shaping" in head
    assert '-     "note": null,  (null)' in sent
    assert "row 39" in sent
    assert "row 39" in read
    assert "null" not in read.replace("null: note", "")


def test_a_long_side_is_cut_unless_all_of_it_is_asked_for(home: dict[str, str]) -> None:
    assert "more lines; --full shows them" in shaping(home, "last")


def test_no_secret_is_on_either_side(home: dict[str, str], tmp_path: Path) -> None:
    shaping(home, "last", "--html", str(tmp_path / "last.html"))
    written = (tmp_path / "last.html").read_text() + shaping(home, "last", "--full") + shaping(home, "last", "--json")
    assert "ghp_a1B2" not in written
    assert "row 39" in written
    assert stat.S_IMODE((tmp_path / "last.html").stat().st_mode) == 0o600


def test_a_program_gets_what_was_read_and_what_was_sent(home: dict[str, str]) -> None:
    (call,) = json.loads(shaping(home, "last", "--json"))["data"]["calls"]
    assert call["entry"]["after"] < call["entry"]["before"]
    (sent,) = call["texts"]["sent"]
    assert "row 39" in call["texts"]["read"]
    assert sent["value"][39] == {"id": 39, "name": "row 39", "note": None, "key": "[redacted:github-token]"}
    left_out = [(one["path"], one["count"], one["reason"]) for one in sent["omissions"]]
    assert ("[].note", 40, "null") in left_out


def test_lines_of_a_text_that_were_left_out_are_marked(home: dict[str, str]) -> None:
    lines = "for n in range(900): print('line', n, 'of', 'many' * (n % 3))"
    in_shell(home, "run", "--max-tokens", "300", "--", sys.executable, "-c", lines)
    sent, _, read = shaping(home, "last", "--full").partition("The model read:")
    assert "The tool sent (- was left out):" in sent
    assert "- line 500 of manymany  (text)" in sent
    assert "line 500" not in read


def test_a_call_from_which_nothing_was_left_out_says_why_there_is_no_text(home: dict[str, str]) -> None:
    in_shell(home, "run", "--", sys.executable, "-c", "print('hi')")
    shown = shaping(home, "last")
    assert "was not kept: that is done for calls from which something was left out" in shown
    assert "no longer" not in shown


def test_a_call_of_which_the_store_has_nothing_is_shown_by_its_numbers(home: dict[str, str]) -> None:
    entry = LedgerEntry(time.time(), "search", 1_000, 100, server="github", client="codex", ref="c_gone")
    LedgerDatabase(home["SHAPING_LEDGER"]).add([entry])
    shown = shaping(home, "last")
    assert "github/search for codex: 1,000 tokens without shaping, 100 read, 90% saved" in shown
    assert "is no longer kept" in shown


def test_a_call_that_became_dearer_says_by_how_much_more(home: dict[str, str]) -> None:
    LedgerDatabase(home["SHAPING_LEDGER"]).add([LedgerEntry(time.time(), "search", 100, 116, server="github")])
    assert "100 tokens without shaping, 116 read, 16% more" in shaping(home, "last")


def test_calls_of_one_tool_are_chosen_by_its_name(home: dict[str, str]) -> None:
    LedgerDatabase(home["SHAPING_LEDGER"]).add([LedgerEntry(time.time(), "search", 10, 5, server="github")])
    assert "github/search" in shaping(home, "last", "--tool", "github/search")
    assert "has no calls of nothing" in shaping(home, "last", "--tool", "nothing")


def in_terminal(environ: dict[str, str], *words: str) -> str:
    """Type a command into a terminal."""
    screen, keyboard = pty.openpty()
    command = [sys.executable, "-m", "shaping", *words]
    with subprocess.Popen(command, env=environ, stdin=keyboard, stdout=keyboard, stderr=keyboard) as running:
        os.close(keyboard)
        shown = b""
        with suppress(OSError):  # the end of a terminal
            while part := os.read(screen, 65_536):
                shown += part
    os.close(screen)
    assert running.returncode == 0, shown
    return shown.decode()


@pytest.mark.parametrize(("expand", "counted"), [(in_terminal, 0), (in_shell, 1)])
def test_what_a_person_expands_is_no_call_of_the_model(home: dict[str, str], expand: Any, counted: int) -> None:
    told = json.loads(in_shell(home, "run", "--json", "--max-tokens", "60", "--", "seq", "1", "1000"))
    before = shaping(home, "last", "--json")
    assert "777" in expand(home, "expand", told["meta"]["ref"], "stdout")
    assert json.loads(shaping(home, "last", "--json"))["data"] == json.loads(before)["data"]
    assert json.loads(shaping(home, "stats", "--json"))["data"]["total"]["expansions"] == counted


def test_what_is_expanded_in_a_shell_of_a_server_is_no_call_of_the_model(
    home: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", home["XDG_CACHE_HOME"])
    config = {"global": {"max_tokens": 120}, "store": {"kind": "sqlite"}}
    rows = [{"id": number, "name": f"person {number}"} for number in range(500)]
    shaper = Shaper(config, expandable=True)
    ref = shaper.shape(rows, tool="hr/list_people", surface="mcp").envelope.meta.ref
    shaper.close()
    assert ref is not None
    assert "person 400" in in_shell(home, "expand", ref, "[400]")
    assert json.loads(shaping(home, "stats", "--json"))["data"]["total"]["expansions"] == 0


SERVER = """
from fastmcp import FastMCP
server = FastMCP("people")
@server.tool
def list_people() -> list[dict]:
    return [{"id": n, "name": f"person {n}", "room": f"R{n}"} for n in range(40)]
server.run(show_banner=False)
"""


def test_a_ref_leads_from_a_call_to_what_the_config_left_out_and_an_expansion_says_what_was_asked(
    tmp_path: Path,
) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    config = tmp_path / "response_config.json"
    config.write_text('{"tool_overrides": {"list_people": {"include_only": ["name"]}}}')
    places = {"SHAPING_LEDGER": str(tmp_path / "ledger.sqlite"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environ = {**os.environ, **places}
    command = ["-m", "shaping", "proxy", "--config", str(config), "--", sys.executable, str(tmp_path / "server.py")]

    async def ask() -> str:
        async with Client(StdioTransport(sys.executable, command, env=environ, keep_alive=False)) as client:
            await client.call_tool("list_people", {})
            refs: list[str] = []
            while not refs:  # the ledger and the store write after the answer went out
                await asyncio.sleep(0.1)
                calls = json.loads(shaping(environ, "last", "--json"))["data"]["calls"]
                refs = [part["ref"] for call in calls if call["texts"] for part in call["texts"]["sent"]]
            (found,) = refs
            await client.call_tool("shaping_expand", {"ref": found, "sql": "SELECT room FROM items WHERE id = 7"})
            return found

    ref = asyncio.run(ask())
    assert in_shell(environ, "expand", ref, "[7].room") == "R7\n"
    first, asked = json.loads(shaping(environ, "last", "2", "--json"))["data"]["calls"]
    assert (first["texts"]["asked"], asked["texts"]["sent"], asked["entry"]["kind"]) == ({}, [], "query")
    assert asked["texts"]["asked"] == {"ref": ref, "sql": "SELECT room FROM items WHERE id = 7"}
    shown = shaping(environ, "last", "2")
    assert f"all of it: shaping expand {ref}\n" in shown
    assert f"asked: ref {ref}, sql {asked['texts']['asked']['sql']}\n" in shown
