"""A log that is cut says which sections, which time and which levels its missing lines are of."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from shaping import Shaper
from shaping.parsers import parse_if_cheaper
from shaping.parsers.sections import LogLines, sections_of
from shaping.store.backends import MemoryStore

SHAPING = str(Path(sys.executable).with_name("shaping"))
LOG = [
    f"2026-01-01 10:{n // 60:02}:{n % 60:02},120 {'WARNING' if n % 7 == 0 else 'INFO'} app: step {n} is done"
    for n in range(900)
]
TESTS = [
    "===== test session starts =====",
    *(f"tests/test_{n}.py takes {n * n} steps" for n in range(300)),
    "===== FAILURES =====",
    *(f"    value = {n}" for n in range(300)),
    "===== short test summary info =====",
    "1 went wrong",
]


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def cut(lines: list[str], surface: str, folder: Path) -> tuple[str, str]:
    """Cut a text to 500 tokens and return what is shown of it and what is said of it."""
    text = "\n".join(lines) + "\n"
    if surface == "command":
        (folder / "text").write_text(text)
        words = [SHAPING, "run", "--max-tokens", "500", "--", "cat", "text"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout, done.stderr
    shaper = Shaper({"global": {"max_tokens": 500, "prune": []}}, expandable=True)
    result = shaper.shape_result({"content": [{"type": "text", "text": text}]}, tool="read", channels="text")
    told, _, shown = result["content"][0]["text"].partition("\n")
    return shown, told


def test_times_and_levels_of_missing_lines_are_told_and_true(tmp_path: Path) -> None:
    shown, told = cut(LOG, "command", tmp_path)
    first, last, info, warn = re.search(r"\(of (\S+)\.\.(\S+), INFO (\d+), WARN (\d+)\)", told).groups()  # type: ignore[union-attr]  # it is there
    missing = [line for line in LOG if line not in shown.split("\n")]
    assert (first, last) == (missing[0][11:19], missing[-1][11:19])
    assert int(info) == sum(" INFO " in line for line in missing)
    assert int(warn) == sum(" WARNING " in line for line in missing)


@pytest.mark.parametrize("surface", ["command", "mcp"])
def test_sections_of_missing_lines_are_told_and_true(surface: str, tmp_path: Path) -> None:
    shown, told = cut(TESTS, surface, tmp_path)
    found = dict(re.findall(r"(?:of |, )([a-zA-Z ]+?) (\d+)", told[told.index("of test session") :]))
    lines = shown.split("\n")
    begun = sum(line in lines for line in TESTS[:301])
    assert int(found["test session starts"]) in {301 - begun, 301 - begun + 1}
    assert "FAILURES" in found


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("##[group]Run actions/checkout@v4", "Run actions/checkout@v4"),
        ("::group::Install", "Install"),
        ("==> /var/log/syslog <==", "/var/log/syslog"),
        ("Step 3/7 : RUN make", "RUN make"),
        ("[INFO] --- compiler:3.1 (default) @ core ---", "compiler:3.1 (default) @ core"),
        ("______ test_it[1] ______", "test_it[1]"),
    ],
)
def test_headings_of_runners_builds_and_services_are_known(line: str, name: str) -> None:
    lines = [line, "a", "b", line.replace("1", "2"), "c"]
    read = sections_of(lines)
    assert read is not None
    assert read.list_missing([1, 2]) == f"{name} 2"


def test_levels_in_members_of_a_line_are_known() -> None:
    lines = [json.dumps({"time": "2026-01-02T03:04:05Z", "level": "warn", "n": n}) for n in range(20)]
    read = LogLines.of(lines)
    assert read is not None
    assert read.list_missing(range(3, 9)) == "03:04:05..03:04:05, WARN 6"


@pytest.mark.parametrize("lines", [[str(n) for n in range(99)], ["a word"] * 9, [], ["---", "===", "# A title"]])
def test_any_other_text_has_no_sections(lines: list[Any]) -> None:
    assert sections_of(lines) is None


WORDS = ("alpha", "beta", "gamma", "delta", "eps", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu")
DICE = random.Random(3)  # noqa: S311 (the same in every run)
SERVICES = "".join(
    f"2026-01-01 10:{n // 60:02}:{n % 60:02},120 {'ERROR' if n % 97 == 0 else 'INFO'} "
    f"com.example.service.{DICE.choice(WORDS)}: {' '.join(DICE.choices(WORDS, k=DICE.randint(1, 3)))}\n"
    for n in range(900)
)


def test_a_log_that_would_be_rows_is_cut_to_whole_lines_of_its_own_and_its_pages_go_on_where_it_ends() -> None:
    parsed = parse_if_cheaper(SERVICES)
    assert parsed is not None
    assert parsed.format == "log"
    shaper = Shaper({"global": {"max_tokens": 500, "dialect": "none"}}, expandable=True)
    page = shaper.shape(SERVICES, tool="read", surface="mcp")
    ref = page.ref
    assert ref is not None
    shown = page.text.removesuffix(page.notice).split("\n")
    assert {line for line in shown if line and not line.startswith("…")} <= set(SERVICES.split("\n"))
    assert [line for line in SERVICES.split("\n") if " ERROR " in line and line not in shown] == []
    first, _, _ = page.value.partition("…")
    texts = [first]
    while page.cursor is not None:
        page = shaper.expand(ref, cursor=page.cursor, max_tokens=20_000, surface="mcp")
        texts.append(page.value)
    assert "".join(texts) == SERVICES


class Counting(MemoryStore):
    """A store that knows how often it was written to."""

    def __init__(self) -> None:
        super().__init__(10_000_000)
        self.refs: list[str] = []

    def put(self, ref: str, payload: bytes, *, meta: Mapping[str, str], ttl: float) -> None:
        self.refs.append(ref)
        super().put(ref, payload, meta=meta, ttl=ttl)


@pytest.mark.parametrize("overflow", ["file", "ref"])
def test_a_log_that_is_cut_is_kept_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overflow: str) -> None:
    monkeypatch.chdir(tmp_path)
    store = Counting()
    shaper = Shaper({"global": {"max_tokens": 500, "overflow": overflow}}, expandable=True, store=store)
    shaped = shaper.shape(SERVICES, tool="read", surface="mcp")
    shaper.close()
    assert shaped.truncated
    assert len(list((tmp_path / "cache").rglob("read-*"))) == (overflow == "file")
    assert store.refs == ([] if overflow == "file" else [shaped.ref])
