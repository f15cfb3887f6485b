"""What CONTRIBUTING says of the way of a call is how the code is, and it stays short."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from shaping import shape
from shaping.commands import run_and_print
from shaping.proxy.messages import Message
from shaping.proxy.relay import Relay
from shaping.proxy.serving import Options, ShaperLoader
from shaping.proxy.upstream import command_server

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "shaping"
SECTION = (ROOT / "CONTRIBUTING.md").read_text().partition("## Following one call")[2].partition("\n## ")[0]
WAYS = re.findall(r"- \*\*(.+?)\*\*: (.+?)(?=\n- |\Z)", SECTION, re.DOTALL)
FILES = {name: list(dict.fromkeys(re.findall(r"`([\w/]+\.py)`", text))) for name, text in WAYS}
BESIDES = re.findall(r"`([\w/]+\.py)`", SECTION.partition("\n- ")[0])
RUN = "`shaping run -- git log`"
MOST = {"A decorated function": 12, "A proxied call": 20, RUN: 20}
# Of the files of a run: those of a terminal, of text that is cut, and of a command that failed.
ELSEWHERE = {"__main__.py", "cli/app.py", "cli/run.py", "commands/storage.py", "commands/ending.py"}
# Of the files of a proxied call: those that start the program and its server, and compile the plan.
BEFORE_THE_CALL = {"__main__.py", "child.py", "proxy/serving.py", "settings/plan.py"}


@pytest.mark.parametrize("way", MOST)
def test_a_call_is_followed_through_few_files_and_all_of_them_are_there(way: str) -> None:
    # All use the classes of one more file; a terminal has two files of its own, in place of the first.
    assert 1 < len({*FILES[way], "response.py"} - {"cli/app.py", "cli/run.py"}) <= MOST[way]
    assert [name for name in FILES[way] if not (PACKAGE / name).is_file()] == []


def test_a_decorated_call_goes_through_the_files_that_are_listed() -> None:
    @shape(config={})
    def search() -> list[dict[str, object]]:
        return [{"id": number, "note": None, "url": f"https://api.example.com/{number}"} for number in range(30)]

    called = _files_called(search)
    assert [name for name in FILES["A decorated function"] if name not in called] == []


@pytest.mark.skipif(sys.platform == "win32", reason="no command runs on Windows")
def test_a_log_of_commits_goes_through_the_files_that_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHAPING_LEDGER", "off")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    commits = (
        f"commit {number:040x}\nAuthor: Ada <ada@example.com>\nDate:   Tue Nov 17 18:00:{number} 2026 +0000\n\n"
        f"    Mend number {number}\n"
        for number in range(10, 50)
    )
    (tmp_path / "log").write_text("\n".join(commits))
    called = _files_called(lambda: run_and_print(["cat", str(tmp_path / "log")], None, {}))
    assert [name for name in FILES[RUN] if name not in called | ELSEWHERE] == []


@pytest.mark.skipif(sys.platform == "win32", reason="the proxy does not run on Windows")
def test_a_proxied_call_goes_through_the_files_that_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    called = asyncio.run(_files_of_a_proxied_call())
    listed = FILES["A proxied call"]
    assert [name for name in listed if name not in called | BEFORE_THE_CALL] == []
    on_the_way = ("mcp/", "proxy/", "cleaning/", "present/", "shaper.py")
    assert [name for name in called if name.startswith(on_the_way) and name not in {*listed, *BESIDES}] == []


async def _files_of_a_proxied_call() -> set[str]:
    loader = ShaperLoader(Options())
    loader.start()
    await loader.get()
    answers: asyncio.Queue[Message] = asyncio.Queue()
    server = [sys.executable, str(ROOT / "tests" / "servers" / "records_server.py")]
    relay = Relay(command_server(server)(), loader, answers.put)

    async def ask(number: int, method: str, params: Mapping[str, object]) -> None:
        asked = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        await relay.on_client_line(json.dumps(asked).encode())
        assert "result" in (await answers.get()).data

    info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    await ask(0, "initialize", info)
    await ask(1, "tools/list", {})
    with _noted_files() as found:
        await ask(2, "tools/call", {"name": "records", "arguments": {"count": 20}})
    await relay.close()
    loader.close()
    return found


def _files_called(call: Callable[[], object]) -> set[str]:
    with _noted_files() as found:
        call()
    return found


@contextmanager
def _noted_files() -> Iterator[set[str]]:
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            found.add(str(path.relative_to(PACKAGE)))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("place", re.findall(r"^- \*\*a.+$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE))
def test_a_recipe_names_places_that_are_there(place: str) -> None:
    named = re.findall(r"`((?:[\w]+/)+[\w]*(?:\.(?:py|json))?)", place)
    assert named
    assert [name for name in named if not (ROOT / name).exists() and not (PACKAGE / name).exists()] == []


def test_every_room_is_in_the_table_of_layers() -> None:
    table = (ROOT / "CONTRIBUTING.md").read_text().partition("| layer | rooms |")[2].partition("\n\n")[0]
    rooms = [path.parent.name for path in PACKAGE.glob("*/__init__.py") if path.parent.name != "surfaces"]
    assert [room for room in rooms if f"`{room}/`" not in table] == []
