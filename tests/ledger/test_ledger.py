from __future__ import annotations

import logging
import os
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest

from shaping import tokens
from shaping.ledger import (
    Ledger,
    LedgerDatabase,
    LedgerEntry,
    LedgerError,
    MeasuredCall,
    add_up,
    record_text,
)
from shaping.ledger.entries import VERSION, group
from shaping.settings.files import ledger_path

LONG, SHORT = "a tool sent a lot of words " * 40, "few words"


def measured(tool: str = "search", **said: object) -> MeasuredCall:
    return replace(MeasuredCall(tool, lambda: LONG, lambda: SHORT), **said)  # type: ignore[arg-type]


def entry(**said: object) -> LedgerEntry:
    return replace(LedgerEntry(time.time(), "search", 100, 40), **said)  # type: ignore[arg-type]


def test_what_a_call_saved_is_counted_in_tokens_and_written(tmp_path: Path) -> None:
    database = LedgerDatabase(tmp_path / "ledger.sqlite")
    ledger = Ledger(database)
    ledger.record(measured(server="github", client="claude-code", profile="minimal"))
    assert ledger.flush()
    (found,) = database.entries()
    assert (found.before, found.after) == (tokens.exact(LONG), tokens.exact(SHORT))
    assert (found.server, found.client, found.tokenizer, found.error_bound) == (
        "github",
        "claude-code",
        "o200k_base",
        0.0,
    )
    assert ledger.totals() == add_up([found])
    ledger.close()


def test_a_saving_is_net_of_what_was_asked_back() -> None:
    total = add_up([entry(), entry(kind="expand", before=0, after=25), entry(kind="definition", before=0, after=10)])
    assert (total.saved, total.calls, total.expansions) == (25, 1, 1)
    assert str(total) == "saved 25 of 100 tokens net in 1 call; 1 expansion"


def test_entries_are_added_up_by_tool_and_by_day() -> None:
    entries = [
        entry(server="a", time=0.0),
        entry(server="b", before=1000, time=0.0),
        entry(server="a", time=86_400.0 * 3),
    ]
    assert {name: total.saved for name, total in group(entries, "tool").items()} == {"b/search": 960, "a/search": 120}
    assert [total.calls for total in group(entries, "day").values()] == [2, 1]


def test_the_file_is_for_its_user_alone_and_never_followed_through_a_link(tmp_path: Path) -> None:
    LedgerDatabase(tmp_path / "new" / "ledger.sqlite").add([entry()])
    assert stat.S_IMODE((tmp_path / "new" / "ledger.sqlite").stat().st_mode) == 0o600


def test_processes_write_to_one_file_at_once(tmp_path: Path) -> None:
    script = (
        "import sys, time; from shaping.ledger import LedgerDatabase, LedgerEntry\n"
        "for n in range(20): LedgerDatabase(sys.argv[1]).add([LedgerEntry(time.time(), f'{sys.argv[2]}-{n}', 2, 1)])"
    )
    path = str(tmp_path / "ledger.sqlite")
    running = [subprocess.Popen([sys.executable, "-c", script, path, str(n)]) for n in range(3)]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    assert len({found.tool for found in LedgerDatabase(path).entries()}) == 60


def test_old_entries_and_those_beyond_the_bound_are_forgotten(tmp_path: Path) -> None:
    database = LedgerDatabase(tmp_path / "ledger.sqlite", max_days=1, max_entries=3)
    database.add([entry(time=time.time() - 200_000, tool="old"), *(entry(tool=str(n)) for n in range(5))])
    assert [found.tool for found in database.entries()] == ["2", "3", "4"]


def test_a_flood_is_dropped_and_counted_and_never_blocks(tmp_path: Path) -> None:
    database = LedgerDatabase(tmp_path / "ledger.sqlite")
    ledger = Ledger(database)
    for _ in range(5_000):
        ledger.record(measured())
    assert ledger.flush(60)
    ledger.record(measured())
    assert ledger.flush(60)
    assert len(database.entries()) + ledger.dropped == 5_001
    assert database.dropped() == ledger.dropped
    ledger.close()


def test_a_call_that_cannot_be_counted_costs_nothing_but_its_line(caplog: pytest.LogCaptureFixture) -> None:
    ledger = Ledger()
    ledger.record(MeasuredCall("broken", lambda: 1 // 0 * "", lambda: ""))
    ledger.record(measured())
    with caplog.at_level(logging.WARNING, "shaping"):
        assert ledger.flush()
    assert ledger.totals().calls == 1
    ledger.close()


def test_a_file_that_cannot_be_written_is_told_once_and_counting_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "ledger.sqlite").write_bytes(b"no database" * 200)
    ledger = Ledger(LedgerDatabase(tmp_path / "ledger.sqlite"))
    with caplog.at_level(logging.WARNING, "shaping"):
        for _ in range(3):
            ledger.record(measured())
            assert ledger.flush()
    assert ledger.totals().calls == 3
    assert [record.message for record in caplog.records if "cannot be written" in record.message] == [
        caplog.records[0].message
    ]
    ledger.close()


def test_a_file_of_another_format_is_refused_with_a_way_out(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(LedgerError, match="SHAPING_LEDGER"):
        LedgerDatabase(tmp_path / "ledger.sqlite").entries()


def test_the_files_format_does_not_change_silently() -> None:
    names = [field.name for field in fields(LedgerEntry)]
    first = "time tool before after added kind server client profile config session"
    assert (VERSION, " ".join(names)) == (1, f"{first} milliseconds tokenizer error_bound ref")


@pytest.mark.parametrize(("value", "expected"), [("off", None), ("0", None), ("/tmp/x.db", Path("/tmp/x.db"))])
def test_a_variable_names_the_file_or_switches_it_off(value: str, expected: Path | None) -> None:
    assert ledger_path({"SHAPING_LEDGER": value}) == expected


def test_without_a_variable_it_lies_in_the_users_data_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if os.name == "posix" and sys.platform != "darwin":
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        assert ledger_path({}) == tmp_path / "shaping" / "ledger.sqlite"


def test_long_texts_are_counted_exactly_too() -> None:
    text = "one two three, " * 4_000
    ledger = Ledger()
    ledger.record(MeasuredCall("long", lambda: text, lambda: ""))
    assert ledger.flush()
    assert (ledger.totals().before, ledger.totals().error) == (tokens.exact(text), 0.0)
    ledger.close()


def test_names_from_outside_are_bounded_and_hold_no_secret(tmp_path: Path) -> None:
    database = LedgerDatabase(tmp_path / "ledger.sqlite")
    ledger = Ledger(database)
    ledger.record(measured("t" * 10_000, client="key ghp_" + "a1B2" * 9))
    assert ledger.flush()
    (found,) = database.entries()
    assert len(found.tool) == 200
    assert "ghp_a1B2" not in found.client
    ledger.close()


def test_any_caller_records_by_two_texts_through_one_ledger_of_the_process(tmp_path: Path) -> None:
    script = (
        "from shaping.ledger import record_text, writer\n"
        "writer._EXIT_SECONDS = 60\n"
        "record_text('search', 'some more words', 'words', client='langchain')\n"
        "record_text('search', '', lambda: 'asked back', kind='expand')\n"
    )
    environ = {**os.environ, "SHAPING_LEDGER": str(tmp_path / "ledger.sqlite")}
    subprocess.run([sys.executable, "-c", script], env=environ, check=True)
    call, expansion = LedgerDatabase(tmp_path / "ledger.sqlite").entries()
    assert (call.client, call.before, call.after, call.added) == ("langchain", 3, 1, 0)
    assert (expansion.kind, expansion.before, expansion.after, expansion.added) == ("expand", 0, 2, 2)


def test_a_ledger_that_is_off_records_nothing_anywhere(tmp_path: Path) -> None:
    record_text("search", "a", "b", environ={"SHAPING_LEDGER": "off"})
    environ = {**os.environ, "SHAPING_LEDGER": "off", "XDG_DATA_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    script = "from shaping.ledger import record_text; record_text('a', 'b', 'c')"
    subprocess.run([sys.executable, "-c", script], env=environ, check=True)
    command = [sys.executable, "-m", "shaping", "run", "--", sys.executable, "-c", "print('[1, null]')"]
    subprocess.run(command, env=environ, check=True, capture_output=True)
    assert not list(tmp_path.rglob("ledger*"))


def test_a_forked_process_records_through_a_thread_of_its_own(tmp_path: Path, run_forking: Callable[..., str]) -> None:
    script = (
        "import os, sys\n"
        "from shaping.ledger import Ledger, LedgerDatabase, MeasuredCall\n"
        "ledger = Ledger(LedgerDatabase(sys.argv[1]))\n"
        "ledger.record(MeasuredCall('parent', lambda: 'a', lambda: 'a'))\n"
        "assert ledger.flush(60)\n"
        "child = os.fork()\n"
        "ledger.record(MeasuredCall('parent' if child else 'child', lambda: 'a', lambda: 'a'))\n"
        "assert ledger.close(60)\n"
        "if child: os.waitpid(child, 0)\n"
        "else: os._exit(0)\n"
    )
    path = tmp_path / "ledger.sqlite"
    run_forking(script, path)
    assert sorted(found.tool for found in LedgerDatabase(path).entries()) == ["child", "parent", "parent"]


def test_sums_are_written_for_prometheus_and_their_labels_are_bounded() -> None:
    ledger = Ledger()
    ledger.record(measured('a"b\nc', server="s"))
    assert ledger.flush()
    before = tokens.exact(LONG)
    line = f'shaping_tokens_before_total{{server="s",tool="a\\"b\\nc",client="",kind="call"}} {before}'
    assert line in ledger.metrics().splitlines()
    ledger._label([entry(tool=f"tool {n}") for n in range(2_000)])
    assert ledger.metrics().count("shaping_calls_total{") <= 1_001
    assert 'tool="(other)"' in ledger.metrics()
    ledger.close()
