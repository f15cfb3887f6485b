from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from shaping import Shaper
from shaping.mcp.mcp_shaper import MCPShaper
from shaping.mcp.sessions import Session, ToolRequest
from shaping.store.result_files import ResultFile, result_file, results_folder

ISSUES: list[dict[str, Any]] = [
    {"id": n, "state": "open" if n % 3 else "closed", "title": f"Issue {n} with a few words", "note": None}
    for n in range(900)
]


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "work"


def run(example: str) -> list[str]:
    done = subprocess.run(example, shell=True, capture_output=True, text=True, check=True)  # noqa: S602 (what a model would run)
    return done.stdout.splitlines()


def written(value: Any, tool: str = "list") -> ResultFile:
    found = result_file(value, tool, results_folder())
    assert found.write()
    return found


def test_records_are_lines_and_the_command_finds_some_of_them() -> None:
    found = written({"total": 900, "page": {"issues": ISSUES}})
    assert [json.loads(line) for line in found.path.read_text().splitlines()] == ISSUES
    assert "of page.issues (id, state, title, note)" in str(found)
    assert found.example.startswith("grep")
    assert [json.loads(line)["state"] for line in run(found.example)] == ["open"] * 600


def test_odd_names_and_values_are_quoted_for_the_shell(workspace: Path) -> None:
    records = [{"it's $(touch x)": "a \"b\" 'c' `touch y`", "n": n} for n in range(50)]
    assert len(run(written(records, "a tool; rm -rf").example)) == 50
    assert not {"x", "y"} & {path.name for path in workspace.iterdir()}


def test_a_text_is_a_text_file_and_grep_finds_its_errors() -> None:
    found = written("\n".join(["fine"] * 500 + ["ERROR: disk full"] + ["fine"] * 500))
    assert run(found.example) == ["501:ERROR: disk full"]


def test_other_data_is_one_json_document() -> None:
    value = {"a": {"b": list(range(5))}, "c": ["x" * 400] * 4}
    found = written(value)
    assert (found.path.suffix, json.loads(found.path.read_text())) == (".json", value)


def test_the_same_answer_again_names_the_same_file(monkeypatch: pytest.MonkeyPatch) -> None:
    first = written(ISSUES)
    monkeypatch.setattr(time, "strftime", lambda _: "20990101-000000")
    assert written(ISSUES).path == first.path
    assert written(ISSUES[1:]).path != first.path
    assert written(ISSUES, "other-list").path.name.startswith("other-list-20990101")


def test_files_are_for_the_user_alone_and_ignored_by_version_control(workspace: Path) -> None:
    found = written(ISSUES)
    assert found.path.parent == workspace / ".shaping" / "results"
    assert stat.S_IMODE(found.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(found.path.parent.stat().st_mode) == 0o700
    subprocess.run(["git", "init", "-q"], check=True)
    status = subprocess.run(["git", "status", "--porcelain", "-uall"], capture_output=True, text=True, check=True)
    assert status.stdout == ""


def test_outside_of_a_working_tree_they_are_in_the_users_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert written(ISSUES).path.parent == tmp_path / "cache" / "shaping" / "results"


def test_old_files_go_and_the_oldest_of_too_many(workspace: Path) -> None:
    folder = results_folder()
    first, second = written("a" * 1000, "first"), written("b" * 1000, "second")
    os.utime(first.path, (0, 0))
    third = result_file("c" * 1000, "third", folder)
    assert third.write(max_bytes=2500)
    assert [second.path.exists(), third.path.exists(), first.path.exists()] == [True, True, False]
    os.utime(second.path, (1, 1))
    result_file("d" * 1000, "fourth", folder).write(max_bytes=2500)
    assert not second.path.exists()


def test_where_nothing_can_be_written_the_answer_has_a_ref(workspace: Path) -> None:
    (workspace / ".shaping").write_text("in the way")
    shaped = Shaper({"global": {"overflow": "file", "max_tokens": 400}}, expandable=True).shape(ISSUES, surface="mcp")
    assert "shaping_expand ref=r_" in shaped.text


@pytest.mark.parametrize("dialect", ["none", "lean", "flat", "invariant", "sourced"])
def test_a_cut_answer_names_a_file_with_all_of_its_cleaned_data(dialect: str, workspace: Path) -> None:
    rules = {"overflow": "file", "max_tokens": 500, "dialect": dialect, "private": ["title"]}
    records = [{**issue, "token": "ghp_" + "a1B2" * 9} for issue in ISSUES]
    shaped = Shaper({"global": rules}, expandable=True).shape(records, tool="srv/list_issues", surface="mcp")
    [file] = [path for path in (workspace / ".shaping" / "results").iterdir() if path.suffix == ".jsonl"]
    assert file.name.startswith("list_issues-")
    assert str(file) in shaped.text
    assert shaped.tokens.after <= 500
    kept = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(kept) == 900
    assert "Issue" not in file.read_text()
    assert "ghp_" not in file.read_text()


def test_a_cut_that_is_not_made_because_it_costs_more_writes_no_file(workspace: Path) -> None:
    rules = {"overflow": "file", "max_items": 2}
    shaped = Shaper({"global": rules}, expandable=True).shape([{"id": 1}, {"id": 2}, {"id": 3}], surface="mcp")
    assert not shaped.truncated
    assert not (workspace / ".shaping").exists()


def test_an_answer_that_has_no_room_to_name_a_file_writes_none(workspace: Path) -> None:
    rules = {"overflow": "file", "max_tokens": 12}
    shaped = Shaper({"global": rules}, expandable=True).shape(ISSUES, surface="mcp")
    assert shaped.truncated
    assert ".jsonl" not in shaped.text
    assert not (workspace / ".shaping").exists()


@pytest.mark.parametrize(("budget", "named"), [("400", True), ("30", False)])
def test_a_command_writes_the_file_that_it_names_and_no_other(budget: str, named: bool, workspace: Path) -> None:
    (workspace / "response_config.json").write_text('{"global": {"overflow": "file"}}')
    environ = {**os.environ, "SHAPING_LEDGER": "off", "SHAPING_CONFIG": str(workspace / "response_config.json")}
    words = [sys.executable, "-m", "shaping", "run", "--max-tokens", budget, "--", "seq", "1", "3000"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environ)
    folder = workspace / ".shaping" / "results"
    files = [path for path in folder.iterdir() if path.suffix == ".txt"] if folder.exists() else []
    assert [path.name in done.stderr for path in files] == ([True] if named else [])


def test_what_is_not_cut_is_written_nowhere(workspace: Path) -> None:
    Shaper({"global": {"overflow": "file"}}, expandable=True).shape(ISSUES[:5], surface="mcp").text  # noqa: B018 (written with the first look)
    assert not (workspace / ".shaping").exists()


@pytest.mark.parametrize(
    ("client", "local", "in_file"),
    [
        ("claude-code", True, True),
        ("claude-code", False, False),
        ("langchain-mcp-adapters", True, False),
        ("x", True, False),
    ],
)
def test_auto_writes_files_for_clients_that_work_on_this_machine(client: str, local: bool, in_file: bool) -> None:
    shaper = Shaper({"global": {"overflow": "auto", "max_tokens": 400}}, expandable=True)
    mcp_shaper = MCPShaper(shaper, relay=True, local=local)
    session = Session(shaper.loaded_config, {"name": client, "version": "9.9.9"})
    result = {"content": [{"type": "text", "text": json.dumps(ISSUES)}]}
    text = mcp_shaper.shape_result(session, ToolRequest("list", ""), result)["content"][0]["text"]
    assert (".jsonl" in text, "shaping_expand" in text) == (in_file, not in_file)


def test_a_command_that_is_cut_names_a_file(workspace: Path) -> None:
    (workspace / "c.json").write_text('{"global": {"overflow": "auto"}}')
    shaping = str(Path(sys.executable).with_name("shaping"))
    words = [shaping, "run", "--config", "c.json", "--max-tokens", "200", "--"]
    done = subprocess.run([*words, "seq", "-f", "entry %g", "5000"], capture_output=True, text=True, check=True)
    assert "of 5,000 lines left out; all of it as text: grep -n -i entry " in done.stderr
    assert len(run(done.stderr.partition("text: ")[2].strip().removesuffix(")"))) == 5000


@pytest.mark.parametrize("linked", [".shaping", ".shaping/results"])
def test_a_link_in_the_working_tree_is_not_followed_and_no_file_of_others_is_deleted(
    workspace: Path, tmp_path: Path, linked: str
) -> None:
    documents = tmp_path / "documents"
    (documents / "results").mkdir(parents=True)
    own = [documents / "thesis.txt", documents / "results" / "thesis.txt"]
    for file in own:
        file.write_text("years of work")
        os.utime(file, (0, 0))
    place = workspace / linked
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(documents)
    found = written(ISSUES)
    assert found.path.parent == tmp_path / "cache" / "shaping" / "results"
    assert [file.read_text() for file in own] == ["years of work"] * 2


def test_files_of_others_in_the_folder_stay(workspace: Path) -> None:
    folder = workspace / ".shaping" / "results"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    os.utime(folder / "notes.txt", (0, 0))
    (folder / ".gitignore").symlink_to(workspace / "elsewhere")
    written(ISSUES)
    assert (folder / "notes.txt").exists()
    assert not (workspace / "elsewhere").exists()
