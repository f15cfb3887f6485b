"""Draw docs/page.png: the page of `shaping report` over the payloads of the benchmarks, in Chromium.

python -m benchmarks.make_page

The payloads are replayed as calls of one client, a few each day for two weeks; all numbers are counted from them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

from playwright.sync_api import sync_playwright

from benchmarks.corpus import payloads
from shaping.ledger import Ledger, LedgerDatabase
from shaping.mcp.mcp_shaper import MCPShaper
from shaping.mcp.sessions import Session, ToolRequest
from shaping.page import document
from shaping.page.data import PageSource
from shaping.shaper import Shaper

PICTURE: Final = Path(__file__).parents[1] / "docs" / "page.png"
DAYS: Final = 14


def _record(folder: Path) -> PageSource:
    """Shape every payload as a proxy does, and enter it on several days."""
    shaper = Shaper({}, expandable=True, watch=False)
    recorded = LedgerDatabase(folder / "recorded.sqlite")
    ledger = Ledger(recorded)
    mcp_shaper = MCPShaper(shaper, relay=True, ledger=ledger)
    session = Session(shaper.loaded_config, {"name": "claude-code", "version": "2.0"})
    found = payloads()
    for payload in found:
        server, _, tool = payload.name.partition("_")[2].partition("_")
        mcp_shaper.shape_result(session, ToolRequest(tool or server, server), payload.result)
        ledger.flush(60)
    entries, start = recorded.entries(), time.time() - DAYS * 86_400
    database = LedgerDatabase(folder / "ledger.sqlite")
    for day in range(DAYS):
        size = 1 + (day * 7) % len(entries)
        database.add(
            replace(entry, time=start + (day + 1) * 86_400 - (size - place) * 60)
            for place, entry in enumerate(entries[:size])
        )
    ledger.close()
    return PageSource(database, store=shaper.keeper("mcp").store, config=lambda: shaper.loaded_config)


def main() -> None:
    """Write the picture."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    os.environ.pop("SHAPING_PROFILE", None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        file = Path(folder) / "report.html"
        file.write_text(document(_record(Path(folder)).collect()))
        chromium = driver.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        page = chromium.new_page(viewport={"width": 1080, "height": 1380}, color_scheme="light")
        page.goto(file.as_uri())
        page.evaluate("document.querySelector('.tall').style.maxHeight = '300px'")
        page.screenshot(path=PICTURE)
        chromium.close()
    print(f"{PICTURE.name}: {PICTURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
