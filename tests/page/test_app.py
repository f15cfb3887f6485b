"""The page over HTTP: who gets it, and what it is made from."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx
import pytest
from fastmcp import Client

from shaping.ledger import LedgerDatabase, LedgerEntry, add_up
from shaping.ledger.entries import Kind, group
from shaping.page.data import PageSource
from tests.page.conftest import Home

SERVER = Path(__file__).parents[1] / "servers" / "records_server.py"


def get(address: str, **headers: str) -> tuple[int, str, Any]:
    answer = httpx.get(address, headers=headers, timeout=60)
    return answer.status_code, answer.text, answer.headers


def test_only_who_has_the_token_and_comes_from_the_same_place_gets_the_page(page_of: str) -> None:
    bare = page_of.partition("?")[0]
    status, page, headers = get(page_of)
    assert (status, "list_issues" in page) == (200, True)
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert (headers["Referrer-Policy"], headers["Cache-Control"]) == ("no-referrer", "no-store")
    assert get(bare)[0] == get(f"{bare}?token=wrong")[0] == get(f"{bare}events")[0] == 401
    assert get(page_of, Host="evil.example")[0] == 421
    assert get(page_of, Origin="http://evil.example")[0] == 403
    assert get(page_of, Origin=f"http://{urlsplit(page_of).netloc}")[0] == 200


def test_the_page_is_for_this_machine_alone(home: Home) -> None:
    command = [sys.executable, "-m", "shaping", "ui", "--at", "0.0.0.0:8123", "--no-open"]
    done = subprocess.run(command, env=home.environ, capture_output=True, text=True, check=False)
    assert (done.returncode, "loopback only" in done.stderr) == (2, True)


def test_private_fields_and_secrets_are_on_no_page(home: Home) -> None:
    secret = "ghp_" + "a1B2" * 9
    rows = [{"id": n, "salary": 90_000 + n, "note": f"token {secret}"} for n in range(20)]
    home.record("staff", rows, tool_overrides={"staff": {"private": ["salary"]}})
    command = [sys.executable, "-m", "shaping", "report", "-o", "-"]
    page = subprocess.run(command, env=home.environ, capture_output=True, text=True, check=True).stdout
    assert "github/staff" in page
    assert "90019" not in page
    assert secret not in page


def test_texts_are_gone_from_the_page_when_the_store_no_longer_has_them(home: Home) -> None:
    command = [sys.executable, "-m", "shaping", "report", "-o", "-"]
    with_texts = subprocess.run(command, env=home.environ, capture_output=True, text=True, check=True).stdout
    elsewhere = {**home.environ, "XDG_CACHE_HOME": f"{home.environ['XDG_CACHE_HOME']}-another"}
    without = subprocess.run(command, env=elsewhere, capture_output=True, text=True, check=True).stdout
    assert "Issue 29 of the list" in with_texts
    assert "Issue 29 of the list" not in without
    assert "is no longer kept" in without


def test_the_config_in_force_is_shown_with_who_decided_each_choice(home: Home, tmp_path: Path) -> None:
    config = tmp_path / "mine.json"
    config.write_text(
        json.dumps({"global": {"profile": "standard"}, "tool_overrides": {"github/list_issues": {"max_items": 7}}})
    )
    command = [sys.executable, "-m", "shaping", "report", "-o", "-", "--config", str(config)]
    page = subprocess.run(command, env=home.environ, capture_output=True, text=True, check=True).stdout
    section = page.partition('id="config"')[2]
    assert "standard" in section
    assert "mine.json:1" in section
    assert "max_items" in section


def test_what_the_last_check_of_traffic_found_is_on_the_page(home: Home, tmp_path: Path) -> None:
    traffic = tmp_path / "traffic"
    rows = json.dumps([{"id": n, "title": f"t{n}"} for n in range(20)])
    environ = {**home.environ, "SHAPING_CONFIG": str(tmp_path / "mine.json")}
    overrides = {"list_rows": {"include_only": ["id", "nmae"], "answers": [{"question": "first", "path": "[0].title"}]}}
    (tmp_path / "mine.json").write_text(json.dumps({"tool_overrides": overrides}))
    (tmp_path / "rows.json").write_text(rows)
    run = ["run", "--tool", "list_rows", "--record", str(traffic), "--", "cat", str(tmp_path / "rows.json")]
    subprocess.run([sys.executable, "-m", "shaping", *run], env=environ, check=True, capture_output=True)
    check = [sys.executable, "-m", "shaping", "check", "--traffic", str(traffic)]
    assert subprocess.run(check, env=environ, capture_output=True, check=False).returncode == 1
    command = [sys.executable, "-m", "shaping", "report", "-o", "-"]
    page = subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout
    section = page.partition('id="findings"')[2].partition("</section>")[0]
    assert "nmae" in section
    assert "matches nothing in this traffic" in section
    assert "contract" in section


def test_stretches_of_time_without_a_call_are_shown_too(tmp_path: Path) -> None:
    now = time.time()
    database = LedgerDatabase(tmp_path / "ledger.sqlite")
    database.add([LedgerEntry(now - 86_400 * 9, "a", 10, 5), LedgerEntry(now, "a", 20, 5)])
    bars = PageSource(database).collect().bars
    assert [bar.total.before for bar in bars][-10:] == [10, 0, 0, 0, 0, 0, 0, 0, 0, 20]


def test_the_page_adds_up_as_stats_does(tmp_path: Path) -> None:
    now, dice = time.time(), random.Random(7)  # noqa: S311 (the same numbers each time)
    database = LedgerDatabase(tmp_path / "ledger.sqlite")
    kinds: tuple[Kind, ...] = ("call", "expand", "query")
    database.add(
        LedgerEntry(
            now - dice.random() * 86_400 * 30,
            dice.choice("abc"),
            dice.randrange(1000),
            dice.randrange(500),
            dice.randrange(50),
            kind=dice.choice(kinds),
            server=dice.choice(["", "s"]),
            client=dice.choice(["x", "y"]),
            milliseconds=dice.random(),
            error_bound=dice.choice([0.0, 0.02]),
        )
        for _ in range(500)
    )
    data, entries = PageSource(database).collect(), database.entries()
    groups = group(entries, "tool")
    assert astuple(data.total) == pytest.approx(astuple(add_up(entries)))
    assert [name for name, _ in data.tools] == list(groups)
    assert all(astuple(total) == pytest.approx(astuple(groups[name])) for name, total in data.tools)
    assert sum(bar.total.before for bar in data.bars) == data.total.before
    assert [call.entry for call in data.calls] == sorted(entries, key=lambda one: -one.time)[:25]


def test_an_empty_ledger_says_what_fills_it(tmp_path: Path) -> None:
    data = PageSource(LedgerDatabase(tmp_path / "none.sqlite")).collect()
    assert (data.tools, data.calls, data.total.calls) == ((), (), 0)


async def call_records(port: int) -> None:
    async with Client(f"http://127.0.0.1:{port}/mcp") as client:
        for _ in range(3):
            await client.call_tool("records", {"count": 20})


def test_a_proxy_over_http_serves_its_sums_and_on_request_the_page(
    home: Home, free_port: Callable[[], int], until_it_listens: Callable[[subprocess.Popen[Any], int], None]
) -> None:
    port = free_port()
    command = ["-m", "shaping", "proxy", "--http", str(port), "--ui", "--", sys.executable, str(SERVER)]
    proxy = subprocess.Popen([sys.executable, *command], env=home.environ, stderr=subprocess.PIPE, text=True)
    try:
        assert proxy.stderr is not None
        proxy.stderr.readline()
        address = proxy.stderr.readline().split()[-1]
        until_it_listens(proxy, port)
        anyio.run(call_records, port)
        calls = 'shaping_calls_total{server="records",tool="records",client="mcp",kind="call"} 3'
        sums = _until(lambda: get(f"http://127.0.0.1:{port}/metrics")[1], calls)
        assert "# TYPE shaping_tokens_before_total counter" in sums
        assert get(f"http://127.0.0.1:{port}/")[0] == 401
        _until(lambda: f"{get(address)[1].count('The tool sent')} calls", "3 calls")
    finally:
        proxy.terminate()
        proxy.communicate(timeout=30)


def _until(read: Callable[[], str], expected: str) -> str:
    """Read again until the ledger's thread has counted: it waits for a pause between calls."""
    deadline = time.monotonic() + 60
    while expected not in (found := read()):
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
    return found


def test_over_pipes_the_page_is_asked_for_elsewhere(home: Home) -> None:
    command = [sys.executable, "-m", "shaping", "proxy", "--ui", "--", "true"]
    done = subprocess.run(command, env=home.environ, capture_output=True, text=True, check=False)
    assert (done.returncode, "shaping ui" in done.stderr) == (2, True)
