from __future__ import annotations

import json
import re
import stat
import sys
import threading
import tomllib
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from shaping.cli.app import build
from shaping.cli.wrap import _edit
from shaping.clients.wrap import why_it_fails
from shaping.settings.files import replace_file, written_beside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer.testing import Result

ORIGINAL = b'{\n    // mine\n    "mcpServers": {\n        "a": {"command": "x", /* why */ "args": ["y"]}\n    }\n}\n'


def run(*arguments: str, test: bool = False) -> Result:
    skipped = [] if test or arguments[0] == "unwrap" else ["--no-test"]
    return CliRunner().invoke(build(), [*arguments, *skipped])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / ".mcp.json"
    file.write_bytes(ORIGINAL)
    return file


def test_unwrap_restores_the_file_byte_for_byte(file: Path) -> None:
    wrapped = run("wrap", str(file), "--profile", "standard")
    assert (wrapped.exit_code, file.read_bytes() == ORIGINAL) == (0, False)
    assert "comments inside a wrapped server's own entry are only in that backup" in wrapped.stderr
    unwrapped = run("unwrap", str(file))
    assert (unwrapped.exit_code, file.read_bytes()) == (0, ORIGINAL)
    assert [path.name for path in file.parent.iterdir()] == [".mcp.json"]


def test_unwrap_finds_the_backup_by_any_path_to_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = file.read_bytes()
    run("wrap", str(file))
    (file.parent / "project").mkdir()
    monkeypatch.chdir(file.parent / "project")
    assert "is as it was, without the proxy" in run("unwrap", f"../{file.name}").stderr
    assert file.read_bytes() == before


def test_a_second_wrap_changes_nothing_and_keeps_the_backup(file: Path) -> None:
    run("wrap", str(file))
    once = file.read_bytes()
    assert run("wrap", str(file)).exit_code == 0
    assert file.read_bytes() == once
    assert _edit(file).backup_of(file).read_bytes() == ORIGINAL
    assert [path.name for path in file.parent.iterdir()] == [".mcp.json"]


def test_a_server_added_between_two_wraps_is_wrapped_and_kept_by_unwrap(file: Path) -> None:
    run("wrap", str(file))
    data = json.loads("\n".join(line for line in file.read_text().splitlines() if "//" not in line))
    data["mcpServers"]["b"] = {"command": "z"}
    file.write_text(json.dumps(data))
    assert "wrapped: b" in run("wrap", str(file)).stderr
    told = run("unwrap", str(file)).stderr
    assert ("is as it was, without the proxy" in told, "byte for byte" in told) == (True, False)
    assert json.loads(file.read_text()) == {"mcpServers": {"a": {"command": "x", "args": ["y"]}, "b": {"command": "z"}}}


def test_an_edit_made_after_wrapping_survives_unwrapping(file: Path) -> None:
    run("wrap", str(file))
    file.write_text(file.read_text().replace("// mine", "// edited").replace('"y"', '"z"'))
    result = run("unwrap", str(file))
    assert "was edited since it was wrapped" in result.stderr
    assert file.read_text().replace(" ", "").replace("\n", "") == (
        '{//edited"mcpServers":{"a":{"command":"x","args":["z"]}}}'
    )


def test_a_new_backup_is_made_where_the_old_one_is_stale(file: Path) -> None:
    run("wrap", str(file))
    newer = b'{"mcpServers": {"other": {"command": "o"}}}'
    file.write_bytes(newer)
    run("wrap", str(file))
    run("unwrap", str(file))
    assert file.read_bytes() == newer


def test_an_entry_that_was_not_edited_comes_back_as_it_was_written(file: Path) -> None:
    listed = {"bare": {"command": "one"}, "empty": {"args": [], "command": "two"}}
    file.write_text(json.dumps({"mcpServers": listed}))
    run("wrap", str(file))
    file.write_text(json.dumps({**json.loads(file.read_text()), "edited": True}))
    run("unwrap", str(file))
    assert json.loads(file.read_text()) == {"mcpServers": listed, "edited": True}


def test_a_second_wrap_after_an_edit_keeps_the_original(file: Path) -> None:
    run("wrap", str(file), "--skip", "a")
    assert file.read_bytes() == ORIGINAL
    run("wrap", str(file))
    text = file.read_text()
    file.write_text(text.replace('"args"', '"args"'))
    file.write_text(text.replace("    }\n}", '    },\n    "servers": {"n": {"url": "http://x"}}\n}'))
    run("wrap", str(file))
    run("unwrap", str(file))
    assert json.loads("".join(file.read_text().split("// mine"))) == {
        "mcpServers": {"a": {"command": "x", "args": ["y"]}},
        "servers": {"n": {"url": "http://x"}},
    }


def test_a_dry_run_prints_the_file_and_changes_nothing(file: Path, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text("{}")
    result = run("wrap", str(file), "--dry-run", "--config", str(tmp_path / "c.json"), "--program", "/bin/shaping")
    assert '"command": "/bin/shaping"' in result.stdout
    assert str(tmp_path / "c.json") in result.stdout
    assert file.read_bytes() == ORIGINAL


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "is not there"), (b"{", "line 1: expected"), (b"\xff", "can't decode")],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes | None, said: str) -> None:
    file = tmp_path / "mcp.json"
    if content is not None:
        file.write_bytes(content)
    result = run("wrap", str(file))
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_file_without_servers_is_left(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("{}")
    assert "there is no MCP server in " in run("wrap", str(file)).stderr
    assert f"there is no MCP server in {file} under mcpServers, servers, " in run("unwrap", str(file)).stderr


def test_a_client_is_told_the_whole_path_of_the_running_program(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "shaping"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["bin/shaping", "wrap"])
    assert f'"command": "{program}"' in run("wrap", str(file), "--dry-run").stdout
    monkeypatch.setattr(sys, "argv", ["-c"])
    monkeypatch.setattr(sys, "executable", str(program.with_name("python")))
    assert f'"command": "{program}"' in run("wrap", str(file), "--dry-run").stdout
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert f'"command": "{program}"' in run("wrap", str(file), "--dry-run").stdout
    run("wrap", str(file))
    once = file.read_bytes()
    assert "already wrapped" in run("wrap", str(file)).stderr
    assert (file.read_bytes(), run("unwrap", str(file)).exit_code, file.read_bytes()) == (once, 0, ORIGINAL)


def test_a_profile_or_config_that_is_not_there_is_refused_with_the_nearest_name(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.json").write_text("{}")
    (tmp_path / "bad.json").write_text('{"nonsense": 1}')
    refused = {
        ("--profile", "standart"): (2, "--profile is 'standart'", "Did you mean 'standard'?"),
        ("--profile", "xyz"): (2, "--profile is 'xyz'", "expected debug, minimal or standard.\n"),
        ("--config", "ruels.json"): (2, "ruels.json is not there", "did you mean 'rules.json'?"),
        ("--config", "no/where.json"): (2, "where.json is not there", ""),
        ("--config", "bad.json"): (1, "nonsense", ""),
    }
    for words, (code, said, besides) in refused.items():
        result = run("wrap", str(file), *words)
        assert (result.exit_code, said in result.stderr, besides in result.stderr) == (code, True, True), result.stderr
    assert file.read_bytes() == ORIGINAL


def test_what_only_its_user_could_read_stays_so_in_the_file_and_in_its_backup(file: Path) -> None:
    file.chmod(0o600)
    run("wrap", str(file))
    backup = _edit(file).backup_of(file)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, backup)] == [0o600, 0o600]
    run("unwrap", str(file))
    assert (stat.S_IMODE(file.stat().st_mode), file.read_bytes()) == (0o600, ORIGINAL)


def test_a_link_is_refused_with_the_file_it_points_to(file: Path) -> None:
    link = file.with_name("link.json")
    link.symlink_to(file)
    refused = run("wrap", str(link))
    assert (refused.exit_code, refused.stderr) == (2, f"{link} is a link; name the file itself: {file}\n")
    assert (link.is_symlink(), file.read_bytes()) == (True, ORIGINAL)


def test_a_read_only_file_is_left(file: Path) -> None:
    file.chmod(0o444)
    refused = run("wrap", str(file))
    assert (refused.exit_code, refused.stderr) == (1, f"{file} is read-only; nothing was written\n")
    assert file.read_bytes() == ORIGINAL


def test_an_edit_made_while_the_file_is_wrapped_is_not_lost(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edits = [ORIGINAL.replace(b"mine", word) for word in (b"edited", b"edited twice", b"edited thrice")]

    @contextmanager
    def slow(beside: Path, content: bytes, **how: Any) -> Iterator[Path]:
        # An editor saves while the new file is written, in place or by a rename.
        if edits:
            text = edits.pop(0)
            if len(edits) % 2:
                replace_file(file, text)
            else:
                file.write_bytes(text)
        with written_beside(beside, content, **how) as written:
            yield written

    monkeypatch.setattr("shaping.clients.config_files.written_beside", slow)
    assert run("wrap", str(file)).exit_code == 0
    assert b"// edited thrice" in file.read_bytes()
    assert b"proxy" in file.read_bytes()


def test_a_name_to_skip_that_is_not_there_is_refused(file: Path) -> None:
    refused = run("wrap", str(file), "--skip", "A")
    assert (refused.exit_code, refused.stderr.split(";")[0]) == (2, "there is no server 'A' to skip")
    assert file.read_bytes() == ORIGINAL


def test_a_program_of_several_words_starts_shaping_and_is_found_again(file: Path) -> None:
    words = "uvx --from shaping[mcp] shaping"
    run("wrap", str(file), "--program", words)
    text = "\n".join(line for line in file.read_text().splitlines() if "//" not in line)
    entry = json.loads(text)["mcpServers"]["a"]
    assert [entry["command"], *entry["args"]] == [*words.split(), "proxy", "--name", "a", "--", "x", "y"]
    assert "already wrapped" in run("wrap", str(file)).stderr
    assert (run("unwrap", str(file)).exit_code, file.read_bytes()) == (0, ORIGINAL)
    assert "does not end in shaping" in run("wrap", str(file), "--program", "uvx other").stderr


def test_a_file_of_a_team_names_the_program_without_its_path(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "there is no shaping on PATH" in run("wrap", str(file)).stderr
    assert '"command": "shaping"' in run("wrap", str(file), "--dry-run").stdout


@pytest.mark.parametrize(
    ("client", "name"),
    [("claude-code", ".mcp.json"), ("cursor", ".cursor/mcp.json"), ("vscode", ".vscode/mcp.json"),
     ("gemini", ".gemini/settings.json"), ("claude-desktop", "home/.config/Claude/claude_desktop_config.json")],
)  # fmt: skip
def test_a_clients_files_are_found(client: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(ORIGINAL)
    wrapped = run("wrap", "--client", client)
    assert (wrapped.exit_code, b"proxy" in file.read_bytes()) == (0, True), wrapped.stderr
    assert run("unwrap", "--client", client).exit_code == 0
    assert file.read_bytes() == ORIGINAL


def test_a_folder_stands_for_all_files_of_clients_in_it(file: Path, tmp_path: Path) -> None:
    other = tmp_path / ".cursor" / "mcp.json"
    other.parent.mkdir()
    other.write_bytes(ORIGINAL)
    assert run("wrap", str(tmp_path)).exit_code == 0
    assert [b"proxy" in path.read_bytes() for path in (file, other)] == [True, True]


def test_without_a_file_the_clients_are_named_and_a_wrong_one_is_corrected(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    assert f"claude-code: shaping wrap --client claude-code ({file})" in run("wrap").stderr
    (file.parent / ".git").mkdir()
    assert f"claude-code: shaping wrap {file}\n" in run("wrap").stderr
    assert "did you mean 'cursor'?" in run("wrap", "--client", "curser").stderr


CODEX = """\
model = "gpt-5"  # mine

[mcp_servers.files]
command = "npx"
args = ["-y", "server-filesystem"]  # all of it

[mcp_servers.files.env]
TOKEN = "t"

[mcp_servers.web]
url = "https://x.example/mcp"
http_headers = { "X-Key" = "k" }

[mcp_servers.mine]
url = "https://y.example/mcp"
bearer_token_env_var = "TOKEN"
"""


def test_codex_keeps_its_servers_in_toml(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(CODEX)
    said = run("wrap", str(file), "--program", "/bin/shaping").stderr
    servers = tomllib.loads(file.read_text())["mcp_servers"]
    assert servers["files"] == {
        "command": "/bin/shaping",
        "args": ["proxy", "--name", "files", "--", "npx", "-y", "server-filesystem"],
        "env": {"TOKEN": "t"},
    }
    assert servers["web"]["env"] == {"SHAPING_PROXY_HEADER_1": "X-Key: k"}
    assert f"not wrapped: mine in {file}: its headers come from variables that only the client reads" in said
    assert "# mine" in file.read_text()
    _edit(file).backup_of(file).unlink()
    run("unwrap", str(file))
    assert tomllib.loads(file.read_text()) == tomllib.loads(CODEX)


def test_a_server_that_does_not_work_behind_the_proxy_is_left_with_the_reason(file: Path) -> None:
    server = [sys.executable, "-m", "shaping.cli.demo"]
    broken = [sys.executable, "-c", "raise SystemExit('no license')"]
    listed = {name: {"command": words[0], "args": words[1:]} for name, words in (("good", server), ("bad", broken))}
    file.write_text(json.dumps({"mcpServers": listed}))
    said = run("wrap", str(file), test=True).stderr
    assert said.startswith("starting good once behind the proxy")
    assert "wrapped: good" in said
    assert re.search(
        r"not wrapped: bad in .*: it does not work behind the proxy: .*no license.*; --no-test wraps", said
    ), said


def test_where_no_server_works_behind_the_proxy_the_command_fails_with_whole_sentences(file: Path) -> None:
    listed = {
        "missing": {"command": "no-such-program"},
        "broken": {"command": sys.executable, "args": ["-c", "raise SystemExit('no license')"]},
        "asking": {"command": sys.executable, "args": ["-c", "raise SystemExit('which license?')"]},
    }
    file.write_text(json.dumps({"mcpServers": listed}))
    done = run("wrap", str(file), test=True)
    assert done.exit_code == 1
    assert "there is no program 'no-such-program'. Install it" in done.stderr
    assert "before it answered: no license. Run its command" in done.stderr
    assert "before it answered: which license? Run its command" in done.stderr


def test_what_cannot_be_tested_is_wrapped_and_named_with_the_reason(file: Path, tmp_path: Path) -> None:
    started = tmp_path / "started"
    touch = {"command": "touch", "args": [str(started)]}
    listed = {"off": {**touch, "disabled": True}, "variable": {"command": "${env:PYBIN}"}}
    file.write_text(json.dumps({"mcpServers": listed}))
    said = run("wrap", str(file), test=True).stderr
    assert "not tested: off: it is disabled" in said
    assert "not tested: variable: its entry holds a variable that only your client fills in" in said
    assert ("wrapped: off" in said, "wrapped: variable" in said, started.exists()) == (True, True, False)


def test_of_a_traceback_only_the_exceptions_own_lines_are_quoted() -> None:
    raising = "raise ValueError('the config has 1 problem:\\n  $.privat is unknown')"
    code = f"def load():\n    {raising}\nload()\n"
    entry = {"command": sys.executable, "args": ["-c", f"exec(compile({code!r}, 'x', 'exec'))"]}
    failure = why_it_fails(entry)
    assert failure is not None
    why = failure.reason
    assert "before it answered:\n  ValueError: the config has 1 problem:\n  $.privat is unknown\n" in why, why


def test_a_server_that_closes_its_output_and_stays_is_told_from_one_that_ended() -> None:
    entry = {"command": "sh", "args": ["-c", "echo busy >&2; exec 1>&-; exec sleep 600"]}
    failure = why_it_fails(entry)
    assert failure is not None
    assert failure.reason.startswith("the server 'sh' closed its output before it answered:\n  busy")


def test_a_server_that_is_slow_to_start_gets_the_seconds_that_the_user_gives(file: Path) -> None:
    file.write_text(json.dumps({"mcpServers": {"slow": {"command": "sleep", "args": ["600"]}}}))
    done = run("wrap", "--start-timeout", "1", str(file), test=True)
    assert "the server 'slow' did not answer within 1 s" in done.stderr
    run("wrap", "--start-timeout", "120", "--no-test", str(file))
    words = json.loads(file.read_text())["mcpServers"]["slow"]["args"]
    assert words[words.index("--start-timeout") + 1] == "120"


def test_only_a_client_of_nearly_the_same_name_is_suggested() -> None:
    assert "did you mean" not in run("wrap", "--client", "foo").stderr
    assert "did you mean 'gemini'?" in run("wrap", "--client", "geminy").stderr


def test_a_clients_name_stands_for_the_users_own_files_and_names_those_of_a_repository(
    file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (file.parent / ".git").mkdir()
    monkeypatch.chdir(file.parent)
    own = tmp_path_factory.mktemp("home") / ".claude.json"
    monkeypatch.setenv("HOME", str(own.parent))
    alone = run("wrap", "--client", "claude-code")
    assert (alone.exit_code, "claude-code has no file of your own" in alone.stderr) == (2, True)
    own.write_bytes(ORIGINAL)
    both = run("wrap", "--client", "claude-code")
    assert f"to wrap it, type: shaping wrap {file}" in both.stderr
    assert (both.exit_code, b"proxy" in own.read_bytes(), file.read_bytes()) == (0, True, ORIGINAL)
    undone = run("unwrap", "--client", "claude-code").stderr
    assert f"unwrapped: a in {own}\n" in undone
    assert f"to unwrap it, type: shaping unwrap {file}\n" in undone
    own.unlink()
    assert run("wrap", str(file), "--program", "shaping").exit_code == 0
    alone = run("unwrap", "--client", "claude-code")
    assert (alone.exit_code, "proxy" in file.read_text()) == (2, True)


def test_commands_of_a_repositorys_file_run_only_where_the_file_is_named(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file.parent / ".git").mkdir()
    monkeypatch.chdir(file.parent)
    found = ["."]
    entry = {"command": "sh", "args": ["-c", f"touch {file.parent / 'ran'}"]}
    for _ in range(2):
        file.write_text(json.dumps({"mcpServers": {"a": entry}}))
        said = run("wrap", *found, "--program", str(Path(sys.executable).with_name("shaping")), test=True).stderr
        assert (file.parent / "ran").exists() is (found == [str(file)])
        assert ("were not tried" in said) is (found != [str(file)])
        found = [str(file)]


def test_a_file_that_a_link_of_a_repository_leads_out_to_is_not_found(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository, own = tmp_path / "repository", tmp_path / "own"
    repository.mkdir()
    own.mkdir()
    file.rename(own / "mcp.json")
    (repository / ".cursor").symlink_to(own)
    monkeypatch.chdir(repository)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for words in ([str(repository)], ["--client", "cursor"]):
        assert "no file with MCP servers was found" in run("wrap", *words).stderr
    assert (own / "mcp.json").read_bytes() == ORIGINAL


def test_a_dry_run_asks_no_server(file: Path) -> None:
    with answering(401) as url:
        file.write_text(json.dumps({"mcpServers": {"r": {"url": url}}}))
        assert "proxy" in run("wrap", str(file), "--dry-run", test=True).stdout


def test_without_the_extra_nothing_is_wrapped(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaping.cli.proxy.find_spec", lambda _: None)
    refused = run("wrap", str(file))
    assert (refused.exit_code, refused.stderr) == (2, 'MCP needs an extra: pip install "shaping[mcp]"\n')
    assert file.read_bytes() == ORIGINAL


@contextmanager
def answering(status: int) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "options", "wrapped"),
    [(401, [], False), (403, [], False), (401, ["--oauth"], True), (401, ["--no-test"], True)],
)
def test_a_remote_server_that_wants_credentials_is_found_by_its_test(
    file: Path, status: int, options: list[str], wrapped: bool
) -> None:
    with answering(status) as url:
        file.write_text(json.dumps({"mcpServers": {"r": {"url": url}}}))
        result = run("wrap", str(file), *options, test=True)
    told = result.stderr
    assert ("not wrapped: r" in told, ": it signs in by OAuth" in told) == (not wrapped, not wrapped)
    once = f"sign in once, before your client starts it: shaping tools --oauth --url {url}"
    assert (once in told) is ("--oauth" in options)


def test_no_command_of_a_file_that_was_found_in_the_working_directory_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, ran = tmp_path / "unpacked", tmp_path / "ran"
    work.mkdir()
    server = {"command": "sh", "args": ["-c", f"touch {ran}; cat"]}
    (work / ".mcp.json").write_text(json.dumps({"mcpServers": {"x": server}}))
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert "were not tried" in run("wrap", "--client", "claude-code", test=True).stderr
    assert not ran.exists()
    assert "proxy" in (work / ".mcp.json").read_text()
