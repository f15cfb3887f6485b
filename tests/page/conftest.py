"""A user's home with recorded calls, and a real Chromium."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from shaping.ledger import Ledger, LedgerDatabase
from shaping.mcp.mcp_shaper import MCPShaper
from shaping.mcp.sessions import Session, ToolRequest
from shaping.shaper import Shaper

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@dataclass(frozen=True)
class Home:
    """Where one user's ledger and store are."""

    environ: dict[str, str]
    ledger: Path

    def record(self, tool: str, value: Any, *, server: str = "github", **config: Any) -> None:
        """Shape a tool's answer as a proxy does, and record the call."""
        shaper = Shaper(config, expandable=True, environ=self.environ)
        shaper.keeper("command")  # the store that `shaping ui` reads
        ledger = Ledger(LedgerDatabase(self.ledger))
        mcp_shaper = MCPShaper(shaper, relay=True, ledger=ledger)
        session = Session(shaper.loaded_config, {"name": "claude-code", "version": "2.0"})
        result = {
            "content": [{"type": "text", "text": value if isinstance(value, str) else orjson.dumps(value).decode()}]
        }
        mcp_shaper.shape_result(session, ToolRequest(tool, server), result)
        ledger.close(30)
        shaper.close()


def issues(count: int = 30) -> list[dict[str, Any]]:
    return [
        {
            "number": number,
            "title": f"Issue {number} of the list",
            "url": f"https://api.example.com/issues/{number}",
            "user": {"login": f"user{number % 3}", "avatar_url": f"https://example.com/avatars/{number}.png"},
            "milestone": None,
            "labels": [],
        }
        for number in range(count)
    ]


def make_home(folder: Path) -> Home:
    """Make a home in which three tools were called."""
    places = {"SHAPING_LEDGER": str(folder / "ledger.sqlite"), "XDG_CACHE_HOME": str(folder / "cache")}
    made = Home({**os.environ, **places}, folder / "ledger.sqlite")
    made.record("list_issues", issues())
    made.record("read_file", "a line\n" * 40, server="files")
    made.record("search_code_in_every_repository_of_the_organization", {"total": 3, "items": issues(3)})
    return made


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return make_home(tmp_path)


@pytest.fixture
def page_of(
    home: Home, free_port: Callable[[], int], until_it_listens: Callable[[subprocess.Popen[Any], int], None]
) -> Iterator[str]:
    """Serve the page of that home, and give its address."""
    port = free_port()
    command = [sys.executable, "-m", "shaping", "ui", "--at", str(port), "--no-open"]
    server = subprocess.Popen(command, env=home.environ, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        address = server.stderr.readline().split()[-1]
        until_it_listens(server, port)
        yield address
    finally:
        server.terminate()
        server.communicate(timeout=30)


# Not for the session: while what drives it runs, no other test of the process can run an event loop.
@pytest.fixture(scope="module")
def browser() -> Generator[Any]:
    """Start Chromium; the tests are skipped where it or what drives it is not installed."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright, which drives Chromium, is missing")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Any) -> Generator[Callable[..., Any]]:
    """Open addresses in pages whose console must stay silent."""
    contexts: list[Any] = []
    said: list[str] = []

    def open_at(address: str, *, width: int = 1200, scheme: str = "light", scripts: bool = True) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=scripts
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: said.append(message.text) if message.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(address)
        return page

    yield open_at
    for context in contexts:
        context.close()
    assert said == []
