from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from shaping import tokens
from shaping.cli.app import build
from shaping.cli.payloads import read_bytes

RAW = {"items": [{"number": 1, "title": "Broken", "assignee": None}], "next": None}


class Terminal(io.TextIOWrapper):
    """What a person types."""

    def __init__(self, typed: bytes) -> None:
        super().__init__(io.BytesIO(typed))

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw.json").write_text(json.dumps(RAW))


def shaping(*arguments: str, stdin: str | bytes | None = None) -> Any:
    return CliRunner().invoke(build(), ["shape", *arguments], input=stdin)


def test_a_file_is_shaped_and_the_counts_go_to_standard_error() -> None:
    done = shaping("raw.json")
    assert done.exit_code == 0
    assert json.loads(done.stdout) == RAW
    assert "tokens" in done.stderr


def test_nothing_is_said_to_be_left_out_where_all_of_it_is_printed() -> None:
    done = shaping("raw.json")
    assert json.loads(done.stdout) == RAW
    assert "left out" not in done.stderr


def test_what_was_left_out_is_told_below_the_counts() -> None:
    _, told = shaping("raw.json", "--value").stderr.splitlines()
    assert re.fullmatch(r"left out: 2 null \(assignee, next\); shaping expand r_\w+ shows all", told)


def test_a_csv_beyond_the_budget_is_cut_between_two_records(tmp_path: Path) -> None:
    rows = [f'{n},City {n * 7919 % 1013},{n * 31 % 997}.25,"note {n * 17 % 8191}, words"' for n in range(2000)]
    (tmp_path / "big.csv").write_text("\n".join(["id,city,price,note", *rows, ""]))
    done = shaping("big.csv", "--max-tokens", "1000")
    lines = done.stdout.splitlines()
    shown = [line.replace('"', "") for line in lines[lines.index("id,city,price,note") + 1 : -1]]
    assert lines[-1] == f"(items: {len(shown)} of 2000 shown)"
    assert shown == [row.replace('"', "") for row in rows[: len(shown)]]
    assert len(shown) > 20
    assert "\\n" not in done.stdout
    before = re.match(r"([\d,]+) tokens before", done.stderr)
    assert before is not None
    whole = tokens.counter("o200k_base").exact((tmp_path / "big.csv").read_text())
    assert int(before[1].replace(",", "")) == pytest.approx(whole, rel=0.02)


def test_what_was_left_out_is_expanded_by_another_process_less_secrets(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    rows = [{"n": n, "word": None, "token": token} for n in range(200)]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    (tmp_path / "response_config.json").write_text('{"global": {"private": ["n"]}}')
    command = [sys.executable, "-m", "shaping"]
    first = subprocess.run(
        [*command, "shape", "rows.json", "--max-tokens", "90"], capture_output=True, text=True, check=False
    )
    ref = re.search(r"; shaping expand (r_\w+) shows all$", first.stderr.strip())
    assert ref, first.stderr
    second = subprocess.run([*command, "expand", ref[1], "[150:152]"], capture_output=True, text=True, check=False)
    assert json.loads(second.stdout) == [{"word": None, "token": "[redacted:github-token]"}] * 2, second.stderr
    assert token not in first.stdout + second.stdout


def test_without_a_store_the_profile_that_shows_all_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    done = shaping("raw.json", "--value")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["data"]
    assert done.stderr.splitlines()[-1].startswith("left out: 2 null (assignee, next); ")


def test_under_a_budget_for_the_call_no_profile_is_said_to_show_all() -> None:
    rows = {"rows": [{"n": n, "word": None} for n in range(200)]}
    done = shaping("--max-tokens", "60", stdin=json.dumps(rows))
    assert done.stderr.splitlines()[-1].startswith("left out: ")
    assert ", 200 null (word); shaping expand r_" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        ([], '{"a": 1}'),
        (["--profile", "standard"], json.dumps(RAW)),
        (["--profile", "debug"], json.dumps(RAW)),
        (["--quiet"], json.dumps(RAW)),
        (["--json"], json.dumps(RAW)),
        (["--fields", "items[].number"], json.dumps(RAW)),
    ],
)
def test_nothing_is_told_of_what_is_not_missing_was_asked_for_or_stands_in_the_answer(
    arguments: list[str], stdin: str
) -> None:
    assert "left out" not in shaping(*arguments, stdin=stdin).stderr


@pytest.mark.parametrize("mode", ["off", "observe"])
def test_nothing_is_told_where_nothing_was_shaped(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAPING", mode)
    done = shaping("raw.json")
    assert json.loads(done.stdout) == RAW
    assert "left out" not in done.stderr


def test_standard_input_is_shaped_where_no_file_is_named() -> None:
    done = shaping("--quiet", stdin=json.dumps(RAW))
    assert json.loads(done.stdout) == RAW
    assert done.stderr == ""


def test_a_tool_a_config_and_a_profile_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text('{"tool_overrides": {"list": {"include_only": ["items[].title"]}}}')
    done = shaping("raw.json", "--tool", "list", "--config", "mine.json")
    assert json.loads(done.stdout) == {"items": [{"title": "Broken"}]}
    done = shaping("raw.json", "--tool", "list", "--config", "mine.json", "--profile", "debug")
    assert json.loads(done.stdout)["data"] == RAW


def test_fields_can_be_named_for_one_call() -> None:
    assert json.loads(shaping("raw.json", "--fields", "items[].number, next").stdout) == {
        "items": [{"number": 1}],
        "next": None,
    }


def test_text_that_is_not_json_is_shaped_as_text() -> None:
    assert json.loads(shaping("--value", stdin="plain words").stdout) == {"data": "plain words"}


@pytest.mark.parametrize(
    "stdin",
    [
        '{"number": 1, "url": null}\n{"number": 2}\n',
        '\n{"number": 1}\r\n\r\n{"number": 2}',
        '{"number": 1} {\n  "number": 2\n}\n',
    ],
)
def test_json_values_one_after_the_other_are_a_list_as_they_are_for_a_command(stdin: str) -> None:
    assert json.loads(shaping("--value", stdin=stdin).stdout) == {"data": [{"number": 1}, {"number": 2}]}


@pytest.mark.parametrize("stdin", ["1\n2\n", "[INFO] one\n[INFO] two\n", '{"number": 1}\nthen words\n'])
def test_text_with_something_like_json_in_it_stays_text(stdin: str) -> None:
    assert json.loads(shaping("--value", stdin=stdin).stdout) == {"data": stdin}


@pytest.mark.parametrize("structured", [RAW, {"result": json.dumps(RAW)}, None])
def test_of_an_mcp_result_the_data_is_shaped(structured: object) -> None:
    result = {"content": [{"type": "text", "text": json.dumps(RAW)}], "structuredContent": structured}
    done = shaping(stdin=json.dumps(result))
    assert (done.exit_code, done.stdout) == (0, shaping(stdin=json.dumps(RAW)).stdout)


def test_an_mcp_result_stays_one() -> None:
    result = {"content": [{"type": "text", "text": json.dumps(RAW, indent=2)}]}
    done = shaping("--mcp", stdin=json.dumps(result))
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert json.loads(answer["content"][0]["text"]) == RAW


def test_a_warning_is_told_on_standard_error() -> None:
    done = shaping(stdin='{"n": NaN}')
    assert done.exit_code == 0
    assert "NOT_A_NUMBER at n" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        (["nowhere.json"], None, "cannot read nowhere.json"),
        (
            ["--profile", "minimla"],
            "{}",
            "--profile is 'minimla'; expected debug, minimal or standard. Did you mean 'minimal'?",
        ),
        (["--mcp"], "[1]", "holds no MCP result"),
        (["--config", "nowhere.json"], "{}", "nowhere.json"),
    ],
)
def test_a_wrong_call_exits_with_2_and_says_why(arguments: list[str], stdin: str | None, said: str) -> None:
    done = shaping(*arguments, stdin=stdin)
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_config_with_problems_exits_with_1_and_lists_them(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"global": {"profile": "minimla", "max_tokens": -5}}')
    done = shaping("raw.json", "--config", "bad.json")
    assert done.exit_code == 1
    assert "2 problems" in done.stderr
    assert "Did you mean 'minimal'?" in done.stderr


def test_paths_that_cannot_be_read_are_a_wrong_call() -> None:
    done = shaping("raw.json", "--fields", "items[")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "--fields is 'items['" in done.stderr


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (f'{{"n": {2**80}}}', {"n": str(2**80)}),
        (f'{{"n": {2**63}}}', {"n": 2**63}),
        ('{"n": NaN, "m": -Infinity}', {"n": "NaN", "m": "-Infinity"}),
        ("[" * 3000, "[" * 3000),
    ],
)
def test_no_number_is_changed_on_the_way_in(raw: str, expected: Any) -> None:
    assert json.loads(shaping("--value", stdin=raw).stdout)["data"] == expected


def test_an_empty_answer_has_no_percentage() -> None:
    assert shaping(stdin="").stderr.splitlines()[-1] == "0 tokens before, 0 after"


def test_a_broken_config_is_told_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "bad.json").write_text('{"globl": {}}')
    done = shaping("raw.json", "--config", "bad.json")
    assert done.exit_code == 1
    assert done.stderr.count("globl") == 1
    assert caplog.text == ""


ROWS = [{"id": n, "title": f"Widget number {n} squeaks", "state": "open"} for n in range(300)]


@pytest.mark.parametrize("options", [(), ("--value",)])
def test_a_budget_is_for_what_is_printed_and_is_used_up(options: tuple[str, ...]) -> None:
    done = shaping("--max-tokens", "500", *options, stdin=json.dumps(ROWS))
    cost = tokens.exact(done.stdout.rstrip("\n"))
    assert 450 <= cost <= 500
    assert f"{cost} after" in done.stderr


def test_fields_that_are_not_there_are_warned_of_with_the_nearest_names() -> None:
    done = shaping("--fields", "titel,id", stdin=json.dumps(ROWS))
    assert "warning: NO_SUCH_FIELD: nothing at titel; did you mean title?\n" in done.stderr
    assert (done.exit_code, done.stderr.count("nothing at titel")) == (0, 1)
    told = json.loads(shaping("--fields", "zzz", "--json", stdin=json.dumps(ROWS)).stdout)
    assert told["warnings"] == ["NO_SUCH_FIELD: nothing at zzz; there is: id, title, state"]
    assert "warning" not in shaping("--fields", "id", stdin=json.dumps(ROWS)).stderr


def test_fields_that_a_config_keeps_and_are_not_there_are_warned_of_but_not_to_the_model(tmp_path: Path) -> None:
    config = tmp_path / "kept.json"
    config.write_text('{"tool_overrides": {"list": {"profile": "standard", "include_only": ["titel", "id"]}}}')
    done = shaping("--tool", "list", "--config", str(config), stdin=json.dumps(ROWS))
    assert "warning: NO_SUCH_FIELD: nothing at titel; did you mean title?\n" in done.stderr
    assert "NO_SUCH_FIELD" not in done.stdout
    told = json.loads(shaping("--tool", "list", "--config", str(config), "--json", stdin=json.dumps(ROWS)).stdout)
    assert told["warnings"] == ["NO_SUCH_FIELD: nothing at titel; did you mean title?"]
    for options in (["--profile", "debug"], ["--fields", "id"]):
        assert (
            "NO_SUCH" not in shaping("--tool", "list", "--config", str(config), *options, stdin=json.dumps(ROWS)).stderr
        )


def test_fields_that_are_not_in_an_mcp_result_are_warned_of_too() -> None:
    result = {"content": [{"type": "text", "text": json.dumps(ROWS)}]}
    assert "did you mean title?" in shaping("--mcp", "--fields", "titel", stdin=json.dumps(result)).stderr


def test_nothing_on_standard_input_is_told() -> None:
    done = shaping(stdin="")
    assert (done.exit_code, done.stderr.splitlines()[0]) == (0, "warning: standard input was empty")


def test_a_person_at_a_terminal_is_told_what_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaping.cli.payloads.sys.stdin", Terminal(b"[1]"))
    assert read_bytes("-") == b"[1]"


def test_a_config_that_is_not_in_use_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "response_config.json").write_text('{"globl": {}}')
    words = [sys.executable, "-m", "shaping", "shape", "raw.json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stderr.count("globl") == 1


@pytest.mark.parametrize("mcp", [False, True])
def test_what_is_private_is_not_offered_for_a_field_that_is_not_there(tmp_path: Path, mcp: bool) -> None:
    config = tmp_path / "response_config.json"
    config.write_text(json.dumps({"tool_overrides": {"*": {"private": ["users"]}}}))
    data: dict[str, Any] = {"id": 1, "users": {"lovelace": 1}}
    given = {"content": [], "structuredContent": data} if mcp else data
    done = shaping(
        "--config", str(config), "--fields", "users.zz", *(["--mcp"] if mcp else []), stdin=json.dumps(given)
    )
    assert "warning: NO_SUCH_FIELD: nothing at users; there is: id\n" in done.stderr
    assert "lovelace" not in done.output


def test_a_mode_that_there_is_not_is_told_once_on_standard_error() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("shaping")), "shape", "raw.json", "--quiet"],
        env={**os.environ, "SHAPING": "bogus"},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert done.stderr == "SHAPING is 'bogus'; expected on, off or observe. It is ignored, and shaping is on.\n"
    assert json.loads(done.stdout) == RAW


def test_what_looks_like_json_and_is_not_is_shaped_as_text_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"a": 1,\n "b": }')
    done = shaping(str(tmp_path / "broken.json"))
    assert done.exit_code == 0
    assert "warning: this looks like JSON and is not, so it is shaped as text: Expecting value: line 2" in done.stderr


def test_what_python_prints_is_data_and_no_mistaken_json(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("[{'id': 1, 'open': True}, {'id': 2, 'open': None}]\n")
    done = shaping("--value", "-q", str(tmp_path / "data.txt"))
    assert (json.loads(done.stdout)["data"], done.stderr) == ([{"id": 1, "open": True}, {"id": 2}], "")


def test_json_that_is_no_mcp_result_is_refused_under_mcp(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"a": 1}')
    done = shaping("--mcp", str(tmp_path / "other.json"))
    assert (done.exit_code, "holds no MCP result" in done.stderr) == (2, True)


def test_a_client_without_mcp_is_refused() -> None:
    done = shaping("--client", "cursor", stdin="{}")
    assert (done.exit_code, done.stderr) == (2, "--client is for a whole MCP result; add --mcp\n")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(bytes(range(128, 256)) * 20)
    done = shaping("a.png")
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", "a.png holds 2,560 bytes that are not UTF-8 text\n")


def test_the_json_form_of_an_answer_that_goes_out_as_it_was_is_whole_too(tmp_path: Path) -> None:
    person: dict[str, Any] = {"name": "Ada Lovelace", "manager": None, "tags": [], "team": "core"}
    (tmp_path / "one.json").write_text(json.dumps(person))
    assert json.loads(shaping("one.json").stdout) == person
    assert json.loads(shaping("one.json", "--json").stdout)["data"] == person
