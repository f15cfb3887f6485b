from __future__ import annotations

import json
import socket
import subprocess
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest
import typer
from typer.testing import CliRunner

from shaping.cli.app import build, main, wants_json
from shaping.cli.output import Answer, with_json_option

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)


def called(*words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[int, Any]:
    monkeypatch.setattr(sys, "argv", ["shaping", *words])
    with pytest.raises(SystemExit) as stopped:
        main()
    return int(stopped.value.code or 0), json.loads(capsys.readouterr().out)


def test_a_call_that_cannot_be_read_is_told_in_an_envelope(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, code in ((("chekc", "--json"), 2), (("check", "--nope", "--json"), 2), (("run", "--json", "--no"), 125)):
        exit_code, told = called(*words, monkeypatch=monkeypatch, capsys=capsys)
        assert (exit_code, told["ok"], told["error"]["code"]) == (code, False, "ARG_ERROR")
        assert told["error"]["phase"] == "validation"


def test_the_program_tells_its_version() -> None:
    done = CliRunner().invoke(build(), ["--version"])
    assert (done.exit_code, done.stdout.splitlines()[0]) == (0, f"shaping {version('shaping')}")


def test_a_good_call_answers_as_ever(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, told = called("check", "--json", monkeypatch=monkeypatch, capsys=capsys)
    assert (code, told["ok"], told["data"]["files"]) == (0, True, [])


def test_a_command_answers_a_program_with_data_and_a_person_with_lines() -> None:
    app = typer.Typer()

    def say(word: str) -> Answer:
        return Answer({"word": word}, [f"the word is {word}"], ["said"], meta={"etag": "x"}, exit_code=3)

    app.command()(with_json_option(say, "say"))
    for_program, for_person = (CliRunner().invoke(app, words) for words in (["go", "--json"], ["go"]))
    told = json.loads(for_program.stdout)
    assert (told["data"], told["meta"]["etag"], for_program.exit_code) == ({"word": "go"}, "x", 3)
    assert (for_person.stdout, for_person.stderr, for_person.exit_code) == ("the word is go\n", "said\n", 3)


def test_a_program_is_told_which_servers_were_wrapped_and_which_left(tmp_path: Path) -> None:
    file = tmp_path / ".mcp.json"
    file.write_text('{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}')

    def told(*words: str) -> Any:
        return json.loads(CliRunner().invoke(build(), [words[0], str(file), "--json", *words[1:]]).stdout)["data"]

    tried = told("wrap", "--dry-run", "--program", "shaping", "--skip", "b")
    assert list(json.loads(tried.pop("text"))["mcpServers"]) == ["a", "b"]
    assert (
        tried
        == told("wrap", "--no-test", "--program", "shaping", "--skip", "b")
        == {"changed": ["a"], "left": [{"name": "b", "reason": "skipped as asked"}]}
    )
    assert told("unwrap") == {"changed": ["a"], "left": [{"name": "b", "reason": "it has no proxy"}]}


def test_a_file_that_is_not_there_is_an_error_to_a_program() -> None:
    missing = CliRunner().invoke(build(), ["wrap", "nowhere.json", "--json"])
    error = json.loads(missing.stdout)["error"]
    assert (missing.exit_code, error["code"], error["message"]) == (2, "ARG_ERROR", "nowhere.json is not there")


@pytest.mark.parametrize(
    ("words", "exit_code", "code", "message"),
    [
        (["proxy"], 2, "ARG_ERROR", "give one of: a command after --, --url, or --servers"),
        (["proxy", "--http", "99999", "--", "x"], 2, "ARG_ERROR", "99999 is not a port; expected 1 to 65535"),
        (["proxy", "--servers", "."], 2, "ARG_ERROR", "cannot read .: Is a directory"),
        (
            ["proxy", "--profile", "x", "--", "x"],
            2,
            "ARG_ERROR",
            "there is no profile 'x'; there are debug, minimal, standard",
        ),
        (["serve"], 2, "ARG_ERROR", "give --openapi or --scan: there is nothing to serve"),
        (["serve", "--openapi", "no.json"], 2, "FILE_NOT_FOUND", "cannot read no.json: No such file or directory"),
    ],
)
def test_a_server_keeps_its_pipes_and_tells_a_program_and_people_why_it_does_not_start(
    words: list[str], exit_code: int, code: str, message: str
) -> None:
    done = CliRunner().invoke(build(), [words[0], "--json", *words[1:]])
    error = json.loads(done.stdout)["error"]
    assert (done.exit_code, error["code"], error["message"]) == (exit_code, code, message)
    assert done.stderr == f"{message}\n"


def test_a_server_that_meets_a_taken_port_says_so_to_a_program() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = CliRunner().invoke(build(), ["proxy", "--json", "--http", port, "--", "x"])
    error = json.loads(done.stdout)["error"]
    assert (done.exit_code, error["code"]) == (1, "CONFLICT")
    assert error["message"].startswith(f"cannot listen at 127.0.0.1:{port}: ")


@pytest.mark.parametrize("words", [["serve", "--openapi", "api.json"], ["proxy"]])
def test_a_server_with_a_bad_config_lists_its_problems_to_a_program(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"global": {"profile": "nope"}}')
    (tmp_path / "api.json").write_text("{}")
    done = CliRunner().invoke(build(), [*words, "--json", "--config", "bad.json", *["--", "x"] * (words == ["proxy"])])
    error = json.loads(done.stdout)["error"]
    assert (done.exit_code, error["details"]["problems"][0]["path"]) == (1, "$.global.profile")


def test_a_shaped_document_comes_with_its_price(tmp_path: Path) -> None:
    (tmp_path / "raw.json").write_text('{"a": null, "b": 1}')
    told = json.loads(CliRunner().invoke(build(), ["shape", "raw.json", "--json"]).stdout)
    assert (told["data"], set(told["meta"]["tokens"])) == ({"a": None, "b": 1}, {"before", "after"})
    result = {"content": [{"type": "text", "text": "hi"}]}
    done = CliRunner().invoke(build(), ["shape", "--mcp", "--json"], input=json.dumps(result))
    assert json.loads(done.stdout)["data"]["content"][0]["text"] == "hi"


def test_a_document_cut_to_a_budget_says_how_much_is_shown(tmp_path: Path) -> None:
    (tmp_path / "big.json").write_text(json.dumps([{"id": number, "name": f"n{number}"} for number in range(500)]))
    done = CliRunner().invoke(build(), ["shape", "big.json", "--max-tokens", "100", "--json"])
    told = json.loads(done.stdout)
    shown = [{"path": "", "shown": len(told["data"]), "total": 500}]
    assert (told["meta"]["truncated"], told["meta"]["shown"]) == (True, shown)


@pytest.mark.parametrize("command", ["shape", "tokens", "bench"])
def test_a_file_that_is_not_there_is_told_in_an_envelope(command: str) -> None:
    done = CliRunner().invoke(build(), [command, "--json", "nope.json"])
    told = json.loads(done.stdout)
    assert (done.exit_code, told["ok"], told["error"]["code"]) == (2, False, "ARG_ERROR")
    assert told["error"]["message"] == "cannot read nope.json: No such file or directory"


def test_a_server_that_does_not_start_is_told_in_an_envelope() -> None:
    done = CliRunner().invoke(build(), ["tools", "--json", "--", sys.executable, "nosuch.py"])
    told = json.loads(done.stdout)
    assert (done.exit_code, told["ok"], "ended with exit code 2" in told["error"]["message"]) == (1, False, True)


def test_an_envelope_that_a_command_printed_itself_is_the_only_one(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"global": {"profile": "nope"}}')
    done = CliRunner().invoke(build(), ["check", "bad.json", "--json"])
    assert (done.exit_code, json.loads(done.stdout)["ok"]) == (1, False)


def test_without_the_flag_nothing_changes_and_a_fault_is_not_hidden() -> None:
    app = typer.Typer()

    def broken(word: str = "x") -> None:
        typer.echo(word)
        raise ValueError("ours")

    app.command()(with_json_option(broken, "broken"))
    done = CliRunner().invoke(app, ["--word", "y"])
    assert (done.stdout, type(done.exception)) == ("y\n", ValueError)
    assert type(CliRunner().invoke(app, ["--json"]).exception) is ValueError


@pytest.mark.parametrize(
    ("words", "asks"), [(["check", "--json"], True), (["check"], False), (["run", "--", "x", "--json"], False)]
)
def test_what_comes_after_two_dashes_is_another_programs(words: list[str], asks: bool) -> None:
    assert wants_json(words) is asks


def test_a_reader_that_has_seen_enough_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "big.json").write_text(json.dumps([{"id": n, "text": "x" * 50} for n in range(6_000)]))
    for options in ("--value", "--json"):
        script = (
            f"set -o pipefail; {sys.executable} -m shaping shape big.json --max-tokens 900000 {options} | head -c 9"
        )
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
        assert (done.returncode, len(done.stdout), "Traceback" in done.stderr) == (0, 9, False)


def test_the_package_is_the_program() -> None:
    command = [sys.executable, "-m", "shaping", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"shaping {version('shaping')}\n"
