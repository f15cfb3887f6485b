from __future__ import annotations

import io
import json
import os
import socket
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fastmcp.client.auth.oauth import ClientNotFoundError
from mcp.shared.auth import OAuthToken

from shaping.cli.proxy import url_server
from shaping.proxy.sign_in import SignIn, _port, sign_in, token_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.proxy.conftest import Connect

pytestmark = pytest.mark.anyio
SHAPING = [sys.executable, "-m", "shaping"]
URL = "http://127.0.0.1:9/mcp"


@pytest.fixture(scope="module")
def guarded(free_port: Callable[[], int], until_it_listens: Callable[..., None]) -> Iterator[str]:
    port = free_port()
    script = str(Path(__file__).parents[1] / "servers" / "guarded_server.py")
    process = subprocess.Popen([sys.executable, script, str(port)], stderr=subprocess.DEVNULL)
    try:
        until_it_listens(process, port)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait(60)


class Browser:
    """A user who always agrees, by following the redirects as a browser does."""

    def __init__(self) -> None:
        self.pages: list[str] = []

    def open(self, page: str) -> bool:
        self.pages.append(page)
        with urllib.request.urlopen(page, timeout=300) as answer:  # noqa: S310 - the page of our own server
            answer.read()
        return True


async def welcome(connect: Connect, url: str) -> str:
    async with connect(url_server(url, oauth=True)) as driver:
        text: str = (await driver.call("inside"))["result"]["content"][0]["text"]
    return text.strip()


async def test_a_user_signs_in_once_and_the_tokens_are_kept_for_that_user_alone(
    connect: Connect,
    guarded: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    browser = Browser()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("webbrowser.open", browser.open)
    answers = [await welcome(connect, guarded), await welcome(connect, guarded)]
    directory = token_directory(guarded)
    kept = [file for file in directory.rglob("*.json") if "access_token" in file.read_text()]
    told = capsys.readouterr().err
    assert (answers, len(browser.pages)) == (["welcome", "welcome"], 1)
    assert told.splitlines()[0] == f"shaping: sign in to {guarded} in your browser: {browser.pages[0]}"
    assert (stat.S_IMODE(kept[0].stat().st_mode), stat.S_IMODE(directory.stat().st_mode)) == (0o600, 0o700)
    assert json.loads(kept[0].read_bytes())["value"]["access_token"] not in told


async def test_without_signing_in_the_server_says_what_it_wants_and_how_to_give_it(
    connect: Connect, guarded: str
) -> None:
    async with connect(url_server(guarded), greet=False) as driver:
        error = (await driver.greet())["error"]
    assert (error["data"]["code"], "--oauth" in error["message"]) == ("AUTH_REQUIRED", True)


async def test_a_server_that_forgot_us_is_noticed_before_the_user_is_sent_there(
    guarded: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    signing: SignIn = sign_in(guarded)
    signing.log = io.StringIO()
    with pytest.raises(ClientNotFoundError):
        await signing.redirect_handler(guarded.replace("/mcp", "/authorize?client_id=nobody&response_type=code"))
    assert signing.log.getvalue() == ""


def test_the_command_line_signs_in_by_the_users_own_browser(guarded: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = tmp_path / "browser"
    script.write_text(
        f"#!{sys.executable}\nimport sys, urllib.request\nprint('opened', file=open({str(log)!r}, 'a'))\n"
        "urllib.request.urlopen(sys.argv[1], timeout=300).read()\n"
    )
    script.chmod(0o700)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "BROWSER": f"{script} %s"}
    command = [*SHAPING, "tools", "--json", "--oauth", "--url", guarded]
    runs = [
        subprocess.run(command, capture_output=True, text=True, env=environment, timeout=3000, check=True)
        for _ in range(2)
    ]
    listed = [json.loads(run.stdout)["data"] for run in runs]
    assert [[tool["tool"] for tool in tools] for tools in listed] == [["inside"], ["inside"]]
    assert log.read_text() == "opened\n"
    assert [run.stderr.startswith("shaping: sign in to ") for run in runs] == [True, False]


async def test_tokens_that_cannot_be_written_last_as_long_as_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "shaping").write_bytes(b"a file where a directory should be")
    with pytest.warns(UserWarning, match="in-memory"):
        signing = sign_in(URL)
    await signing.token_storage_adapter.set_tokens(OAuthToken(access_token="a"))
    kept = await signing.token_storage_adapter.get_tokens()
    assert kept is not None
    assert kept.access_token == "a"
    assert [record.getMessage().split(" in ")[0] for record in caplog.records] == ["tokens cannot be kept"]


@pytest.mark.parametrize("damage", ["{", '{"version": 1}', '{"value": {"access_token": []}, "version": 1}'])
async def test_kept_tokens_that_are_damaged_are_forgotten_and_never_keep_the_user_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    signing = sign_in(URL)
    token = {"access_token": "a", "token_type": "Bearer", "expires_in": 5}
    await signing.token_storage_adapter.set_tokens(OAuthToken.model_validate(token))
    kept = [file for file in token_directory(URL).rglob("*.json") if "access_token" in file.read_text()]
    kept[0].write_text(damage)
    again = sign_in(URL)
    await again._initialize()
    assert again.context.current_tokens is None


def test_the_same_address_comes_back_to_the_same_port_unless_that_is_taken() -> None:
    # An address whose port is free here: which that is, nobody chooses.
    url, port = next((url, port) for n in range(100) if (port := _port(url := f"https://example.com/{n}")) is not None)
    assert port == _port(url)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        assert _port(url) is None
