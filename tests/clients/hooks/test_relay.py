"""The hook's program, run for real with what clients tell it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.hooks.conftest import HookUser, wait_for

if TYPE_CHECKING:
    from pathlib import Path

ROWS = json.dumps(
    [
        {"number": n, "title": f"Fix {n}", "node_id": f"MDExOlB1bGxSZXF1ZXN0{n}", "url": f"https://api.example.com/{n}"}
        for n in range(40)
    ]
)


def output_of(printed: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(printed)["hookSpecificOutput"]["updatedToolOutput"]
    return found


def test_a_commands_output_is_shaped_and_the_clients_object_keeps_its_members(user: HookUser) -> None:
    payload = user.bash("gh api /repos/a/b/pulls", ROWS)

    new = output_of(user.run(payload))

    assert {**new, "stdout": ""} == {**payload["tool_response"], "stdout": ""}
    assert "39,Fix 39" in new["stdout"]
    assert "node_id" in new["stdout"].splitlines()[-1]
    assert len(new["stdout"]) < len(ROWS) / 2


def test_what_was_left_out_comes_back_by_the_command_that_the_text_names(user: HookUser) -> None:
    shown = output_of(user.run(user.bash("gh api /repos/a/b/pulls", ROWS)))["stdout"]
    ref = shown.split("shaping expand ")[1].split(")")[0]

    assert "MDExOlB1bGxSZXF1ZXN0" in user.shaping("expand", ref, "[].node_id")


@pytest.mark.parametrize(
    "change",
    [
        {"tool_name": "Read"},
        {"tool_input": {"command": "cat pulls.json"}},
        {"tool_input": {"command": "shaping expand r_x"}},
        {"hook_event_name": "PostToolUseFailure"},
        {"hook_event_name": "SessionStart"},
        {"tool_response": "an error"},
        {"tool_response": {"stdout": ROWS, "isImage": True}},
        {"tool_response": {"stdout": ROWS, "persistedOutputPath": "/tmp/x.txt"}},
        {"tool_response": {"stdout": ROWS, "backgroundTaskId": "b1"}},
        {"tool_response": {"stdout": "short"}},
    ],
)
def test_what_must_stay_is_not_replaced(user: HookUser, change: dict[str, Any]) -> None:
    assert user.run(user.bash("gh api /repos/a/b/pulls", ROWS, **change)) == ""


def test_search_and_fetch_are_shaped_in_their_own_members(user: HookUser) -> None:
    found = {"mode": "content", "numFiles": 0, "filenames": [], "content": "a.py:1: key = 'AKIAIOSFODNN7EXAMPLE'"}
    fetched = {"bytes": 9, "code": 200, "codeText": "OK", "result": ROWS, "durationMs": 1, "url": "https://example.com"}

    grep = output_of(user.run(user.bash("", "", tool_name="Grep", tool_response=found)))
    fetch = output_of(user.run(user.bash("", "", tool_name="WebFetch", tool_response=fetched)))

    assert "AKIA" not in grep["content"]
    assert {**grep, "content": ""} == {**found, "content": ""}
    assert "39,Fix 39" in fetch["result"]
    assert fetch["url"] == "https://example.com"


def test_copilot_is_given_its_own_object_and_keeps_the_line_that_tells_the_exit_code(user: HookUser) -> None:
    ended = "\n<shellId: 0 completed with exit code 0>"
    given = {"resultType": "success", "textResultForLlm": ROWS + ended}
    payload = {"sessionId": "s", "cwd": str(user.work), "toolName": "bash", "toolArgs": {"command": "gh api /x"}}

    new = json.loads(user.run({**payload, "toolResult": given}, "copilot-cli"))["modifiedResult"]

    assert new["resultType"] == "success"
    assert new["textResultForLlm"].endswith(ended)
    assert len(new["textResultForLlm"]) < len(ROWS) / 2


def test_a_plugin_gets_the_text_alone(user: HookUser) -> None:
    payload = {"tool": "bash", "args": {"command": "gh api /x"}, "output": ROWS, "call": "c", "cwd": str(user.work)}

    assert "39,Fix 39" in json.loads(user.run(payload, "opencode"))["output"]
    assert user.run({**payload, "tool": "read"}, "opencode") == ""


def test_a_text_of_which_the_client_shows_the_ends_is_cut_to_what_it_shows(user: HookUser) -> None:
    lines = "".join(f"line {n} of a long output\n" for n in range(2000))
    payload = {"tool": "bash", "args": {"command": "build"}, "output": lines, "call": "c", "cwd": str(user.work)}

    text = json.loads(user.run(payload, "cline"))["output"]

    assert len(text) <= 8_000
    assert "lines left out: " in text.splitlines()[-1]


def test_the_config_of_the_clients_working_directory_holds(user: HookUser) -> None:
    config = {"tool_overrides": {"gh api": {"exclude_fields": ["title"]}, "gh *": {"exclude_fields": ["title"]}}}
    other = user.home / "other"
    other.mkdir(exist_ok=True)
    (other / "response_config.json").write_text(json.dumps(config))

    shown = output_of(user.run(user.bash("gh api /x", ROWS, cwd=str(other))))["stdout"]

    assert "Fix 39" not in shown
    assert "39" in shown


def test_a_command_that_the_config_leaves_alone_is_replaced_only_where_it_holds_a_secret(user: HookUser) -> None:
    other = user.home / "left-alone"
    other.mkdir(exist_ok=True)
    (other / "response_config.json").write_text(json.dumps({"tool_overrides": {"gh *": {"enabled": False}}}))
    user.shaping("allow", str(other / "response_config.json"))
    secret = "ghp_" + "a1B2" * 9

    assert user.run(user.bash("gh api /x", ROWS, cwd=str(other))) == ""
    shown = output_of(user.run(user.bash("gh api /x", f"{ROWS}\n{secret}", cwd=str(other))))["stdout"]
    assert shown == f"{ROWS}\n[redacted:github-token]"


def test_the_clients_environment_switches_shaping_off(user: HookUser) -> None:
    payload = user.bash("gh api /x", ROWS)

    assert user.run(payload, SHAPING="off") == ""
    assert user.run(payload, SHAPING="observe") == ""
    assert user.run(payload) != ""


@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b"null", b'{"tool_name": 3}', b"\xff\n\n\n", b'{"shown": 1}'])
def test_what_nobody_can_read_prints_nothing_and_the_next_call_is_served(user: HookUser, garbage: bytes) -> None:
    assert user.run(garbage) == ""
    assert user.run(user.bash("gh api /x", ROWS)) != ""


def test_a_secret_never_reaches_the_model(user: HookUser) -> None:
    printed = "user ada\naws_access_key_id AKIAIOSFODNN7EXAMPLE\n"

    shown = output_of(user.run(user.bash("aws configure list", printed)))["stdout"]

    assert "AKIA" not in shown
    assert "user ada" in shown


SECRET = "ghp_" + "a1B2" * 9


@pytest.mark.parametrize(
    ("command", "response"),
    [
        ("env", {"stdout": f"TOKEN={SECRET}", "stderr": "npm warn deprecated x"}),
        ("env", {"stdout": "ok", "stderr": f"TOKEN={SECRET}"}),
        ("env", {"stdout": "", "stderr": f"TOKEN={SECRET}"}),
        ("env", {"stdout": f"TOKEN={SECRET}", "interrupted": True}),
        ("env", {"stdout": f"TOKEN={SECRET}", "persistedOutputPath": "/tmp/x.txt"}),
        ("cat x && env", {"stdout": f"TOKEN={SECRET}"}),
        ("shaping --version; env", {"stdout": f"TOKEN={SECRET}"}),
        ("head -c 100 <(env)", {"stdout": f"TOKEN={SECRET}"}),
        ("env", {"stdout": f"TOKEN={SECRET}\n\ud83d"}),
    ],
)
def test_a_secret_leaves_in_no_member_and_beside_nothing(
    user: HookUser, command: str, response: dict[str, Any]
) -> None:
    printed = user.run(user.bash(command, "", tool_response=response))

    assert SECRET not in printed
    assert "[redacted:github-token]" in printed
    assert output_of(printed).keys() == response.keys()


PRIVATE = {"global": {"private": ["**.salary"]}}


@pytest.mark.parametrize(
    "response",
    [
        {"stdout": "salary: 7351"},
        {"stdout": "name|salary\nBob|7351\n"},
        {"stdout": "ok", "stderr": "salary=7351"},
        {"stdout": "salary=7351", "stderr": "warning"},
        {"stdout": "ok", "structuredContent": {"salary": 7351}},
    ],
)
def test_a_private_field_leaves_in_no_text_however_short(user: HookUser, response: dict[str, Any]) -> None:
    other = user.home / "private"
    other.mkdir(exist_ok=True)
    (other / "response_config.json").write_text(json.dumps(PRIVATE))

    printed = user.run(user.bash("psql -c x", "", tool_response=response, cwd=str(other)))

    assert printed
    assert "7351" not in printed


@pytest.mark.parametrize("config", ['{"global":{"private":["**.sal', '{"global":{"private":5}}'])
def test_with_a_config_that_protects_and_cannot_be_read_nothing_leaves(user: HookUser, config: str) -> None:
    other = user.home / "mistake"
    other.mkdir(exist_ok=True)
    (other / "response_config.json").write_text(config)
    response = {"stdout": f"TOKEN={SECRET}", "stderr": SECRET}

    new = output_of(user.run(user.bash("env", "", tool_response=response, cwd=str(other))))

    assert new == {"stdout": "[withheld: shaping's config has a mistake; `shaping check` says which]", "stderr": ""}


def _transcript(user: HookUser, content: str, call: str = "toolu_1") -> None:
    block = {"type": "tool_result", "tool_use_id": call, "content": content}
    line = {"type": "user", "message": {"role": "user", "content": [block]}}
    with (user.home / "transcript.jsonl").open("a") as file:
        file.write(json.dumps({"type": "other"}) + "\n" + json.dumps(line) + "\n")


def _entry(user: HookUser, tool: str) -> Any:
    return wait_for(lambda: [entry for entry in user.ledger() if entry.tool == tool])[0]


def test_a_saving_is_entered_once_the_transcript_shows_the_shaped_text(user: HookUser) -> None:
    shown = output_of(user.run(user.bash("confirmed list", ROWS)))["stdout"]
    _transcript(user, f"{shown}\n\n<system-reminder>…</system-reminder>")

    entry = _entry(user, "confirmed")

    assert entry.client == "claude-code"
    assert entry.session == "f004f7c5"
    assert 0 < entry.after < entry.before / 2
    assert entry.ref


def test_a_rewrite_that_the_client_rejected_is_entered_as_no_saving(user: HookUser) -> None:
    user.run(user.bash("rejected list", ROWS, tool_use_id="toolu_2"))
    before = _status(user)["rejected"]
    _transcript(user, ROWS, "toolu_2")

    entry = _entry(user, "rejected")

    assert entry.saved == 0
    assert _status(user)["rejected"] == before + 1


def test_a_plugin_tells_what_its_client_recorded(user: HookUser) -> None:
    payload = {"tool": "bash", "args": {"command": "plugged list"}, "output": ROWS, "call": "c9", "cwd": str(user.work)}
    shown = json.loads(user.run(payload, "kilo"))["output"]
    assert not [entry for entry in user.ledger() if entry.tool == "plugged"]

    user.run({"call": "c9", "shown": shown}, "kilo")

    assert _entry(user, "plugged").saved > 0


def _status(user: HookUser) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(user.shaping("hook", "status", "--json"))["data"]["running"]
    return found


def test_the_first_call_starts_the_resident_process_and_does_not_wait_for_it(user: HookUser, tmp_path: Path) -> None:
    other = HookUser(user.home, user.work, {**user.env, "XDG_CACHE_HOME": str(tmp_path)})
    payload = user.bash("gh api /x", ROWS)

    assert other.run(payload) == ""
    wait_for((other.directory / "socket").exists)
    assert "39,Fix 39" in output_of(other.run(payload))["stdout"]

    os.kill(_status(other)["pid"], signal.SIGTERM)


def test_a_result_that_the_resident_process_does_not_answer_for_is_withheld(user: HookUser, tmp_path: Path) -> None:
    other = HookUser(user.home, user.work, {**user.env, "XDG_CACHE_HOME": str(tmp_path)})
    other.directory.mkdir(parents=True)
    payload = user.bash("gh api /x", ROWS)
    here = os.open(".", os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as silent:
        os.chdir(other.directory)
        silent.bind("socket")
        os.fchdir(here)
        silent.listen()

        shown = output_of(other.run(payload, seconds=0.1))
        copilot = {
            "toolName": "bash",
            "toolArgs": {},
            "toolResult": {"resultType": "success", "textResultForLlm": ROWS},
        }
        told = json.loads(other.run(copilot, "copilot-cli", seconds=0.1))["modifiedResult"]
        grep = {
            **payload,
            "tool_name": "Grep",
            "tool_response": {"mode": "files_with_matches", "filenames": [ROWS], "numFiles": 1},
        }
        files = output_of(other.run(grep, seconds=0.1))

        assert other.run({**payload, "hook_event_name": "SessionStart"}, seconds=0.1) == ""
        assert other.run(payload, seconds=0.1, SHAPING="off") == ""
    os.close(here)
    assert shown == {**payload["tool_response"], "stdout": told["textResultForLlm"]}
    assert told["textResultForLlm"].startswith("[withheld: shaping gave no answer")
    assert told["resultType"] == "success"
    assert files == {"mode": "files_with_matches", "filenames": [told["textResultForLlm"]], "numFiles": 1}


def test_a_result_that_the_resident_process_took_and_ended_without_an_answer_is_withheld(
    user: HookUser, tmp_path: Path
) -> None:
    other = HookUser(user.home, user.work, {**user.env, "XDG_CACHE_HOME": str(tmp_path)})
    other.directory.mkdir(parents=True)
    ends = (
        "import os, socket; s = socket.socket(socket.AF_UNIX); s.bind('new'); s.listen(); os.rename('new', 'socket'); "
    )
    ends += "c = s.accept()[0]; c.recv(1 << 20); c.sendall(b'{}')"
    with subprocess.Popen([sys.executable, "-c", ends], cwd=other.directory):
        wait_for((other.directory / "socket").exists)

        shown = output_of(other.run(user.bash("gh api /x", ROWS)))

    assert shown["stdout"].startswith("[withheld: ")


def test_a_result_too_large_for_the_resident_process_is_withheld(user: HookUser) -> None:
    shown = output_of(user.run(user.bash("gh api /x", "line\n" * 4_000_000)))

    assert shown["stdout"].startswith("[withheld: ")


def test_an_idle_resident_process_ends_and_leaves_no_socket(user: HookUser, tmp_path: Path) -> None:
    program = "import sys; from pathlib import Path; from shaping.clients.hooks.resident import main; "
    program += "main(Path(sys.argv[1]), idle=0.2)"

    subprocess.run([sys.executable, "-c", program, str(tmp_path / "hook")], env=user.env, check=True, timeout=60)

    assert not (tmp_path / "hook" / "socket").exists()
