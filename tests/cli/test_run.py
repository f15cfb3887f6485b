from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from shaping.cli.app import build
from shaping.cli.output import progress
from shaping.ledger import LedgerEntry
from shaping.ledger.entries import LedgerDatabase
from shaping.tokens import exact

SHAPING = str(Path(sys.executable).with_name("shaping"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SHAPING_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shaping(*words: str, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """Call the program in this process, or in one of its own where it is to read something."""
    if given is None:
        done = CliRunner().invoke(build(), list(words))
        return subprocess.CompletedProcess(words, done.exit_code, done.stdout_bytes, done.stderr_bytes)
    return subprocess.run([SHAPING, *words], input=given, capture_output=True, check=False, timeout=300)


def ran(*words: str, given: bytes | None = None) -> tuple[int, dict[str, Any]]:
    done = shaping("run", "--json", *words, given=given)
    return done.returncode, json.loads(done.stdout)


def test_a_command_line_given_as_one_word_is_answered_with_the_words_that_run_it() -> None:
    hints = {"ls | wc -l": "run -- sh -c 'ls | wc -l'", "ls -l": "run -- ls -l", "A=1 make": "run -- sh -c 'A=1 make'"}
    for line, words in hints.items():
        done = shaping("run", line)
        assert (done.returncode, done.stderr.decode().strip().endswith(words)) == (127, True)


def test_a_command_is_run_and_its_envelope_printed() -> None:
    code, told = ran("--", "sh", "-c", "echo hi; exit 3")
    assert (code, told["ok"], told["meta"]["exit_code"]) == (3, False, 3)
    assert told["error"]["details"] == {"stdout": "hi\n"}
    assert ran("echo", "-n", "no dashes needed")[1]["data"] == {"stdout": "no dashes needed"}


def test_input_passes_through() -> None:
    assert ran("--", "tr", "a-z", "A-Z", given=b"quiet\n")[1]["data"] == {"stdout": "QUIET\n"}


def test_members_that_a_config_excludes_are_not_sent(home: Path) -> None:
    (home / "c.json").write_text('{"global": {"envelope": {"exclude": ["cursor", "ref", "truncated"]}}}')
    words = ("run", "--config", "c.json", "--dialect", "lean", "--max-tokens", "120", "--", "seq", "1", "5000")
    assert json.loads(shaping(*words).stdout).keys().isdisjoint({"cursor", "ref", "truncated"})


def test_options_choose_tool_fields_profile_and_budget(home: Path) -> None:
    rules = {"mine": {"exclude_fields": ["b"]}}
    (home / "c.json").write_text(json.dumps({"tool_overrides": rules}))
    (home / "data").write_text('{"a": 1, "b": 2, "c": null}')
    assert ran("--config", "c.json", "--tool", "mine", "--", "cat", "data")[1]["data"] == {"a": 1}
    assert ran("--fields", "b, c", "--", "cat", "data")[1]["data"] == {"b": 2}
    assert ran("--profile", "debug", "--", "cat", "data")[1]["data"] == {"a": 1, "b": 2, "c": None}
    code, told = ran("--max-tokens", "150", "--", "seq", "1000")
    assert (code, told["meta"]["truncated"]) == (0, True)


def test_a_cursor_goes_on_without_running_the_command_again(home: Path) -> None:
    told = ran("--max-tokens", "150", "--", "sh", "-c", "echo x >> count; seq 1000")[1]
    shown = told["data"]["stdout"].split("…")[0]
    code, page = ran("--max-tokens", "150", "--cursor", told["meta"]["cursor"], "--", "sh")
    assert code == 0
    whole = "".join(f"{n}\n" for n in range(1, 1001))
    assert whole[len(shown) :].startswith(page["data"]["value"])
    again = ran("--max-tokens", "150", "--cursor", page["meta"]["cursor"], "--", "sh")[1]
    assert whole[len(shown) + len(page["data"]["value"]) :].startswith(again["data"]["value"])
    assert (home / "count").read_text() == "x\n"


def test_an_etag_spares_what_is_known() -> None:
    tag = ran("--etag", "", "--", "echo", "same")[1]["meta"]["etag"]
    code, told = ran("--etag", tag, "--", "echo", "same")
    assert (code, told["data"], told["error"], told["meta"]["not_modified"]) == (0, None, None, True)


def test_a_timeout_exits_124_and_a_missing_program_127() -> None:
    code, told = ran("--timeout", "0.3", "--", "sleep", "60")
    assert (code, told["error"]["code"]) == (124, "TIMEOUT")
    code, told = ran("--", "ehco", "x")
    assert (code, told["error"]["code"], told["error"]["similar"][0]) == (127, "NOT_FOUND", "echo")


def test_what_is_passed_on_has_no_secret_and_every_other_byte(home: Path) -> None:
    (home / "c.json").write_text(json.dumps({"global": {"enabled": False, "redact": {"paths": ["pin"]}}}))
    done = shaping("run", "--config", "c.json", "--", "printf", "a\\377b\\ngrün pin=hunter2\\n", given=b"")
    assert done.stdout == b"a\xffb\n" + "grün pin=[redacted:path]\n".encode()


@pytest.mark.parametrize("private", [[], ["secret"]], ids=["passed on", "searched for private fields"])
def test_a_timeout_exits_124_where_the_config_leaves_the_output_alone(home: Path, private: list[str]) -> None:
    (home / "c.json").write_text(json.dumps({"global": {"enabled": False, "private": private}}))
    assert shaping("run", "--config", "c.json", "--timeout", "0.3", "--", "sleep", "60").returncode == 124


@pytest.mark.parametrize(
    "words", [["--nonsense", "--", "true"], ["--timeout", "x", "--", "true"], ["--profile", "nope", "--", "true"],
              ["--dialect", "nope", "--", "true"], ["--config", "nowhere.json", "--", "true"],
              ["--fields", "a[", "--", "true"]],
)  # fmt: skip
def test_wrong_options_exit_125_and_are_named_as_they_were_typed(words: list[str]) -> None:
    done = shaping("run", *words)
    assert (done.returncode, done.stdout) == (125, b"")
    assert words[0].encode() in done.stderr
    assert b"itself failed" not in done.stderr


def test_a_wrong_option_is_told_to_a_program_that_asked_for_json() -> None:
    for words in (["--json", "--profile", "nope"], ["--dialect", "invariant", "--fields", "a["]):
        done = shaping("run", *words, "--", "true")
        told = json.loads(done.stdout)
        assert (done.returncode, told["ok"], told["error"]["code"]) == (125, False, "ARG_ERROR")


@pytest.mark.parametrize("cursor", ["s394//~nHIQ", "s0//items[3:]~nHIQ", "r_any", "r_any:"])
def test_a_cursor_without_its_ref_is_answered_with_the_form_that_is_read(cursor: str) -> None:
    done = shaping("run", "--cursor", cursor)
    said = "expected REF:CURSOR (`shaping expand REF --cursor CURSOR` shows the same)"
    assert (done.returncode, done.stderr.decode()) == (2, f"shaping run: --cursor is {cursor!r}; {said}\n")


def test_a_cursor_whose_answer_is_gone_exits_as_expand_does() -> None:
    done = shaping("run", "--cursor", "r_forged:x")
    assert (done.returncode, done.stdout) == (5, b"")
    assert done.returncode == shaping("expand", "r_forged").returncode == shaping("query", "r_forged").returncode


def test_without_a_dialect_the_output_is_plain_text() -> None:
    done = shaping("run", "--", "sh", "-c", "printf '\\033[1mbold\\033[0m\\n'; echo talk >&2")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"bold\n", b"talk\n")
    failed = shaping("run", "--dialect", "none", "--", "sh", "-c", "echo out; exit 4")
    assert (failed.returncode, failed.stdout, failed.stderr) == (4, b"out\n", b"(exit code 4)\n")
    assert b'"data":{"stdout":"x\\n"}' in shaping("run", "--dialect", "none", "--json", "--", "echo", "x").stdout
    assert b'"data":{"stdout":"x\\n"}' in shaping("run", "--dialect", "lean", "--", "echo", "x").stdout


def test_json_becomes_the_table_that_shape_prints(home: Path) -> None:
    pods = [{"metadata": {"name": f"pod-{n}", "labels": {}}, "status": {"phase": "Running"}} for n in range(30)]
    (home / "pods.json").write_text(json.dumps({"items": pods}))
    done = shaping("run", "--", "cat", "pods.json")
    assert done.stdout == shaping("shape", "--quiet", "pods.json").stdout
    assert len(done.stdout) < len((home / "pods.json").read_bytes()) / 3


def test_cut_text_says_how_much_is_gone_and_how_to_get_it() -> None:
    done = shaping("run", "--max-tokens", "60", "--", "seq", "1", "1000")
    # How many lines have room beside it depends on the tokens of the ref.
    shown = re.fullmatch(r"1\n2\n3\n(?:\d+\n)*… (9\d\d) lines …\n(?:\d+\n)*1000\n", done.stdout.decode())
    said = re.fullmatch(r"\((9\d\d) of 1,000 lines left out: shaping expand (\S+)\)\n", done.stderr.decode())
    assert shown is not None
    assert said is not None
    assert shown[1] == said[1]
    assert shaping("expand", said[2], "--stdout").stdout == b"".join(b"%d\n" % n for n in range(1, 1001))
    assert shaping("run", "--max-tokens", "12", "--", "seq", "1", "1000").stderr == b"(cut)\n"


_PYTHON = ["Traceback (most recent call last):"]
_PYTHON += [f'  File "/srv/pay{n}.py", line {n}, in step_{n}\n    gateway.step_{n}(order)' for n in range(7)]
_PYTHON += ["pay.CardDeclined: order 8841"]
_JAVA = ["com.shop.Rejected: charge", *(f"\tat com.shop.Pay{n}.run(Pay{n}.java:{n})" for n in range(9))]
_JAVA += ["Caused by: com.shop.CardDeclined: order 8841", "\tat com.shop.Card.run(Card.java:7)", "\t... 9 more"]


@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(_PYTHON, id="Python"),
        pytest.param(["09:05:01 app | " + line for line in "\n".join(_PYTHON).split("\n")], id="a prefix"),
        pytest.param(_JAVA, id="Java"),
    ],
)
def test_a_traceback_in_a_log_is_kept_to_its_exception(home: Path, trace: list[str]) -> None:
    around = [f"2026-11-17 09:{n // 60 % 60:02}:{n % 60:02},123 INFO worker: order {n} in 3 ms" for n in range(1200)]
    error = "2026-11-17 09:05:01,123 ERROR worker: charging order 8841 failed"
    (home / "app.log").write_text("\n".join([*around[:300], error, *trace, *around[300:], ""]))
    cut = shaping("run", "--max-tokens", "4000", "--", "cat", "app.log").stdout.decode()
    assert "\n".join([error, *trace]) in cut
    least = shaping("run", "--max-tokens", "250", "--", "cat", "app.log").stdout.decode()
    assert "CardDeclined: order 8841" in least


def test_a_cut_is_marked_also_where_something_is_private(home: Path) -> None:
    (home / "response_config.json").write_text('{"global": {"private": ["**.salary"]}}')
    cut = shaping("run", "--max-tokens", "40", "--", "seq", "1", "1000").stdout.decode()
    assert re.search(r"^… 99\d lines …\n(?:999\n)?1000$", cut, re.MULTILINE)


def test_a_log_of_commits_says_their_author_once_and_keeps_their_subjects_where_it_is_cut(home: Path) -> None:
    author = ["-c", "user.name=Ada Lovelace", "-c", "user.email=ada@example.com"]
    subprocess.run(["git", "init", "-q"], cwd=home, check=True)
    things = [f"{size}{thing}" for size in ("big", "small", "old", "new") for thing in "abcdefghij"]
    for thing in things:
        command = ["git", *author, "commit", "-q", "--allow-empty", "-m", f"Mend {thing} so that it opens"]
        subprocess.run(command, cwd=home, check=True)
    whole = shaping("run", "--", "git", "log").stdout.decode()
    assert (whole.count("Ada Lovelace"), [thing for thing in things if thing not in whole]) == (1, [])
    cut = shaping("run", "--max-tokens", "800", "--", "git", "log").stdout.decode()
    assert things[-1] in cut
    assert "of 40 shown" in cut


def test_a_stream_is_shaped_as_it_comes() -> None:
    code = 'import sys, time\nprint(\'{"a": 1, "b": null}\', flush=True)\ntime.sleep(600)'
    process = subprocess.Popen(
        [SHAPING, "run", "--stream", "--", sys.executable, "-c", code],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == b'{"a":1}\n'
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    rest = process.stdout.read()
    assert process.wait(60) == 128 + signal.SIGTERM
    assert json.loads(rest)["error"]["code"] == "ABORTED"
    process.stdout.close()


def test_signals_reach_the_command_and_its_own_end_is_told(home: Path) -> None:
    script = "trap 'echo caught; exit 9' INT; echo $$ > ready; while :; do sleep 0.05; done"
    process = subprocess.Popen(
        [SHAPING, "run", "--json", "--", "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while not (home / "ready").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=300)
    assert (process.returncode, json.loads(out)["error"]["details"]) == (9, {"stdout": "caught\n"})


@pytest.mark.parametrize("config", [{"global": {"enabled": False}}, None], ids=["left alone", "observed"])
def test_a_reader_that_went_away_is_no_fault_of_the_commands(
    home: Path, monkeypatch: pytest.MonkeyPatch, config: dict[str, Any] | None
) -> None:
    if config is None:
        monkeypatch.setenv("SHAPING", "observe")
    else:
        (home / "response_config.json").write_text(json.dumps(config))
    done = subprocess.run(
        ["sh", "-c", f"{SHAPING} run -- seq 1 100000 | head -1"], capture_output=True, check=False, timeout=300
    )
    assert (done.stdout, done.stderr) == (b"1\n", b"")


def test_a_command_under_nohup_outlives_a_hang_up(home: Path) -> None:
    script = "echo $$ > ready; while [ ! -e heard ]; do sleep 0.05; done; echo done"
    process = subprocess.Popen(
        ["nohup", SHAPING, "run", "--", "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    while not (home / "ready").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGHUP)
    (home / "heard").touch()
    assert (process.communicate(timeout=300)[0], process.returncode) == (b"done\n", 0)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process whose parent was killed")
def test_a_command_ends_when_shaping_is_killed(home: Path) -> None:
    process = subprocess.Popen([SHAPING, "run", "--", "sh", "-c", "echo $$ > pid.new; mv pid.new pid; exec sleep 600"])
    while not (home / "pid").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    status = Path("/proc", (home / "pid").read_text().strip(), "status")
    deadline = time.monotonic() + 60
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it is gone, or waits to be asked for its status
        while "State:\tZ" not in status.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_a_short_stream_ends_with_an_envelope() -> None:
    done = shaping("run", "--stream", "--", "printf", '{"a": 1, "n": null}\\n[2]\\n')
    *lines, last = done.stdout.splitlines()
    assert (lines, json.loads(last)["data"]) == ([b'{"a":1}', b"[2]"], {"lines": 2})


def test_a_fault_of_ours_is_no_exit_code_of_the_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    # A directory that vanishes under us is no program's fault.
    gone = Path("gone").absolute()
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    done = shaping("run", "--", "true")
    assert (done.returncode, done.stdout) == (125, b"")
    assert done.stderr.startswith(b"shaping itself failed: ")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("colour", "terminal", "shows"), [("", True, True), ("1", True, False), ("", False, False)])
def test_progress_is_for_people_at_a_terminal_who_want_it(
    colour: str, terminal: bool, shows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", colour)
    monkeypatch.setattr("shaping.cli.output._PROGRESS_AFTER", 0.01)
    with progress("counting"):
        deadline = time.monotonic() + (60 if shows else 0.1)
        while "counting" not in screen.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert ("counting" in screen.getvalue()) is shows


def test_short_work_shows_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("shaping.cli.output._PROGRESS_AFTER", 60)  # however long this machine takes to do nothing
    with progress("counting"):
        pass
    assert screen.getvalue() == ""


def test_words_are_completed_in_a_shell() -> None:
    env = {**os.environ, "_SHAPING_COMPLETE": "complete_bash", "COMP_WORDS": "shaping ru", "COMP_CWORD": "1"}
    done = subprocess.run([SHAPING], env=env, capture_output=True, check=False, timeout=300)
    assert done.stdout.split() == [b"run"]


def test_a_reader_that_has_seen_enough_is_no_fault() -> None:
    script = f"{SHAPING} run --stream -- sh -c 'while echo 1; do :; done' | head -n 1"
    done = subprocess.run(["sh", "-c", script], capture_output=True, check=False, timeout=300)
    assert done.stdout == b"1\n"
    assert b"shaping itself failed" not in done.stderr


def test_a_cursor_needs_no_command_and_neither_is_a_wrong_call() -> None:
    cursor = json.loads(shaping("run", "--json", "--max-tokens", "150", "--", "seq", "900").stdout)["meta"]["cursor"]
    page = json.loads(shaping("run", "--json", "--cursor", cursor, "--max-tokens", "150").stdout)
    assert (page["ok"], page["meta"]["cursor"] != cursor) == (True, True)
    done = shaping("run")
    assert (done.returncode, done.stdout) == (125, b"")
    assert done.stderr == b"there is no command to run; give one after --: shaping run -- git log\n"


def test_switched_off_it_leaves_a_commands_output_to_the_byte(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text('[\n  {"a": 1,\n   "b": null}\n]\n')
    script = (
        "import sys; sys.stdout.write(open('data.json').read()); sys.stderr.write('\\x1b[31mred\\x1b[0m'); sys.exit(3)"
    )
    command = [SHAPING, "run", "--", sys.executable, "-c", script]
    environ = dict(os.environ, SHAPING="off")
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == (
        (tmp_path / "data.json").read_text(),
        "\x1b[31mred\x1b[0m",
        3,
    )


def test_a_plain_run_and_the_command_line_read_the_same_options(home: Path) -> None:
    (home / "c.json").write_text('{"tool_overrides": {"mine": {"exclude_fields": ["b"]}}}')
    (home / "data").write_text('{"a": 1, "b": 2, "c": 3}')
    for words in (
        ("--config", "c.json", "--tool", "mine", "--", "cat", "data"),
        ("--max-tokens", "60", "--", "seq", "1000"),
        ("cat", "nowhere"),
        ("--", "nosuchprogram"),
        ("--profile", "nosuch", "--", "true"),
        ("--config", "nowhere.json", "--", "true"),
        ("--max-tokens", "0", "--", "true"),
    ):
        plain, whole = shaping("run", *words, given=b""), shaping("run", *words)
        assert (words, plain.returncode, plain.stderr) == (words, whole.returncode, whole.stderr)
        assert re.sub(rb'"duration_ms":\d+', b"", plain.stdout) == re.sub(rb'"duration_ms":\d+', b"", whole.stdout)


def test_observing_leaves_the_output_as_it_is(home: Path) -> None:
    script = r"printf 'a\rb\033[1mc\033[0m\n'; printf 'e\rf\n' >&2; seq 20000; exit 4"
    environ = dict(os.environ, SHAPING="observe", SHAPING_LEDGER=str(home / "ledger.sqlite"))
    direct = subprocess.run(["sh", "-c", script], capture_output=True, check=False)
    done = subprocess.run([SHAPING, "run", "--", "sh", "-c", script], env=environ, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (4, direct.stdout, direct.stderr)
    assert [entry.saved for entry in _entries(home)] == [0]


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_failed_run_is_no_loss_in_the_ledger(home: Path, form: tuple[str, ...]) -> None:
    environ = dict(os.environ, SHAPING_LEDGER=str(home / "ledger.sqlite"))
    words = [SHAPING, "run", *form, "--", "sh", "-c", "echo one; echo two >&2; exit 3"]
    assert subprocess.run(words, env=environ, capture_output=True, check=False).returncode == 3
    assert [entry.saved >= 0 for entry in _entries(home)] == [True]


def _entries(home: Path) -> list[LedgerEntry]:
    return LedgerDatabase(home / "ledger.sqlite").entries()


def test_a_command_that_shaping_leaves_alone_keeps_its_bytes_with_a_timeout_too() -> None:
    secret = "ghp_" + "a1B2" * 9
    words = [SHAPING, "run", "--timeout", "60", "--", "printf", f"a\\r{secret}  \\n"]
    done = subprocess.run(words, env={**os.environ, "SHAPING": "off"}, capture_output=True, check=False, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"a\r{secret}  \n".encode(), b"")


def test_a_character_that_the_terminal_lacks_costs_neither_the_output_nor_the_exit_code() -> None:
    words = [SHAPING, "run", "--", "sh", "-c", "printf '→ é\\n'; exit 3"]
    environ = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(words, env=environ, capture_output=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (3, b"\\u2192 \xe9\n")


def test_a_system_without_room_for_another_process_costs_neither_the_answer_nor_its_entry(home: Path) -> None:
    script = (
        "import errno, os, sys\n"
        "def fork(): raise BlockingIOError(errno.EAGAIN, 'Resource temporarily unavailable')\n"
        "os.fork = fork\n"
        "sys.argv = ['shaping', 'run', '--', 'sh', '-c', 'echo done; exit 3']\n"
        "from shaping.__main__ import main\n"
        "main()\n"
    )
    environ = {**os.environ, "SHAPING_LEDGER": str(home / "ledger.sqlite")}
    done = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (3, b"done\n")
    assert len(_entries(home)) == 1


def test_a_plain_command_by_the_bundled_config_waits_for_neither_the_models_nor_the_shaper(home: Path) -> None:
    done, imported = _imported(home, "--", "echo", "done")
    assert done == "done\n"
    slow = {"pydantic", "shaping.errors", "shaping.shaper", "asyncio", "sqlite3", "typer", "click", "rich"}
    assert imported & slow == set()


@pytest.mark.parametrize(
    "words", [["cat", "pods.json"], ["git", "log"], ["git", "status"], ["git", "diff"]], ids=lambda words: words[-1]
)
def test_data_and_what_presets_shorten_wait_for_neither_the_models_nor_sql(words: list[str], home: Path) -> None:
    pods = [{"name": f"pod-{n}", "phase": "Running", "node": None, "restarts": n} for n in range(40)]
    (home / "pods.json").write_text(json.dumps(pods))
    commit = "git -c user.name=A -c user.email=a@x.invalid commit -q -m one"
    setup = f"git init -q . && git add . && {commit} && echo >> pods.json"
    subprocess.run(["sh", "-c", setup], cwd=home, check=True)
    done, imported = _imported(home, "--", *words)
    assert done
    slow = {"pydantic", "shaping.envelope.model", "shaping.store.sql", "shaping.present.expansion", "typer"}
    assert ("shaping.shaper" in imported, imported & slow) == (True, set())


def _imported(where: Path, *words: str) -> tuple[str, set[str]]:
    program = [sys.executable, "-X", "importtime", "-m", "shaping", "run", *words]
    environ = {**os.environ, "SHAPING_LEDGER": "off"}
    done = subprocess.run(program, cwd=where, env=environ, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout, {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


_EVERYDAY = """
git status; git log; git log --oneline; git diff; git show; git branch -a; ls; ls -la; find . -name *.txt; find . -ls
du -a .; stat a.txt; stat nothing; cat a.txt; cat rows.csv; cat rows.json; cat pods.txt; wc -l a.txt rows.csv; id
tar tvf all.tar; tar tf nothing.tar; diff -u a.txt b.txt; diff -q a.txt b.txt; grep -n line a.txt; grep -c zzz a.txt
make
md5sum a.txt b.txt; python3 -m this; python3 fails.py; python3 -c import(; seq 9; true; false; sort -r a.txt
"""


def test_no_everyday_command_is_dearer_than_without_shaping(home: Path) -> None:
    subprocess.run(["sh", "-c", _SCRATCH], cwd=home, check=True)
    environ = {**os.environ, "XDG_CACHE_HOME": str(home.parent / "cache"), "SHAPING_LEDGER": "off"}
    dearer = []
    for words in (command.split() for line in _EVERYDAY.strip().splitlines() for command in line.split("; ")):
        raw, shown = (
            subprocess.run([*before, *words], cwd=home, env=environ, capture_output=True, check=False, timeout=300)
            for before in ([], [sys.executable, "-m", "shaping", "run", "--"])
        )
        assert shown.returncode == raw.returncode, words
        failure = f"(exit code {raw.returncode})\n" if raw.returncode else ""
        most = exact((raw.stdout + raw.stderr).decode() + failure)
        if exact((shown.stdout + shown.stderr).decode()) > most:
            dearer.append((words, raw, shown))
    assert dearer == []


_SCRATCH = r"""
for n in $(seq 1 40); do echo "line $n"; done > a.txt; sed s/7/seven/ a.txt > b.txt
printf 'name,size\nada,1\nbob,2\n' > rows.csv
printf '[{"name": "ada", "team": null, "n": 1}, {"name": "bob", "team": null, "n": 2}]' > rows.json
printf 'NAME    READY   STATUS\napi-1   1/1     Running\nweb-1   0/1     CrashLoopBackOff\n' > pods.txt
printf 'all:\n\t@echo building\n\t@exit 3\n' > Makefile; echo 'raise ValueError("no")' > fails.py
tar cf all.tar a.txt b.txt
git init -q -b main .; git config user.email a@example.invalid; git config user.name Ada; git add a.txt rows.csv
git commit -q -m first; git commit -q --allow-empty -m second; echo more >> a.txt
"""
