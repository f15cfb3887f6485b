from __future__ import annotations

import json
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from shaping import Shaper
from shaping.cli.app import build
from shaping.integrations import ToolResults, holds_objects_of
from shaping.ledger.writer import _ledger_of_process
from tests.integrations.answers import issues, ref_in


def test_text_and_data_come_out_as_over_mcp(shaper: Shaper, read_over_mcp: str) -> None:
    results = ToolResults("test", shaper=shaper)
    assert results.text(issues(), "list_issues") == read_over_mcp
    assert results.text("a plain sentence", "say") == "a plain sentence"


def test_pictures_stay_between_texts(shaper: Shaper) -> None:
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    shown = ToolResults("test", shaper=shaper).blocks([{"type": "text", "text": "above"}, picture], "draw")
    assert [block["type"] for block in shown] == ["text", "image"]


def test_what_was_left_out_is_expanded_asked_and_searched(shaper: Shaper, read_over_mcp: str) -> None:
    results, ref = ToolResults("test", shaper=shaper), ref_in(read_over_mcp)
    assert "issues/1" in results.shaping_expand(ref, "[0].url")
    assert results.shaping_expand(ref, sql="SELECT count(*) AS n FROM items") == '[{"n":30}]'
    assert "issues/7" in results.shaping_expand(ref, search="issues/7/comments")
    assert results.shaping_expand("r_none").startswith("REF_NOT_FOUND")


def test_last_shows_a_call_of_an_integration_whose_store_is_a_file_and_says_where_that_of_another_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHAPING_LEDGER", str(tmp_path / "ledger.sqlite"))
    config = {"store": {"kind": "sqlite", "path": str(tmp_path / "store.sqlite")}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    monkeypatch.setenv("SHAPING_CONFIG", str(tmp_path / "config.json"))
    stores: dict[str, Any] = {"memory": {}, "disk": config}
    for name, chosen in stores.items():
        with closing(Shaper(chosen, expandable=True)) as shaper:
            ToolResults("test", shaper=shaper).text(issues(), name)
            assert _ledger_of_process(tmp_path / "ledger.sqlite", "o200k_base").flush(60)
    shown = {name: CliRunner().invoke(build(), ["last", "--tool", name]).stdout for name in ("memory", "disk")}
    assert "in the memory of a process that ended" in shown["memory"]
    assert "The tool sent, read as data (- was left out):" in shown["disk"]


def test_a_frameworks_own_objects_are_found_inside_data() -> None:
    nested: Any = {"rows": [date(2026, 1, 1)]}
    assert holds_objects_of("datetime", nested)
    assert not holds_objects_of("datetime", {"rows": [1, "a", None]})


def test_the_profile_of_an_integration_gives_way_to_the_environment() -> None:
    def text(**environ: str) -> str:
        results = ToolResults("test", profile="minimal", shaper=Shaper({}, environ=environ))
        return results.text({"a": 1, "rows": [{"b": None, "c": n} for n in range(9)]}, "t")

    assert '"b":null' in text(SHAPING_PROFILE="debug").replace(" ", "")
    assert '"b":null' not in text().replace(" ", "")
