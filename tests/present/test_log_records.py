from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings, strategies as st

from shaping import tokens
from shaping.response import Listed
from shaping.shaper import Shaper

SHAPING = str(Path(sys.executable).with_name("shaping"))
BUDGET = 400


def log(rows: int, error_every: int = 90, level: str = "level", said: str = "error") -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            level: said if number % error_every == error_every - 1 else "info",
            "msg": f"request {number} of user {number * 7919 % 1000} took {number * 31 % 97} ms",
        }
        for number in range(rows)
    ]


@pytest.mark.parametrize(("level", "said"), [("level", "error"), ("severity", "CRITICAL"), ("log_level", "Fatal")])
@pytest.mark.parametrize("inside", [False, True])
def test_a_cut_log_shows_its_first_records_and_those_that_report_errors(level: str, said: str, inside: bool) -> None:
    rows = log(900, level=level, said=said)
    shaped = Shaper({"global": {"max_tokens": BUDGET}}).shape({"logs": rows} if inside else rows, tool="logs")
    data = shaped.value["data"]["logs"] if inside else shaped.value["data"]
    (listed,) = shaped.shown
    first = listed.first or 0
    assert first > 2
    assert data == rows[:first] + [row for row in rows[first:] if row[level] == said]
    assert listed == Listed("logs" if inside else "", len(data), 900, first=first, errors=10)
    assert [each.count for each in shaped.omissions] == [900 - len(data)]
    assert tokens.exact(shaped.text) <= BUDGET


def test_pages_go_on_after_the_first_records_and_give_every_record() -> None:
    rows = log(200, error_every=40)
    shaper = Shaper({"global": {"max_tokens": BUDGET, "encoding": "json"}}, expandable=True)
    shaped = shaper.shape(rows, tool="logs")
    found, cursor = shaped.value["data"][: shaped.shown[0].first], shaped.cursor
    assert shaped.ref is not None
    while cursor is not None:
        page = shaper.expand(shaped.ref, cursor=cursor)
        found += page.value["data"]
        cursor = page.cursor
    assert found == rows
    (omission,) = shaped.omissions
    assert omission.path == f"[{shaped.shown[0].first}:200]"


def test_errors_that_do_not_fit_are_counted() -> None:
    rows = log(900, error_every=3)
    shaped = Shaper({"global": {"max_tokens": BUDGET}}).shape(rows, tool="logs")
    (listed,), data = shaped.shown, shaped.value["data"]
    assert listed.first
    errors = [row for row in rows[listed.first :] if row["level"] == "error"]
    assert data[listed.first :] == errors[: len(data) - listed.first]
    assert listed.errors == len(errors) > len(data)


def test_a_limit_of_elements_keeps_the_records_that_report_errors() -> None:
    rows = log(900)
    shaped = Shaper({"global": {"max_items": 20, "max_string": 24}}).shape(rows, tool="logs")
    data = shaped.value["data"]
    assert [row["id"] for row in data] == [*range(10), *range(89, 900, 90)]
    assert shaped.shown == (Listed("", 20, 900, first=10, errors=10),)


@pytest.mark.parametrize(
    "rows", [log(900, error_every=1), log(900, error_every=901), log(900, error_every=1, said="50")]
)
def test_a_list_without_errors_or_of_errors_alone_is_its_first_records(rows: list[Any]) -> None:
    shaped = Shaper({"global": {"max_tokens": BUDGET}}).shape(rows, tool="logs")
    assert shaped.shown == (Listed("", len(shaped.value["data"]), 900),)
    assert shaped.value["data"] == rows[: len(shaped.value["data"])]


def test_a_log_over_mcp_says_which_records_it_shows() -> None:
    shaper = Shaper({"global": {"max_tokens": BUDGET}}, expandable=True)
    result = {"content": [{"type": "text", "text": json.dumps(log(900))}]}
    text = shaper.shape_result(result, tool="logs", channels="text")["content"][0]["text"]
    said = re.search(r"items: (\d+) of 900 shown, the first (\d+) and then 10 of 10 more that report errors;", text)
    assert said is not None
    assert int(said[1]) == int(said[2]) + 10
    assert text.count("error,") == 10


def test_a_log_that_a_command_prints_and_a_config_filters_keeps_its_errors(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"\n".join(map(orjson.dumps, log(900))))
    config = {"tool_overrides": {"cat": {"include_only": ["level", "msg"]}}}
    (tmp_path / "response_config.json").write_text(json.dumps(config))
    environ = {**os.environ, "SHAPING_CONFIG": str(tmp_path / "response_config.json"), "XDG_CACHE_HOME": str(tmp_path)}
    words = [SHAPING, "run", "--max-tokens", str(BUDGET), "--", "cat", "log"]
    ran = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True)
    assert "of 900 shown, the first" in ran.stdout
    assert ran.stdout.count("request 89 ") == ran.stdout.count("request 899 ") == 1
    assert ran.stdout.count("error,") == 10


@given(st.lists(st.sampled_from(["info", "error", "warn"]), max_size=80), st.integers(20, 300), st.integers(1, 60))
@settings(max_examples=40, deadline=None)
def test_any_log_is_within_its_budget_in_order_and_told_truly(levels: list[str], budget: int, length: int) -> None:
    rows = [{"id": number, "level": level, "msg": "m" * length} for number, level in enumerate(levels)]
    shaped = Shaper({"global": {"max_tokens": budget}}).shape(rows, tool="logs")
    assert tokens.exact(shaped.text) <= budget
    data = shaped.value["data"]
    ids = [row["id"] for row in data if "id" in row]
    assert ids == sorted(ids)
    for listed in shaped.shown:
        first = len(data) if listed.first is None else listed.first
        assert (listed.shown, listed.total) == (len(data), len(rows))
        assert ids[:first] == list(range(len(ids[:first])))
        assert all(row["level"] == "error" for row in data[first:])
        assert listed.errors in {None, levels[first:].count("error")}
